"""Every page of the console, for the tests that look at all of them."""

from __future__ import annotations

#: The name of its screenshots, its path, who looks at it (nobody: signed out).
PAGES: list[tuple[str, str, str]] = [
    ("sign-in", "/sign-in", ""),
    ("sign-in-link", "/sign-in/link?token=x", ""),
    ("keys", "/keys", "admin"),
    ("keys-of-a-member", "/keys", "ann"),
    ("keys-none-like-that", "/keys?search=nothing+like+that", "admin"),
    ("key", "/keys/mobile-review", "admin"),
    ("key-over-budget", "/keys/evals", "admin"),
    ("key-of-a-viewer", "/keys/ci-review", "victor"),
    ("key-script", "/keys/odd-script", "admin"),
    ("key-rtl", "/keys/odd-rtl", "admin"),
    ("key-long", "/keys/odd-long", "admin"),
    ("key-new", "/new-key", "admin"),
    ("key-edit", "/keys/data/edit", "admin"),
    ("key-rotate", "/keys/data/rotate", "admin"),
    ("key-remove", "/keys/odd-long/remove", "admin"),
    ("start", "/start", "admin"),
    ("password", "/me/password", "ann"),
]
