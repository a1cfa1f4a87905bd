"""What a mutation is."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple


class Edit(NamedTuple):
    """One text of one file, and what comes in its place."""

    file: str
    old: str
    new: str


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One check, and how it is taken out."""

    name: str
    #: Below the root.
    file: str
    #: Stands in the file exactly once.
    old: str
    new: str
    #: What pytest is to run, below `tests/e2e`: a file's test, with or without its parameters. Of each at least one fails. Without
    #: any the golden exchanges must notice.
    cases: tuple[str, ...] = ()
    #: What else guards the same, and is taken out with it.
    besides: tuple[Edit, ...] = ()

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All that is changed."""
        return (Edit(self.file, self.old, self.new), *self.besides)
