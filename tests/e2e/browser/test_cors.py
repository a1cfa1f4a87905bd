"""A web page of another origin asks the gateway: what its script may read, in a real browser and byte by byte."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from e2e.both_kinds import KEYS
from e2e.browser.chromium import Browsers
from e2e.ledger_reader import Ledger
from e2e.support import Gateway, bearer, by_hand, run_dir, x_api_key
from stack import Stack

CHAT = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "hi"}]}
MAX_AGE = "7200"
#: What a script does: the answer as it reads it, or that it may not.
ASK = """async ([url, init]) => {
  try {
    const answer = await fetch(url, init);
    return {status: answer.status, text: await answer.text(), headers: Object.fromEntries(answer.headers)};
  } catch (error) {
    return {error: String(error)};
  }
}"""


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A page</title>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def page() -> Iterator[str]:
    """A web page's origin."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module", name="listed")
def listed_fixture() -> Iterator[str]:
    with page() as origin:
        yield origin


@pytest.fixture(scope="module", name="gateway")
def gateway_fixture(listed: str) -> Iterator[Gateway]:
    document = {**by_hand(), "cors": {"origins": ["https://other.example", listed]}}
    with Stack(run_dir("cors"), document=document) as stack:
        yield Gateway(stack)


def test_a_page_that_is_listed(gateway: Gateway, listed: str, chromium: Browsers) -> None:
    url = gateway.stack.base_url
    headers = {**bearer("key_a"), "content-type": "application/json", "x-stainless-lang": "js"}
    with chromium.visitor("") as visitor:
        visitor.expected = {401, 404}
        visitor.page.goto(listed)

        def ask(path: str, **init: Any) -> dict[str, Any]:
            told: dict[str, Any] = visitor.page.evaluate(ASK, [url + path, init])
            return told

        def post(path: str, body: str, **more: str) -> dict[str, Any]:
            return ask(path, method="POST", body=body, headers={**headers, **more})

        chat = '{"model":"gpt-5.1","messages":[]}'
        told = post("/v1/chat/completions", chat)
        assert told["status"] == 200 and "pong" in told["text"], told
        assert told["headers"]["x-request-id"].startswith("sim-"), told
        streamed = post("/v1/chat/completions", '{"model":"gpt-5.1","messages":[],"stream":true}')
        assert streamed["status"] == 200 and streamed["text"].endswith("data: [DONE]\n\n"), streamed
        assert ask("/v1/models", headers=headers)["status"] == 200
        refused = post("/v1/chat/completions", chat, authorization="Bearer sk-nobody")
        assert refused["status"] == 401 and "Incorrect API key" in refused["text"], refused
        assert refused["headers"]["x-trilane-error"] == "invalid_api_key", refused
        absent = post("/v1/chat/completions", '{"model":"gpt-9","messages":[]}')
        assert absent["status"] == 404 and "model_not_found" in absent["text"], absent
        # The vendor's own error, which the page may read too.
        visitor.expected.add(429)
        busy = post("/v1/chat/completions", chat, **{"x-sim-status": "429", "x-sim-retry-after": "7"})
        assert busy["status"] == 429 and busy["headers"]["retry-after"] == "7", busy


def test_a_page_that_is_not_listed(gateway: Gateway, chromium: Browsers) -> None:
    url = gateway.stack.base_url
    with page() as stranger, chromium.visitor("") as visitor:
        visitor.expected = {405}
        visitor.page.goto(stranger)
        init = {"method": "POST", "body": "{}", "headers": bearer("key_a")}
        told = visitor.page.evaluate(ASK, [f"{url}/v1/chat/completions", init])
        assert "Failed to fetch" in told["error"], told
        assert any("CORS policy" in fault for fault in visitor.faults), visitor.faults
        visitor.faults.clear()


def _preflight(origin: str, **more: str) -> dict[str, str]:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,x-api-key"}
    return {"origin": origin, **asked, **more}


