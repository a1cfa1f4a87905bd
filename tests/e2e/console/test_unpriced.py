"""A model without a price, published into a group whose keys have budgets: it takes nothing else down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from e2e.console.running import Api, MESSAGE, ask
from e2e.up.running import Up
from waiting import until

OPTIONS = ("--demo", "--console", "--console-port", "0")
GROUP = "b-official"
PRICED, UNPRICED = MESSAGE["model"], "claude-novel-1"
BUDGET = {"per_day": "5"}


def api(up: Up) -> Api:
    return Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())


def call(up: Up, method: str, path: str, key: str, **more: Any) -> httpx.Response:
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return httpx.request(method, f"{up.url}{path}", headers=headers, timeout=30, trust_env=False, **more)


def listed(up: Up, key: str) -> set[str]:
    return {model["id"] for model in call(up, "GET", "/v1/models", key).json()["data"]}


def add_model(document: dict[str, Any]) -> None:
    next(group for group in document["groups"] if group["id"] == GROUP)["models"].append({"id": UNPRICED})


def test_an_unpriced_model_takes_nothing_else_down(tmp_path: Path) -> None:
    with Up(tmp_path / "data", *OPTIONS) as up:
        console = api(up)
        budgeted = {
            "own": console.new_key("own", GROUP, limits={"budget": BUDGET}),
            "owner": console.new_key("of-ann", GROUP, owner="ann"),
            "team": console.new_key("of-blue", GROUP, team="blue"),
        }
        plain = console.new_key("plain", GROUP)
        for path in ("owner/ann", "team/blue"):
            assert console.call("PUT", f"/budgets/{path}", BUDGET).status_code == 200
        for case, key in (*budgeted.items(), ("plain", plain)):
            until(lambda key=key: ask(up.url, key) == 200, 20)
            assert PRICED in listed(up, key), case

        draft, tag = console.draft("a new model", add_model)
        said = " ".join(warning["reason"] for warning in console.get(f"/drafts/{draft}/check")["warnings"])
        for name in ("own", "owner ann", "team blue", UNPRICED):
            assert name in said, said
        assert "plain" not in said, said
        published = console.call("POST", f"/drafts/{draft}/publish", **{"if-match": tag})
        assert published.status_code == 201, published.text
        until(lambda: ask(up.url, plain, model=UNPRICED) == 200, 20)
        assert UNPRICED in listed(up, plain)

        for case, key in budgeted.items():
            assert ask(up.url, key) == 200, f"{case}: another model"
            models = listed(up, key)
            assert PRICED in models and UNPRICED not in models, case
            answer = call(up, "POST", "/v1/messages", key, json={**MESSAGE, "model": UNPRICED})
            assert (answer.status_code, answer.headers["x-trilane-error"]) == (403, "model_not_priced"), f"{case}: {answer.text}"
            assert answer.headers["x-should-retry"] == "false" and "retry-after" not in answer.headers, case
            assert f"{UNPRICED} has no price" in answer.json()["error"]["message"], answer.text
        lines = until(lambda: [line for line in up.ledger.read_text().splitlines() if '"model_not_priced"' in line])
        until(lambda: sum('"model_not_priced"' in line for line in up.ledger.read_text().splitlines()) == len(budgeted))
        lines = [line for line in up.ledger.read_text().splitlines() if '"model_not_priced"' in line]
        assert all(any(f'"{key}"' in line for line in lines) for key in ("own", "of-ann", "of-blue")), lines
