"""The simulator's `x-sim-usage: random`, drawn once more: what an answer would have told, had it come whole."""

from __future__ import annotations

_MASK = (1 << 64) - 1
#: (kind, in how many of four answers, the most), in the order in which they are drawn.
_RANGES = (
    ("input", 4, 4000),
    ("input_image", 1, 1000),
    ("cache_read", 2, 20_000),
    ("cache_write_5m", 1, 2000),
    ("cache_write_1h", 1, 2000),
    ("tool_use", 1, 100),
    ("output", 4, 2000),
    ("reasoning", 2, 1000),
)


def drawn(marker: str) -> dict[str, int]:
    """Tokens by kind, before an answer folds what it cannot tell. FNV-1a is the seed of SplitMix64."""
    state = 0xCBF29CE484222325
    for byte in marker.encode():
        state = (state ^ byte) * 0x100000001B3 & _MASK
    usage = {}
    for kind, chance, most in _RANGES:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
        number = mixed ^ (mixed >> 31)
        usage[kind] = 1 + (number >> 2) % most if number % 4 < chance else 0
    return usage
