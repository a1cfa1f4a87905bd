"""The limits that the documentation gives as examples, read as the service reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from limits_file import BadLimits, Limit, Limits, Node

ROOT = Path(__file__).resolve().parents[3]
#: What gateways ask about, by the keys of the entries.
ASKED = {
    start + end
    for start in (("key",), ("key", "model"), ("group",), ("group", "model"))
    for end in ((), ("tokens",))
}


def documented() -> str:
    """The example in docs/limits-service.md."""
    text = (ROOT / "docs" / "limits-service.md").read_text()
    (example,) = re.findall(r"^```yaml\n(domain: .*?)^```", text, re.MULTILINE | re.DOTALL)
    return example


def shipped() -> str:
    return (ROOT / "envoy" / "ratelimit" / "limits.yaml").read_text()


def limited(node: Node, above: tuple[tuple[str, str], ...] = ()) -> Iterator[tuple[tuple[str, str], ...]]:
    """The descriptors that have a limit."""
    if node.limit:
        yield above
    for entry, below in node.below.items():
        yield from limited(below, (*above, entry))


@pytest.mark.parametrize("example", [documented, shipped], ids=["docs", "envoy"])
def test_examples_limit_what_gateways_ask_about(example: object) -> None:
    limits = Limits(example())  # type: ignore[operator]
    descriptors = list(limited(limits._root))
    assert limits.domain == "trilane"
    assert len(descriptors) >= 3
    for descriptor in descriptors:
        assert tuple(key for key, _ in descriptor) in ASKED, descriptor
        for key, value in descriptor:
            assert key != "tokens" or value in ("input", "output"), descriptor


def test_the_more_exact_entry_holds() -> None:
    limits = Limits(shipped())
    cases = [
        ("any key", [("key", "any")], Limit(600, "minute")),
        ("this key", [("key", "key_mixed")], Limit(60, "minute")),
        ("its tokens", [("key", "key_mixed"), ("tokens", "output")], Limit(1_000_000, "day")),
        ("its other tokens: nothing falls back", [("key", "key_mixed"), ("tokens", "input")], None),
        ("a model without a limit", [("key", "any"), ("model", "x")], None),
        ("a group without a limit", [("group", "x")], None),
    ]
    for case, entries, want in cases:
        assert limits.find("trilane", entries) == want, case
    assert limits.find("another", [("key", "any")]) is None


@pytest.mark.parametrize(
    "text",
    [
        "descriptors: []",
        "{domain: d, descriptors: [{key: a, limit: {}}]}",
        "{domain: d, descriptors: [{value: a}]}",
        "{domain: d, descriptors: [{key: a}, {key: a}]}",
        "{domain: d, descriptors: [{key: a, rate_limit: {unit: fortnight, requests_per_unit: 1}}]}",
    ],
)
def test_files_that_are_refused(text: str) -> None:
    with pytest.raises(BadLimits):
        Limits(text)
