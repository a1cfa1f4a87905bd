"""The first run: from a console with nothing in it to a request, and each failure on the way told in place."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2e.browser.chromium import ROOT, Browsers
from e2e.browser.looking import EVERY_RULE, look_at, violations
from e2e.browser.seeded import SeededConsole
from e2e.console.running import Api, Console
from e2e.up.running import READY, Up
from stack import SIMULATOR
from vendors import AnthropicVendor, Answer, GeminiVendor, LocalServer, OpenAIVendor, VendorServer
from waiting import until

CREDENTIAL = "sk-of-the-vendor-0000000000000000"
WRONG = "sk-of-somebody-else-000000000000"
PRIVATE = "--allow-private-accounts"


@pytest.fixture(name="empty")
def empty_fixture(tmp_path: Path) -> Iterator[SeededConsole]:
    """A console with nothing in it, which may ask servers on this machine."""
    with Console(tmp_path / "db", PRIVATE) as console:
        yield SeededConsole(console)


def add(page: Any, title: str, url: str, credential: str = CREDENTIAL) -> None:
    """Fills in a vendor's form and sends it."""
    page.goto(page.url.split("/start")[0] + "/start")
    page.get_by_role("link", name=f"Add {title}").click()
    page.get_by_label("Base address").fill(url)
    page.get_by_label("Credential", exact=True).fill(credential)
    page.get_by_role("button", name="Test and go on").click()


def answer(url: str, key: str, kind: str) -> str:
    """What a model says by way of the gateway."""
    if kind == "A":
        body: dict[str, Any] = {"model": "gpt-6-luna", "messages": [{"role": "user", "content": "Hello"}], "max_completion_tokens": 64}
        said = httpx.post(f"{url}/v1/chat/completions", json=body, headers={"authorization": f"Bearer {key}"}, trust_env=False)
        return str(said.json()["choices"][0]["message"]["content"]) if said.status_code == 200 else said.text
    body = {"model": "claude-haiku-4-5", "max_tokens": 64, "messages": [{"role": "user", "content": "Hello"}]}
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    said = httpx.post(f"{url}/v1/messages", json=body, headers=headers, trust_env=False)
    return str(said.json()["content"][0]["text"]) if said.status_code == 200 else said.text


@contextmanager
def waiting(data: Path, *options: str) -> Iterator[Up]:
    """A gateway that waits for its first document."""
    up = Up(data, "--console", "--console-port", "0", *options)
    try:
        up.begin().until("sign in    ")
        assert "nothing is served yet" in up.said
        yield up
    finally:
        up.stop()


