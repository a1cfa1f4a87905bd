"""What a mutation is."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One check, and how it is taken out."""

    name: str
    #: Below the root.
    file: str
    #: Stands in the file exactly once.
    old: str
    new: str
    #: What pytest is to run, below `tests/e2e`: a file's test, with or without its parameters. Of each at least one fails.
    cases: tuple[str, ...]
