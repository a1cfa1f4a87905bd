"""docs/team.md, done as it says: units that a stand-in for systemd runs, Envoy in the place of Caddy, and two people with a link each."""

from __future__ import annotations

import html
import json
import re
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from e2e.console.running import Api
from e2e.guides.host import UnitHost, host_of
from e2e.guides.form_browser import PASSWORD, FormBrowser
from e2e.guides.reader import DOCS
from e2e.guides.tls_proxy import TlsProxy
from e2e.guides.vendor import Vendor
from pages import blocks
from ports import free_port
from stack import WASM
from vendors import AnthropicVendor
from waiting import until

PAGE = DOCS / "team.md"
CREDENTIAL = "sk-of-the-vendor-0000000000000000"
MESSAGE = {"model": "claude-haiku-4-5", "max_tokens": 16, "messages": [{"role": "user", "content": "Hello"}]}


class Host(UnitHost):
    """The release, and nothing else."""

    page = PAGE
    document = ""
    key = ""

    def __init__(self, root: Path, vendor: Vendor) -> None:
        super().__init__(root, vendor, ("var/lib", "root"))
        self.console_port, console, gateway = free_port(), free_port(), free_port()
        self.console, self.gateway = f"https://localhost:{console}", f"https://localhost:{gateway}"
        self.data = root / "var" / "lib" / "trilane"
        self.ca = root / "proxy" / "ca.crt"
        self.read(
            [
                ("/var/lib/trilane", str(self.data)),
                ("/root/", f"{root}/root/"),
                ("127.0.0.1:10092", f"127.0.0.1:{self.console_port}"),
                ("console.example.com", f"localhost:{console}"),
                ("ai.example.com", f"localhost:{gateway}"),
                ("--metrics-port 10095", f"--metrics-port {free_port()}"),
                # Places that are free here; and the vendor is on this machine.
                ("--behind-tls-proxy", f"--listen 127.0.0.1:{self.console_port} --allow-private-accounts --behind-tls-proxy"),
            ],
            TRILANE_PORT=str(self.port), TRILANE_TLS_PORT="0", TRILANE_ADMIN_PORT="0",
            TRILANE_METRICS_LISTEN=f"127.0.0.1:{free_port()}", TRILANE_WASM=str(WASM), CURL_CA_BUNDLE=str(self.ca),
        )  # fmt: skip

    def said(self, unit: str) -> str:
        return (self.state / f"{unit}.service.log").read_text()

    @property
    def trust(self) -> ssl.SSLContext:
        """The proxy's authority, and nobody else's."""
        return ssl.create_default_context(cafile=str(self.ca))

    @property
    def api(self) -> Api:
        """The console's API, as the first admin."""
        return Api(f"http://127.0.0.1:{self.console_port}", (self.root / "root" / "admin.token").read_text().strip())

    def ask(self, key: str) -> int:  # type: ignore[override]
        """The status of a member's request."""
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        return httpx.post(f"{self.gateway}/v1/messages", headers=headers, json=MESSAGE, verify=self.trust, trust_env=False, timeout=30).status_code


host = host_of(Host)


@pytest.fixture(scope="module")
def proxy(host: Host) -> Iterator[None]:
    """What the page's Caddyfile says."""
    (caddyfile,) = [each.text for each in blocks(PAGE.read_text(), "text") if "reverse_proxy" in each.text]
    with TlsProxy(host.root / "proxy", host._reader.changed(caddyfile)):
        yield


@pytest.fixture(scope="module")
def claude() -> Iterator[AnthropicVendor]:
    with AnthropicVendor(CREDENTIAL) as running:
        yield running


@pytest.fixture(scope="module")
def links(host: Host) -> dict[str, str]:
    """The links of the members, once they are invited."""
    return {}


def test_console_and_gateway_are_set_up(host: Host) -> None:
    for heading in ("1. Install", "2. The console"):
        for text in host.parts(heading):
            host.does(text)
    enrol, remove = host.parts("3. The gateway")
    host.does(enrol)
    until(lambda: "agent: enrolled" in host.said("trilane"), says=lambda: host.said("trilane"))
    host.does(remove)