@pytest.mark.parametrize("scripts", [True, False], ids=["", "without_scripts"])
def test_from_an_empty_directory_to_a_request(tmp_path: Path, chromium: Browsers, scripts: bool) -> None:
    """`trilane up --console`, the link that it prints, and then only the browser."""
    with (
        OpenAIVendor(CREDENTIAL) as a,
        AnthropicVendor(CREDENTIAL) as b,
        waiting(tmp_path / "data", PRIVATE) as up,
    ):
        link = up.said.split("sign in    ", 1)[1].split()[0]
        origin, _, path = link.partition("/sign-in")
        with chromium.visitor(origin, scripts=scripts) as visitor:
            page = visitor.open(f"/sign-in{path}")
            page.get_by_role("button", name="Sign in").click()
            page.get_by_label("New password").fill("correct horse battery")
            page.get_by_label("Once more").fill("correct horse battery")
            page.get_by_role("button", name="Set password").click()
            page.get_by_role("heading", name="Get started").wait_for()
            add(page, "OpenAI", a.url)
            page.get_by_role("heading", name="Models of openai").wait_for()
            page.get_by_role("button", name="Take these models").click()
            add(page, "Anthropic", b.url)
            page.get_by_role("button", name="Take these models").click()
            assert "input 1, cached 0.1, output 5" in page.locator("details", has_text="claude-haiku-4-5").inner_text()
            page.get_by_role("button", name="Publish").click()
            page.get_by_role("status").get_by_text("Published").wait_for()
            up.until(READY)
            assert page.get_by_label("Group").input_value() == "all", "one key for both"
            page.get_by_role("button", name="Create the first key").click()
            page.get_by_role("heading", name="The key is made").wait_for()
            key = page.locator(".code code").first.inner_text()
            clients = page.locator("details.client").all_inner_texts()
            for client in ("Claude Code", "Codex CLI", "OpenAI SDK", "Anthropic SDK"):
                assert any(text.startswith(client) for text in clients), clients
            lines = page.locator("details.client code").all_text_contents()
            assert any(f"export ANTHROPIC_BASE_URL={up.url}\nexport ANTHROPIC_API_KEY={key}" in text for text in lines), lines
            page.get_by_text("No request of this key has arrived yet.").wait_for()
            until(lambda: answer(up.url, key, "A") == "pong", 30)
            until(lambda: answer(up.url, key, "B") == "pong", 30)
            if scripts:
                # It arrives while one looks.
                page.get_by_text("A request has arrived").wait_for(timeout=30_000)

            def arrived() -> bool:
                return "The latest request arrived" in visitor.open("/start").content()

            until(arrived, 30)
            page.get_by_text("All steps are done.").wait_for()
        assert key not in str(a.asked) + str(b.asked) and CREDENTIAL not in up.said
        api = Api(origin, (up.data / "admin.token").read_text().strip())
        charges = {"gpt-6-luna": "0.0000292", "claude-haiku-4-5": "0.000292"}

        def charged() -> bool:
            items = api.get("/usage?by=model")["items"]
            return {item["values"]["model"]: item["charge"] for item in items if item["charge"] != "0"} == charges

        until(charged, 15)


def test_a_server_of_ones_own_by_a_choice(tmp_path: Path, chromium: Browsers) -> None:
    """On one's own machine a private address is a choice; what was typed stays where it was not made."""
    with LocalServer("any") as local, waiting(tmp_path / "data") as up:
        link = up.said.split("sign in    ", 1)[1].split()[0]
        origin, _, path = link.partition("/sign-in")
        with chromium.visitor(origin) as visitor:
            visitor.expected = {422}
            visitor.sign_in(f"/sign-in{path}")
            page = visitor.open("/start")
            page.get_by_role("link", name="Add an address of your own").click()
            page.get_by_label("Base address").fill(local.url)
            page.get_by_label("It asks for no credential").check()
            page.get_by_label("Name", exact=True).fill("mine")
            page.get_by_role("button", name="Test and go on").click()
            page.get_by_role("alert").get_by_text("tick “It is in my own network”").wait_for()
            typed = [page.get_by_label("Base address").input_value(), page.get_by_label("Name", exact=True).input_value()]
            assert typed == [local.url, "mine"], "what was typed stays"
            assert local.asked == []
            page.get_by_label("It is in my own network").check()
            page.get_by_role("button", name="Test and go on").click()
            page.get_by_role("heading", name="Models of mine").wait_for()
            page.get_by_label("Free, llama3.2:3b").check()
            page.get_by_role("button", name="Take these models").click()
            page.get_by_role("status").wait_for()

            # Authorities of one's own are the gateway's to check: the models are named, and the file stays in the form.
            page.get_by_role("link", name="Add an address of your own").click()
            page.get_by_label("Base address").fill("https://models.invalid/v1")
            page.get_by_label("It asks for no credential").check()
            page.get_by_text("Proxy and certificates").click()
            page.get_by_label("File of authorities").fill("own.pem")
            page.get_by_role("button", name="Test and go on").click()
            page.get_by_role("alert").get_by_text("only the gateway can check").wait_for()
            assert page.get_by_label("File of authorities").input_value() == "own.pem"
            page.get_by_label("Its models").fill("llama")
            page.get_by_role("button", name="Test and go on").click()
            page.get_by_role("heading", name="Models of local").wait_for()
            page.get_by_role("button", name="Take these models").click()
            page.get_by_role("status").wait_for()
            vendors = Api(origin, (up.data / "admin.token").read_text().strip()).get("/setup")["vendors"]
            assert [vendor.get("ca") for vendor in vendors] == [None, "own.pem"]


