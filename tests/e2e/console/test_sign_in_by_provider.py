"""People sign in by a certified provider of OpenID Connect (npm `oidc-provider`), and leave it."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from e2e.console.running import Console
from ports import free_port
from stack import Child
from waiting import until

NODE = Path(__file__).parents[1] / "sdk" / "node"
PERSON = "ann@a.example"

pytestmark = pytest.mark.skipif(
    not shutil.which("node") or not (NODE / "node_modules" / "oidc-provider").exists(), reason="no Node, or no provider in it: make node-modules"
)


class Site:
    """A console, a provider that it knows, and a browser."""

    def __init__(self, console: Console, place: Path, provider: str) -> None:
        self.console, self.provider, self._place = console, provider, place
        self.browser = httpx.Client(trust_env=False, timeout=30)

    def account(self, **claims: object) -> None:
        """Sets the claims of the account `ann`; none: it is gone."""
        answer = httpx.post(f"{self.provider}/control/ann", json=claims or None, trust_env=False)
        assert answer.status_code == 204

    def later(self) -> None:
        """More than 15 minutes pass, as far as questions at the provider go."""
        with sqlite3.connect(self._place / "console.db", timeout=20) as database:
            assert database.execute("UPDATE identities SET asked_at = asked_at - 1000000000").rowcount == 1

    def go(self, url: str) -> httpx.Response:
        """Goes where a browser is sent, and fills in the provider's forms."""
        answer = self.browser.get(url)
        for _ in range(20):
            if answer.has_redirect_location:
                answer = self.browser.get(answer.headers["location"] if "://" in answer.headers["location"] else answer.url.join(answer.headers["location"]))
            elif "name=\"prompt\" value=\"login\"" in answer.text:
                answer = self.browser.post(answer.url, data={"prompt": "login", "login": "ann", "password": "any"})
            elif "name=\"prompt\" value=\"consent\"" in answer.text:
                answer = self.browser.post(answer.url, data={"prompt": "consent"})
            else:
                return answer
        raise AssertionError(f"it leads nowhere: {answer.url}")

    def is_in(self) -> bool:
        answer = self.browser.get(f"{self.console.url}/tokens")
        assert answer.status_code in (200, 303), answer.text
        return answer.status_code == 200


@pytest.fixture(name="site", params=[("RS256", "true"), ("ES256", "false")], ids=["RS256-user-info", "ES256-id-token"])
def site_fixture(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    port, provider_port = free_port(), free_port()
    address, provider = f"http://127.0.0.1:{port}", f"http://localhost:{provider_port}"
    log = tmp_path / "provider.log"
    command = ["node", str(NODE / "oidc_provider.mjs"), str(provider_port), address, *request.param]
    child = Child(command, log)
    try:
        until(lambda: "ready" in log.read_text(), 30)
        console = Console(tmp_path / "console", "--allow-private-providers", "--console-url", address)
        console.port = port
        with console:
            settings = {
                **{"label": "Example", "issuer": provider, "client_id": "trilane", "client_secret": "a-secret-of-the-test"},
                **{"scopes": ["email", "profile", "groups"], "allowed_domains": ["a.example"]},
                "rules": [{"claim": "groups", "equals": "eng", "role": "viewer", "key_group": "mixed"}],
            }
            answer = console.api.call("PUT", "/identity-providers/idp", settings)
            assert answer.status_code == 200 and answer.json()["redirect_url"] == f"{address}/sign-in/with/idp/callback", answer.text
            yield Site(console, tmp_path / "console", provider)
    finally:
        child.stop()


def test_a_person_signs_in_and_leaves(site: Site) -> None:
    site.account(email=PERSON, email_verified=True, name="Ann A.", groups=["eng"])
    assert site.console.api.call("POST", "/identity-providers/idp/test").json()["keys"] == 1
    page = site.go(f"{site.console.url}/sign-in/with/idp?to=/tokens")
    assert page.status_code == 200 and str(page.url) == f"{site.console.url}/tokens", page.text
    person = site.console.api.get(f"/people/{PERSON}")
    assert (person["role"], person["key_group"], person["name"]) == ("viewer", "mixed", "Ann A.")
    assert site.console.api.get(f"/people/{PERSON}/identities")["items"][0]["is_asked"], "it gave a refresh token"

    # The provider is asked again, and says what has changed; a page of a session with another role is no more.
    site.later()
    assert site.is_in()
    site.account(email=PERSON, email_verified=True, groups=[])
    site.later()
    assert not site.is_in()
    person = site.console.api.get(f"/people/{PERSON}")
    assert (person["role"], "key_group" in person) == ("member", False)

    # Out here, and offered there; in again without a form.
    site.go(f"{site.console.url}/sign-in/with/idp")
    csrf = re.findall(r'name="csrf" value="([^"]+)"', site.browser.get(f"{site.console.url}/tokens").text)[0]
    out = site.browser.post(f"{site.console.url}/sign-out", data={"csrf": csrf})
    assert out.headers["location"] == "/sign-in?left=idp" and not site.is_in()
    there = site.go(f"{site.console.url}/sign-in/with/idp/end")
    assert there.status_code == 200 and str(there.url).startswith(f"{site.provider}/session/end"), there.text
    site.go(f"{site.console.url}/sign-in/with/idp")
    assert site.is_in()

    # The account is ended there: so is the session here.
    site.account()
    assert site.is_in()
    site.later()
    assert not site.is_in()
    assert site.console.api.get(f"/people/{PERSON}/identities")["items"][0]["ended"]


def test_nobody_else_comes_in(site: Site) -> None:
    for claims in ({"email": "ann@b.example", "email_verified": True}, {"email": PERSON, "email_verified": False}, {"email": PERSON}):
        site.account(**claims)
        page = site.go(f"{site.console.url}/sign-in/with/idp")
        assert page.status_code == 403 and not site.is_in(), claims
        site.browser.cookies.clear()
