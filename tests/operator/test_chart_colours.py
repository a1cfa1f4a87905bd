"""The colours of charts: each is seen on the page, and no two are alike for eyes that see fewer colours."""

import itertools
import math
import re
from pathlib import Path

import pytest

STYLE = Path(__file__).parents[2] / "console" / "assets" / "console.css"
# The contrast of parts of pictures (WCAG 2.2, 1.4.11).
CONTRAST = 3.0
# The distance (CIE 1976) from which two colours are told apart side by side and in a legend.
DISTANCE = 20.0
# What such eyes see, in linear RGB (Machado, Oliveira, Fernandes 2009, severity 1).
EYES = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(colour: str) -> list[float]:
    digits = colour.removeprefix("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(of: list[float]) -> float:
    return 0.2126 * of[0] + 0.7152 * of[1] + 0.0722 * of[2]


def contrast(one: str, other: str) -> float:
    less, more = sorted(luminance(linear(colour)) for colour in (one, other))
    return (more + 0.05) / (less + 0.05)


def seen(colour: str, eyes: str) -> tuple[float, float, float]:
    """A colour as such eyes see it, in CIELAB."""
    parts = linear(colour)
    mixed = [min(1, max(0, sum(share * part for share, part in zip(row, parts, strict=True)))) for row in EYES[eyes]]
    x = (0.4124 * mixed[0] + 0.3576 * mixed[1] + 0.1805 * mixed[2]) / 0.9505
    z = (0.0193 * mixed[0] + 0.1192 * mixed[1] + 0.9505 * mixed[2]) / 1.089
    fx, fy, fz = (of ** (1 / 3) if of > 0.008856 else 7.787 * of + 16 / 116 for of in (x, luminance(mixed), z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["light", "dark of the system", "dark"])
def test_colours_of_charts(place):
    style = STYLE.read_text()
    themes = re.findall(r"--surface: (#\w+);[^}]*((?:--s[1-5]: #\w+; ?){5})", style)
    assert len(themes) == 3
    ground, series = themes[place]
    colours = re.findall(r"#\w+", series)
    for colour in colours:
        assert contrast(colour, ground) >= CONTRAST, colour
    for eyes in EYES:
        for one, other in itertools.combinations(colours, 2):
            distance = math.dist(seen(one, eyes), seen(other, eyes))
            assert distance >= DISTANCE, (eyes, one, other, distance)
