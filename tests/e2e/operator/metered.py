"""The sample document, sources with accounts and a key with a limit, so that every metric there is can be seen."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loopback import Handler, LoopbackServer
from stack import SAMPLE_DOCUMENT, SIMULATOR

#: The source with accounts, and the key to it.
METERED = "metered"
METERED_KEY = "sk-metered"
#: A key to it that gets one answer a minute.
LIMITED_KEY = "sk-metered-limited"
#: The source whose answers are out of the ordinary, the key to it, and the header that says which answer it gives.
ODD = "odd"
ODD_KEY = "sk-odd"
ODD_ANSWER = "x-odd-answer"
_SEARCHED = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [{"type": "text", "text": "High at nine."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 4, "server_tool_use": {"web_search_requests": 2}},
}
#: More tokens than any answer comes to.
_DOUBTED = {**_SEARCHED, "usage": {"input_tokens": 10**10, "output_tokens": 4}}
_ODD_ANSWERS = {
    "searched": ("application/json", json.dumps(_SEARCHED)),
    "unreadable": ("application/xml", "<message/>"),
    "doubted": ("application/json", json.dumps(_DOUBTED)),
}


@contextmanager
def odd_upstream() -> Iterator[int]:
    """An upstream that has searched the web, or writes what no gateway reads. Yields its port."""

    class Answers(Handler):
        def do_POST(self) -> None:
            self.read_body()
            content_type, answer = _ODD_ANSWERS[self.headers[ODD_ANSWER]]
            self.respond(200, answer.encode(), content_type)

    with LoopbackServer(Answers) as server:
        yield server.port


def document(directory: Path, odd_port: int) -> dict[str, Any]:
    """The document; the files that its accounts name are made in `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run([SIMULATOR, "certificate", "--out", directory], check=True, capture_output=True)
    (directory / "credential").write_text("of-the-account\n")
    document: dict[str, Any] = json.loads(SAMPLE_DOCUMENT.read_text(encoding="utf-8"))
    account = {"url": "http://upstream:9102", "credential": str(directory / "credential")}
    accounts = [
        {"id": "good", **account},
        # Never asked while the first is good. Some stats are there only where there is TLS.
        {"id": "tls", **account, "url": "https://127.0.0.1:1", "ca": str(directory / "ca.crt"), "priority": 1},
        {"id": "locked-out", **account, "credential": str(directory / "missing"), "priority": 1},
    ]
    model = {"id": "claude-opus-4-5", "prices": {"input": "5", "output": "25"}}
    group = {"id": METERED, "protocol": "B", "multiplier": "1.0000", "accounts": accounts, "models": [model]}
    key = {"id": METERED, "sha256": hashlib.sha256(METERED_KEY.encode()).hexdigest(), "group": METERED}
    digest = hashlib.sha256(LIMITED_KEY.encode()).hexdigest()
    limited = {**key, "id": "limited", "sha256": digest, "limits": {"requests_per_minute": 1}}
    odd_account = {**account, "id": ODD, "url": f"http://127.0.0.1:{odd_port}"}
    odd_group = {**group, "id": ODD, "accounts": [odd_account]}
    odd_key = {"id": ODD, "sha256": hashlib.sha256(ODD_KEY.encode()).hexdigest(), "group": ODD}
    document["groups"] += [group, odd_group]
    document["keys"] += [key, limited, odd_key]
    return document