def test_a_gateway_that_waits_ends_by_a_signal(tmp_path: Path) -> None:
    with waiting(tmp_path / "data", PRIVATE) as up:
        up.send(signal.SIGTERM)
        assert up.ended() == 0


def test_what_is_half_done_stays(empty: SeededConsole, chromium: Browsers) -> None:
    """Across reloads, sessions and admins."""
    empty.api.post("/people", {"id": "olga", "name": "Olga", "role": "admin"})
    with (
        OpenAIVendor(CREDENTIAL) as a,
        GeminiVendor(CREDENTIAL) as c,
        chromium.visitor(empty.url, state=empty.session("admin")) as one,
        chromium.visitor(empty.url, state=empty.session("olga")) as other,
    ):
        one.expected = other.expected = {422}
        page = one.open("/start")
        look_at(page, "start-empty")
        add(page, "OpenAI", a.url)
        page.get_by_role("heading", name="Models of openai").wait_for()
        page.reload()
        look_at(page, "start-models")
        row = page.locator("tr", has_text="gpt-image-2")
        assert not row.get_by_role("checkbox").first.is_checked() and "no known price" in row.inner_text()
        assert row.get_by_label("Price of input").input_value() == "", "no price is invented"

        # Nothing was chosen yet, and the other admin goes on from here.
        theirs = other.open("/start")
        assert "2 models" in theirs.locator(".vendor", has_text="openai").inner_text()
        add(theirs, "Google Gemini", c.url)
        theirs.get_by_role("button", name="Take these models").click()
        theirs.get_by_role("link", name="Models of openai").click()
        theirs.locator("tr", has_text="gpt-6.2-sol").get_by_role("checkbox").first.uncheck()

        # One is quicker; the other's choice is not lost, and what differs is told.
        row.get_by_role("checkbox").first.check()
        row.get_by_label("Price of input").fill("0.02")
        row.get_by_label("Price of output").fill("0.00")
        page.get_by_role("button", name="Take these models").click()
        page.get_by_text("give the price of cached input too").wait_for()
        row.get_by_label("Price of cached input").fill("0.01")
        page.get_by_role("button", name="Take these models").click()
        page.get_by_role("status").wait_for()
        theirs.get_by_role("button", name="Take these models").click()
        alert = theirs.get_by_role("alert")
        alert.wait_for()
        assert "admin has changed openai" in alert.inner_text()
        assert "gpt-image-2" in theirs.locator(".differences").inner_text()
        assert not theirs.locator("tr", has_text="gpt-6.2-sol").last.get_by_role("checkbox").first.is_checked()
        theirs.get_by_role("link", name="Back").click()

        page = one.open("/start")
        assert page.locator(".vendor").count() == 2
        look_at(page, "start-vendors")
        page.get_by_role("button", name="Publish").click()
        page.get_by_role("status").wait_for()
        models = {model["id"]: model.get("prices", {}) for model in group(empty, "openai")["models"]}
        assert models["gpt-image-2"] == {"input": "0.02", "cache_read": "0.01", "output": "0.00"}
        assert models["gpt-6-luna"]["cache_read"], "the catalogue's other prices stay"
        look_at(page, "start-published")

        # It is tested on the page of accounts, too.
        page = one.open("/accounts")
        page.get_by_role("button", name="Test openai-1").click()
        page.get_by_role("status").get_by_text("the credential works; 3 models").wait_for()
        look_at(page, "accounts-tested")
        a.credential = "sk-another-by-now"
        page.get_by_role("button", name="Test openai-1").click()
        page.get_by_role("status").get_by_text("refused the credential (401)").wait_for()

        # And before it is rotated.
        one.expected = {422}
        page.get_by_role("link", name="Rotate openai-1").click()
        before = empty.api.get("/credentials")["items"]
        page.get_by_label("Credential", exact=True).fill(WRONG)
        page.get_by_role("button", name="Test and save").click()
        page.locator("#p-value", has_text="openai-1: ").get_by_text("refused the credential (401)").wait_for()
        assert empty.api.get("/credentials")["items"] == before, "nothing was kept"
        page.get_by_label("Credential", exact=True).fill(a.credential)
        page.get_by_role("button", name="Test and save").click()
        page.get_by_role("status").get_by_text("Saved.").wait_for()
        assert empty.api.get("/credentials")["items"] != before


