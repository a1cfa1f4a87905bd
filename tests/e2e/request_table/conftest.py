"""The stack of the request table, with a document of its own: one for all modules here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.request_table.documents import table_document
from e2e.request_table.table import Caller
from e2e.shared_stacks import stack
from e2e.support import run_dir
from stack import Stack

__all__ = ["stack"]


@pytest.fixture(scope="package")
def table() -> Iterator[Caller]:
    """A gateway with the document of the request table."""
    with Stack(run_dir("table"), document=table_document()) as running:
        yield Caller(running)


@pytest.fixture(scope="package")
def sample(stack: Stack) -> Caller:
    """The shared gateway with the sample's groups of both kinds, called byte by byte."""
    return Caller(stack)
