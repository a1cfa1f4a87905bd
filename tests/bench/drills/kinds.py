"""Requests of every kind, for a run that asks what many of them leave behind; and the document that they need."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Optional

from bodies import chat
from stack import SAMPLE_CREDENTIALS, SAMPLE_DOCUMENT

#: Source -> its accounts' listeners: each account of a source is another of the simulator's.
ACCOUNTS = {"a": (9101, 9102, 9103), "b": (9102, 9103), "c": (9104,)}
#: What is behind each protocol's sources: the sample's group to copy, and its cluster by hand.
_SAMPLES = {"a": ("a-official", "a_official"), "b": ("b-official", "b_official"), "c": ("c-official", "c_official")}
_MODELS = {"a": "gpt-5.1", "b": "claude-opus-4-5", "c": "gemini-2.5-flash"}


def document() -> dict[str, Any]:
    """For each protocol a group with accounts and one with a cluster by hand, a key for each."""
    sample = json.loads(SAMPLE_DOCUMENT.read_bytes())
    sampled = {group["id"]: group for group in sample["groups"]}
    credentials = sorted(file.name for file in SAMPLE_CREDENTIALS.iterdir())
    groups, keys = [], []
    for protocol, (like, cluster) in _SAMPLES.items():
        base = {name: value for name, value in sampled[like].items() if name not in ("accounts", "failover", "cluster", "name")}
        accounts = [
            {"id": f"{protocol}-{number}", "url": f"http://upstream:{port}", "credential": credentials[number]}
            for number, port in enumerate(ACCOUNTS[protocol])
        ]
        groups.append({**base, "id": f"{protocol}-accounts", "accounts": accounts})
        groups.append({**base, "id": f"{protocol}-hand", "cluster": cluster})
    for group in groups:
        secret = f"drill-{group['id']}".encode()
        keys.append({"id": f"key-{group['id']}", "sha256": hashlib.sha256(secret).hexdigest(), "group": group["id"]})
    return {**sample, "groups": groups, "keys": keys}


def kinds(directory: Path) -> list[dict[str, Any]]:
    """The kinds, as `trilane-load mix` reads them; their bodies are written into the directory."""
    chat_path, messages = "/v1/chat/completions", "/v1/messages"
    generate = f"/v1beta/models/{_MODELS['c']}"
    asked = [{"role": "user", "content": "Say something, please. " * 20}]
    bodies = {
        "a": {"model": _MODELS["a"], "messages": asked},
        "a-stream": {"model": _MODELS["a"], "messages": asked, "stream": True, "stream_options": {"include_usage": True}},
        "a-unknown": {"model": "gpt-unknown", "messages": asked},
        "b": {"model": _MODELS["b"], "max_tokens": 64, "messages": asked},
        "b-stream": {"model": _MODELS["b"], "max_tokens": 64, "messages": asked, "stream": True},
        "c": {"contents": [{"role": "user", "parts": [{"text": "Say something."}]}]},
    }
    for name, body in bodies.items():
        (directory / f"{name}.json").write_text(json.dumps(body))
    for place in ("first", "last"):
        (directory / f"1m-{place}.json").write_bytes(chat(1024 * 1024, model_first=place == "first"))
    (directory / "broken.json").write_text('{"model": "gpt-5.1", "messages": [')

    def kind(name: str, weight: int, path: str, group: str, body: Optional[str] = None, *more: str, **rest: Any) -> dict[str, Any]:
        key = f"drill-{group}"
        credential = {
            "a": [f"authorization: Bearer {key}"],
            "b": [f"x-api-key: {key}", "anthropic-version: 2023-06-01"],
            "c": [f"x-goog-api-key: {key}"],
        }[group[0]]
        told = {"name": name, "weight": weight, "path": path, "headers": [*credential, *more], **rest}
        return {**told, "body": str(directory / f"{body}.json")} if body else told

    slow, events = "x-sim-gap-ms: 20", "x-sim-events: 20"
    return [
        kind("chat", 12, chat_path, "a-hand", "a"),
        kind("chat, accounts", 12, chat_path, "a-accounts", "a"),
        kind("chat, the first account fails", 4, chat_path, "a-accounts", "a", "x-sim-at: a_official", "x-sim-status: 503"),
        kind("stream", 8, chat_path, "a-hand", "a-stream", events),
        kind("stream, accounts", 8, chat_path, "a-accounts", "a-stream", events),
        kind("messages", 8, messages, "b-hand", "b"),
        kind("messages, accounts", 6, messages, "b-accounts", "b"),
        kind("messages stream", 6, messages, "b-hand", "b-stream", events),
        kind("generate", 6, f"{generate}:generateContent", "c-hand", "c"),
        kind("generate stream, an only account", 4, f"{generate}:streamGenerateContent?alt=sse", "c-accounts", "c", events),
        kind("list", 8, "/v1/models", "a-hand"),
        kind("list, another protocol", 4, "/v1beta/models", "c-hand"),
        kind("401", 6, "/v1/models", "a-nobody", expect=401),
        kind("401 with a body", 4, chat_path, "a-nobody", "a", expect=401),
        kind("404, no such path", 3, "/v1/nothing", "a-hand", expect=404),
        kind("404, no such model", 3, chat_path, "a-hand", "a-unknown", expect=404),
        kind("400, broken JSON", 2, chat_path, "a-hand", "broken", expect=400),
        kind("client leaves a stream", 2, chat_path, "a-hand", "a-stream", events, slow, abort_after_ms=60, expect="left"),
        kind("client leaves, accounts", 2, chat_path, "a-accounts", "a", "x-sim-delay-ms: 500", abort_after_ms=30, expect="left"),
        kind("stream cut", 2, chat_path, "a-hand", "a-stream", "x-sim-cut: after=3", expect="closed inside the answer"),
        kind("stream cut, accounts", 2, messages, "b-accounts", "b-stream", "x-sim-cut: after=3", expect="closed inside the answer"),
        kind("cut before the answer", 2, chat_path, "a-hand", "a", "x-sim-cut: head", expect=502),
        kind("1 MB", 1, chat_path, "a-hand", "1m-first"),
        kind("1 MB, model last", 1, chat_path, "a-hand", "1m-last"),
        kind("1 MB, accounts", 1, chat_path, "a-accounts", "1m-last"),
    ]