def test_preflights(gateway: Gateway, listed: str) -> None:
    for path in ("/v1/chat/completions", "/responses", "/v1/messages", "/v1beta/models/gemini-2.5-flash:generateContent"):
        answer = gateway.request("OPTIONS", path, _preflight(listed))
        assert answer.status == 204 and answer.text == "", path
        told = {name: value for name, value in answer.headers.items() if name.startswith("access-control-")}
        exposed = told.pop("access-control-expose-headers")
        assert "retry-after" in exposed and "x-ratelimit-remaining-requests" in exposed, path
        assert told == {
            "access-control-allow-origin": listed,
            "access-control-allow-methods": "POST",
            "access-control-allow-headers": "authorization,x-api-key",
            "access-control-max-age": MAX_AGE,
        }, path
        assert "origin" in answer.headers["vary"], path
        assert not answer.seen, path
    for case, path, headers, status in [
        ("of another origin", "/v1/messages", _preflight("https://stranger.example"), 405),
        ("of no origin", "/v1/messages", {"access-control-request-method": "POST"}, 405),
        ("for no method", "/v1/messages", {"origin": listed}, 405),
        ("for a method that the path does not take", "/v1/messages", _preflight(listed, **{"access-control-request-method": "PUT"}), 405),
        ("to a path that is not served", "/v1/audio/speech", _preflight(listed), 404),
    ]:
        answer = gateway.request("OPTIONS", path, headers)
        assert answer.status == status and not answer.seen, case
        assert "access-control-allow-methods" not in answer.headers, case


def test_a_vendors_own_word_and_the_pages_address_stay_here(gateway: Gateway, listed: str) -> None:
    headers = {**x_api_key("key_b"), "origin": listed, "referer": f"{listed}/a/page"}
    body = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": []}
    seen = gateway.echo("POST", "/v1/messages", headers, json=body)
    assert not {"origin", "referer"} & set(dict(seen["headers"])), seen
    answer = gateway.request("POST", "/v1/messages", headers, json=body)
    assert answer.headers.get_list("access-control-allow-origin") == [listed]
    other = gateway.request("POST", "/v1/messages", {**headers, "origin": "https://stranger.example"}, json=body)
    assert other.status == 200 and "access-control-allow-origin" not in other.headers


def test_a_preflight_has_no_line(gateway: Gateway, listed: str) -> None:
    ledger = Ledger(gateway.stack.access_log)

    def probes() -> int:
        text = httpx.get(f"{gateway.stack.admin_url}/stats/prometheus", trust_env=False).text
        return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("trilane_probes_total"))

    before = probes()
    for headers in (_preflight(listed), _preflight("https://stranger.example")):
        gateway.request("OPTIONS", "/v1/responses", headers)
    refused = ledger.find({"http.request.method": "OPTIONS", "url.path": "/v1/responses"})
    assert [record["http.response.status_code"] for record in refused] == [405], "one that is refused has a line"
    last = gateway.request("POST", "/v1/chat/completions", bearer("key_a"), json=CHAT)
    ledger.of_request(last.headers["x-request-id"])
    assert not [record for record in ledger.records if record["http.response.status_code"] == 204]
    assert probes() == before + 1


def test_off_as_it_is_by_default(chromium: Browsers) -> None:
    with Stack(run_dir("cors-off"), document=by_hand()) as stack:
        gateway = Gateway(stack)
        answer = gateway.request("OPTIONS", "/v1/messages", _preflight("https://other.example"))
        assert answer.status == 405
        asked = gateway.echo("POST", "/v1/chat/completions", {**bearer("key_a"), "origin": "https://other.example"}, json=CHAT)
        assert dict(asked["headers"])["origin"] == "https://other.example"
        answers = [answer, gateway.request("GET", "/v1/models", {"authorization": f"Bearer {KEYS['key_a']}", "origin": "https://other.example"})]
        for each in answers:
            assert not [name for name in each.headers if name.startswith("access-control-") or name == "vary"]
