"""An account whose vendor refuses it: named in the line and at the console, from its first refusal to its next good answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e.accounts.scripted import Answer, ScriptedAccount
from e2e.console.running import Api, MESSAGE, ask
from e2e.up.running import Up
from waiting import until

OPTIONS = ("--demo", "--console", "--console-port", "0")
GROUP = "b-official"
NO_CREDIT = Answer.json(400, '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."}}')
GOOD = Answer.json(
    200,
    json.dumps({"id": "m", "type": "message", "role": "assistant", "model": MESSAGE["model"], "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 2}}),
)


def test_an_account_is_red_until_it_answers(tmp_path: Path) -> None:
    with ScriptedAccount(GOOD) as one, Up(tmp_path / "data", *OPTIONS) as up:
        console = Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())

        def only_this_account(document: dict[str, Any]) -> None:
            group = next(group for group in document["groups"] if group["id"] == GROUP)
            group["accounts"] = [{"id": "one", "url": one.url, "credential": "scripted"}]

        console.publish(only_this_account)
        kept = console.call("PUT", "/credentials/scripted", {"value": "sk-of-the-vendor-0000000000", "destinations": [{"url": one.url}]})
        assert kept.status_code == 200, kept.text
        key = console.new_key("asks", GROUP)
        until(lambda: ask(up.url, key) == 200 and one.asked > 0, 40)

        def refusals() -> list[list[Any]]:
            return [[of["group"], of["account"], of["fault"], of["status"], of["code"]] for of in console.get("/account-refusals")["items"]]

        assert refusals() == []
        one.answer = NO_CREDIT
        assert ask(up.url, key) == 502
        line = until(lambda: [line for line in map(json.loads, up.ledger.read_text().splitlines()) if line.get("trilane.upstream_status") == 400])[-1]
        assert line["trilane.upstream_error.type"] == "invalid_request_error", line
        assert line["trilane.tries.failed"] == [{"account": "one", "kind": "unauthorized", "status": 400, "fault": "no_credit", "error": {"type": "invalid_request_error"}}], line
        assert "credit balance" not in json.dumps(line), "the vendor's text is not in the line"
        until(lambda: refusals() == [[GROUP, "one", "no_credit", 400, "invalid_request_error"]], 20)
        until(lambda: "Its credit or its spending limit is used up" in up.said, 20)
        one.answer = GOOD
        until(lambda: ask(up.url, key) == 200, 30)
        until(lambda: refusals() == [], 20)