def group(site: SeededConsole, name: str) -> dict[str, Any]:
    groups = json.loads(site.api.get("/documents/current")["body"])["groups"]
    return next(group for group in groups if group["id"] == name)


class NoList(VendorServer):
    """A server that answers, but lists no models."""

    base = "/v1"
    body: dict[str, Any] = {"object": "list", "data": []}
    status = 200

    def answer(self, asked: Any) -> Answer:
        return Answer(self.status, self.body)


def test_each_failure_is_told_in_place(empty: SeededConsole, chromium: Browsers, tmp_path: Path) -> None:
    certificate = tmp_path / "certificate"
    certificate.mkdir()
    subprocess.run([str(SIMULATOR), "certificate", "--out", str(certificate)], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]
    with (
        OpenAIVendor(CREDENTIAL) as a,
        OpenAIVendor(CREDENTIAL, certificate=certificate) as unknown,
        NoList(CREDENTIAL) as none,
        chromium.visitor(empty.url, state=empty.session("admin")) as visitor,
    ):
        visitor.expected = {422}
        page = visitor.open("/start")
        for url, credential, sentence in [
            (a.url, WRONG, "refused the credential (401). Is it whole, of this vendor, and not revoked?"),
            (none.url, CREDENTIAL, "took the credential and lists no models. May this account use any?"),
            ("https://no-such-vendor.invalid/v1", CREDENTIAL, "the name no-such-vendor.invalid does not resolve"),
            ("http://169.254.169.254/v1", CREDENTIAL, "No vendor is there, and no option allows it"),
            (f"http://127.0.0.1:{closed}/v1", CREDENTIAL, "is not reachable"),
            (unknown.url, CREDENTIAL, "TLS with localhost"),
            (a.url.replace("/v1", "/openai/v1"), CREDENTIAL, "Is this the base address of OpenAI-style models (protocol A)?"),
        ]:
            add(page, "OpenAI", url, credential)
            alert = page.get_by_role("alert")
            alert.get_by_text(sentence).wait_for()
            assert page.get_by_label("Base address").input_value() == url, "what was typed stays"
            assert page.get_by_label("Credential", exact=True).input_value() == "" and credential not in page.content()
        look_at(page, "start-vendor-failed")
        assert unknown.asked == [], "the credential never left"
        assert empty.api.get("/setup")["vendors"] == [] and empty.api.get("/credentials")["items"] == []

        # What is wrong with the form stands at its fields.
        add(page, "OpenAI", "ftp://x")
        page.locator("#p-url", has_text="must begin with https:// or http://").wait_for()
        add(page, "OpenAI", a.url, "two words")
        page.locator("#p-value", has_text="has blanks").wait_for()
        add(page, "OpenAI", a.url, "")
        page.locator("#p-value", has_text="is missing").wait_for()

        # Where nothing is listed, models can be named; a known name brings its price.
        add(page, "OpenAI", none.url)
        page.get_by_label("Its models").fill("gpt-6-luna\nown-model")
        page.get_by_label("Credential", exact=True).fill(CREDENTIAL)
        page.get_by_role("button", name="Test and go on").click()
        page.get_by_text("Its list of models is not to be had now").wait_for()
        assert page.locator("tr", has_text="gpt-6-luna").get_by_label("Price of input").input_value() != ""
        page.get_by_label("Price of input, own-model").fill("dear")
        page.get_by_role("button", name="Take these models").click()
        page.get_by_text("give all prices, or none").wait_for()
        page.get_by_label("Price of output, own-model").fill("1")
        page.get_by_label("Price of cached input, own-model").fill("1")
        page.get_by_role("button", name="Take these models").click()
        page.get_by_text("the price dear must be a plain decimal number").wait_for()
        page.get_by_label("Price of input, own-model").fill("")
        page.get_by_label("Price of output, own-model").fill("")
        page.get_by_label("Price of cached input, own-model").fill("")
        page.get_by_role("button", name="Take these models").click()
        page.get_by_role("status").wait_for()
        assert "1 without a price" in page.locator(".vendor").inner_text()
        page.get_by_role("link", name="Remove openai").click()
        page.get_by_role("button", name="Remove vendor").click()
        page.get_by_role("status").get_by_text("Removed.").wait_for()
        assert empty.api.get("/credentials")["items"] == []

        # A server of one's own asks for none, and costs nothing if one says so.
        with LocalServer("any") as local:
            page.get_by_role("link", name="Add an address of your own").click()
            look_at(page, "start-vendor-own")
            page.get_by_label("Base address").fill(local.url)
            page.get_by_label("It asks for no credential").check()
            page.get_by_role("button", name="Test and go on").click()
            page.get_by_label("Free, llama3.2:3b").check()
            page.get_by_role("button", name="Take these models").click()
            assert "2 models, 1 without a price" in page.locator(".vendor").inner_text()


