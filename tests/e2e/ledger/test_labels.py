"""What a request says of itself is in its line, and labels stay here where their headers do."""

from __future__ import annotations

import pytest
from e2e.ledger.ledger_desk import Desk

HEADERS = (
    ("user-agent", "claude-cli/2.1.37 (external, cli)"),
    ("session-id", "0199-ab"),
    ("x-project", "apollo"),
    ("x-other", "not listed"),
)


@pytest.mark.parametrize("wire", ["h1", "h2"])
@pytest.mark.parametrize(("path", "status"), [("/v1/chat/completions", 200), ("/v1/messages", 403)])
def test_client_session_and_labels(desk: Desk, path: str, status: int, wire: str) -> None:
    sent = desk.send("a", path, {"model": "gpt-5.1", "messages": []}, wire=wire, headers=HEADERS)
    line = sent.record()
    assert sent.status == status, sent
    found = {name: line.get(f"trilane.{name}") for name in ("client", "session", "labels")}
    assert found == {"client": "claude-cli/2.1", "session": "0199-ab", "labels": {"project": "apollo"}}