def test_the_first_admin_signs_in_and_publishes(host: Host, proxy: None, claude: AnthropicVendor) -> None:
    (text,) = host.parts("5. Sign in")
    said = host.does(f"{{\n{text}}} 2>&1")
    (link,) = re.findall(rf"{host.console}/sign-in/link\?token=\S+", said)
    admin = FormBrowser(host.console, host.trust)
    assert "Get started" in admin.sign_in(link), "the console leads"
    taken = {"vendor": "anthropic", "url": claude.url, "value": CREDENTIAL, "models": [{"id": "claude-haiku-4-5", "prices": {"input": "1", "output": "5"}}]}
    assert host.api.call("PUT", "/setup/vendors/anthropic", taken).status_code < 300
    draft = host.api.call("GET", "/drafts/first-run")
    published = host.api.call("POST", "/drafts/first-run/publish", **{"if-match": draft.headers["etag"]})
    assert published.status_code == 201, published.text
    until(lambda: httpx.get(f"{host.gateway}/healthz", verify=host.trust, trust_env=False).status_code == 200)
    assert "error:" not in host.said("trilane") and "error:" not in host.said("trilane-console").partition("listening on")[2]


def test_a_team_with_people(host: Host, proxy: None, links: dict[str, str]) -> None:
    (script,) = host.parts("6. People, a team, budgets")
    # With one vendor there is no group for all of them.
    said = host.does(script.replace('"groups": ["all"]', '"groups": ["anthropic"]'))
    answers = [json.loads(each) for each in re.findall(r"\{.*?\}(?=\{|\s*$)", said, re.DOTALL)]
    links.update(zip(("ann", "bob"), [each["path"] for each in answers if "path" in each]))
    assert len(links) == 2
    member = host.api.get("/budgets/member/ann@blue")["budget"]
    assert float(member["per_month"]) == 40, "two times 20"
    assert host.api.get("/budgets/team/blue")["budget"]["per_month"] == "200"


def test_what_a_member_does_first(host: Host, proxy: None, links: dict[str, str]) -> None:
    """The link, a password, a key that is shown once, the team's address, and what is left."""
    ann = FormBrowser(host.console, host.trust)
    begins = ann.sign_in(links["ann"])
    assert "Create key" in begins and "Spent this month" in begins
    made = ann.send("/me/new-key", "/me/keys", team="blue", group="anthropic", label="laptop")
    (key,) = set(re.findall(r"\btl-[A-Za-z0-9_-]{20,}", made))
    assert "Set up a client" in made and f"export ANTHROPIC_BASE_URL={host.gateway}" in html.unescape(made)
    until(lambda: host.ask(key) == 200)
    until(lambda: "$0" in (page := ann.open("/me")) and "laptop" in page and "claude-haiku-4-5" in page)
    assert key not in ann.open("/me")
    ann.send("/me/new-key", "/me/keys", team="blue", group="anthropic", label="server")
    assert "No team lets you make one more key" in ann.open("/me/new-key"), "each may make two"
    leaves(host, ann, key)


def leaves(host: Host, ann: FormBrowser, key: str) -> None:
    """Disabling a person ends all that they have, as the page says; enabling brings the keys back."""
    ended = host.api.call("PATCH", "/people/ann", {"disabled": True}).json()["ended"]
    assert (ended["sessions"], ended["keys"]) == (1, 2)
    assert "Sign in" in ann.open("/me")
    until(lambda: host.ask(key) == 401)
    assert [item["disabled_with"] for item in host.api.get("/keys?owner=ann")["items"]] == ["ann", "ann"]
    assert host.api.call("PATCH", "/people/ann", {"disabled": False}).json()["enabled_keys"] == 2
    until(lambda: host.ask(key) == 200)


def test_every_button_that_the_page_names_is_there() -> None:
    names = set(re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", PAGE.read_text()))
    templates = "".join(each.read_text() for each in (DOCS.parent / "console" / "templates").glob("*.html"))
    forms = (">{}<", "%}}{}{{%", '{{{{ t!("{}") }}}}')
    assert names and not [name for name in names if not any(form.format(name) in templates for form in forms)], names
