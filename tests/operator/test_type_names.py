"""The name of a type is used once in the workspace, so that it says what it is wherever it is read."""

from __future__ import annotations

from type_names import PERMITTED, defined, definitions, used_twice


def test_each_name_is_used_once() -> None:
    assert used_twice(definitions()) == []


def test_definitions_are_found() -> None:
    """The check is worth something: it sees what is known to be there, and no name is permitted for nothing."""
    places = definitions()
    assert len(places) > 1000
    assert places["Exchange"][0].startswith("src/exchange/mod.rs:")
    assert all(len(places[name]) > 1 for name in PERMITTED)


def test_a_name_used_twice_is_named_with_both_places() -> None:
    places = {"Reading": ["src/a.rs:1", "console/src/b.rs:2"], "Case": ["a.rs:1", "b.rs:1"], "Once": ["c.rs:1"]}
    assert used_twice(places) == ["Reading: src/a.rs:1, console/src/b.rs:2"]


def test_types_that_a_trait_asks_for_do_not_count() -> None:
    source = """\
pub struct Port(u16);

impl FromStr for Port {
    type Err = String;
}

pub(super) trait Form {
    /// What it is read as.
    type Read;
}

impl<T> Service for Port
where
    T: Clone,
{
    type Answer = T;
}

impl Port {
    fn cases() {
        type Row = (u16, bool);
    }
}
"""
    assert list(defined(source)) == [(1, "Port"), (7, "Form"), (21, "Row")]
