"""The page Models: a person tries a model, by a form and without JavaScript."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
from e2e.console.signing_in import OPTIONS, Team
from e2e.up.running import Up
from waiting import until


def fields(page: str) -> dict[str, str]:
    """The hidden fields of the form that tries a model."""
    form = page.partition('<form method="post" action="/models"')[2].partition("</form>")[0]
    assert form, page
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))


def test_each_style_is_answered_charged_and_explained(tmp_path: Path) -> None:
    with Up(tmp_path / "data", *OPTIONS, "--status-page") as up:
        team = Team(up, tmp_path / "home")
        console, browser = team.api, team.browser
        assert "Your keys may use no model" in browser.get("/models").text
        for letter in ("a", "b", "c"):
            console.new_key(f"own-{letter}", f"{letter}-official", owner="ann", limits={"budget": {"per_month": "20"}, "requests_per_minute": 2})
        models = console.get("/keys/own-b/models")["items"]

        for letter in ("a", "b", "c"):
            (chosen,) = console.get(f"/keys/own-{letter}/models")["items"][:1]
            query = {"model": chosen["id"], "group": f"{letter}-official", "style": chosen["protocol"]}
            page = browser.get("/models", params=query).text
            assert f"Try <bdi>{chosen['id']}</bdi>" in page and up.url.rstrip("/") in page, page
            answer = browser.post("/models", data={**fields(page), "prompt": "Say hello."}).text
            assert "Answered: 200" in answer and "The whole request" in answer and re.search(r"<dt>Charge</dt><dd>(<span title=\"\$0\.\d+\">)?\$0\.\d+", answer), answer
            assert "<dt>Ended</dt>" in answer, answer
            assert "tl-" not in answer.replace("tl-YOUR-KEY", "").replace("tl-…", ""), "the value of the key is on no page"

        # The key is gone, and was one's own: the audit has both, and the counters are those of the key whose terms it had.
        created = [entry for entry in console.get("/audit?action=key.create&limit=50")["items"] if entry["object"].startswith("try-")]
        removed = [entry["object"] for entry in console.get("/audit?action=key.remove&limit=50")["items"]]
        assert len(created) == 3 and {entry["object"] for entry in created} == set(removed)
        assert {entry["actor"] for entry in created} == {"ann"}
        assert all(entry["after"]["owner"] == "ann" and entry["after"]["counts_as"].startswith("own-") for entry in created), created
        assert not [key for key in console.get("/keys?owner=ann")["items"] if key["id"].startswith("try-")]
        left = until(lambda: [of for of in console.get("/keys/own-b/remaining")["subjects"] if of["budgets"] and of["budgets"][0]["used"] != "0"], 10)
        assert left[0]["id"] == "own-b", left

        # The limit of the key binds trials, and the gateway's own words say so.
        page = browser.get("/models", params={"model": models[0]["id"], "group": "b-official", "style": "B"}).text
        answers = [browser.post("/models", data={**fields(page), "prompt": "Again."}).text for _ in range(2)]
        assert "Failed: 429" in answers[-1] and "limit" in answers[-1], answers[-1]

        # Nobody tries with a key of somebody else, and nothing is sent without a prompt.
        console.new_key("other", "b-official", owner="somebody")
        assert browser.post("/models", data={**fields(page), "key": "other", "prompt": "x"}).status_code == 404
        assert browser.post("/models", data={**fields(page), "prompt": ""}).status_code == 422
        assert browser.post("/models", data={**fields(page), "model": "none", "prompt": "x"}).status_code == 422

        status = httpx.get(f"{team.url}/status", timeout=30).text
        assert models[0]["id"] in status and "ann" not in status.partition("<main")[2], status
