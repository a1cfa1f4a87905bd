"""docs/one-key.md, done as it says: stand-ins are at the vendors' addresses, and one key is served by each of them."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from e2e.guides.first_terminal import FirstTerminal, of_keys
from e2e.guides.reader import DOCS, Reader, shell
from ports import free_port
from vendors import AnthropicVendor, DeepSeekVendor, OpenAIVendor, OpenRouterVendor

CREDENTIAL = "sk-of-the-vendor-0000000000000000"
VENDORS = {"openai": OpenAIVendor, "openrouter": OpenRouterVendor, "deepseek": DeepSeekVendor, "anthropic": AnthropicVendor}
#: The model of each that is asked.
MODELS = {"openai": "gpt-6-luna", "openrouter": "openai/gpt-6-luna", "deepseek": "deepseek-flash", "anthropic": "claude-opus-4-8"}
START = "trilane up\n"


def test_one_key_is_served_by_each_vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = [block.text for block in shell(DOCS / "one-key.md")]
    assert text.endswith(START)
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(variable, raising=False)
    home, port = tmp_path / "home", free_port()
    home.mkdir()
    data = home / ".local/share/trilane"
    with ExitStack() as running:
        vendors = {name: running.enter_context(kind(CREDENTIAL)) for name, kind in VENDORS.items()}
        text = text.replace("=…", f"={CREDENTIAL}")
        for name, vendor in vendors.items():
            assert text.count(f" --vendor {name}") == 1
            text = text.replace(f" --vendor {name}", f" --vendor {name}={vendor.url}")
        reader = Reader(home)
        terminal = FirstTerminal(reader, port, tmp_path / "terminal.log", envoy=True)
        running.callback(terminal.stop)
        reader.does(text.removesuffix(START))
        terminal.run(START)
        key = (data / "first.key").read_text().strip()
        gateway = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"authorization": f"Bearer {key}"}, trust_env=False, timeout=30)
        listed = {model["id"]: model["entry"] for model in gateway.get("/v1/models").json()["data"]}
        assert set(MODELS.values()) <= listed.keys(), listed
        for name, model in MODELS.items():
            before = {each: len(vendor.asked) for each, vendor in vendors.items()}
            path, more = ("/v1/messages", {"anthropic-version": "2023-06-01"}) if name == "anthropic" else ("/v1/chat/completions", {})
            body = {"model": model, "max_tokens": 64, "messages": [{"role": "user", "content": "Hello"}]}
            answer = gateway.post(path, json=body, headers=more)
            assert answer.status_code == 200, (name, answer.text)
            now = {each: len(vendor.asked) for each, vendor in vendors.items()}
            assert now == {**before, name: before[name] + 1}, f"{name} and no other is asked"
    lines = of_keys(data / "ledger" / "ledger.jsonl", len(MODELS))
    told = [(line["trilane.group"], line["trilane.source"], line["trilane.model"]) for line in lines if "trilane.model" in line]
    assert told == [("all", name, model) for name, model in MODELS.items()], json.dumps(lines)