def test_nothing_is_sent_to_private_addresses(tmp_path: Path, chromium: Browsers) -> None:
    with Console(tmp_path / "db") as console, OpenAIVendor(CREDENTIAL) as a:
        site = SeededConsole(console)
        with chromium.visitor(site.url, state=site.session("admin")) as visitor:
            visitor.expected = {422}
            page = visitor.open("/start")
            for url in (a.url, a.url.replace("127.0.0.1", "localhost"), "http://10.0.0.1/v1"):
                add(page, "OpenAI", url)
                page.get_by_role("alert").get_by_text("start the console with --allow-private-accounts").wait_for()
        assert a.asked == []


def test_a_console_with_a_document(tmp_path: Path, chromium: Browsers) -> None:
    document = ROOT / "envoy" / "gateway.json"
    with Console(tmp_path / "other", "--import-document", str(document)) as console:
        site = SeededConsole(console)
        site.api.post("/envoys", {"id": "edge-1"})
        with chromium.visitor(site.url, state=site.session("admin")) as visitor:
            page = visitor.open("/start")
            assert page.locator(".state", has_text="Done").count() == 4, "the keys of the document are the console's now"


def test_where_one_begins(tmp_path: Path, chromium: Browsers) -> None:
    """An admin of a console that serves nothing at the first run, everybody else at the overview or the keys."""
    document = ROOT / "envoy" / "gateway.json"
    for options, person, first in [((), "admin", True), ((), "victor", False), (("--import-document", str(document)), "admin", False)]:
        place = tmp_path / f"{person}-{len(options)}"
        with Console(place, *options) as console:
            site = SeededConsole(console)
            site.api.post("/people", {"id": "victor", "name": "Victor", "role": "viewer"})
            with chromium.visitor(site.url) as visitor:
                page = visitor.sign_in(site.link(person))
                for name in ("New password", "Once more"):
                    page.get_by_label(name).fill("correct horse battery")
                page.get_by_role("button", name="Set password").click()
                page.get_by_role("status").get_by_text("Your password is set").wait_for()
                assert ("/start" in page.url) == first, page.url
                page.get_by_role("button", name="Sign out").click()
                page.get_by_label("Person").fill(person)
                page.get_by_label("Password").fill("correct horse battery")
                page.get_by_role("button", name="Sign in").click()
                page.wait_for_url(lambda url: "/sign-in" not in url)
                assert page.url.endswith("/start") == first, page.url


def test_who_may_not_change_sees_how_far_it_is(tmp_path: Path, chromium: Browsers) -> None:
    with Console(tmp_path / "db") as console:
        site = SeededConsole(console)
        site.api.post("/people", {"id": "victor", "name": "Victor", "role": "viewer"})
        with chromium.visitor(site.url, state=site.session("victor")) as visitor:
            visitor.expected = {403}
            page = visitor.open("/start")
            assert page.get_by_role("link", name="Add OpenAI").count() == 0
            assert violations(page, EVERY_RULE) == []
            page = visitor.open("/start/vendor?vendor=openai")
            page.get_by_role("heading", name="You may not do this").wait_for()
