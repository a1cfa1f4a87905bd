"""The console of `trilane up` as a team reaches it: by a proxy that ends TLS."""

from __future__ import annotations

import ssl
from pathlib import Path

from e2e.console.running import ask
from e2e.guides.form_browser import FormBrowser
from e2e.guides.tls_proxy import TlsProxy
from e2e.up.running import Up
from ports import free_port
from waiting import until

GATEWAY = "https://ai.example.com"


def test_people_reach_it_by_its_public_address(tmp_path: Path) -> None:
    public, console = free_port(), free_port()
    address = f"https://localhost:{public}"
    options = ("--demo", "--console", "--console-port", str(console), "--console-url", address, "--gateway-url", GATEWAY)
    site = f"localhost:{public} {{\n\treverse_proxy 127.0.0.1:{console}\n}}\n"
    with TlsProxy(tmp_path / "proxy", site) as proxy, Up(tmp_path / "data", *options) as up:
        assert f"  console    {address}\n" in up.said
        link = up.said.split("sign in    ", 1)[1].split()[0]
        assert link.startswith(f"{address}/sign-in/link?"), link
        browser = FormBrowser(address, ssl.create_default_context(cafile=str(proxy.ca)))
        browser.sign_in(link)
        made = browser.send("/new-key", "/keys", group="b-official", label="mine")
        key = made.partition("<code>")[2].partition("</code>")[0]
        assert f"export ANTHROPIC_BASE_URL={GATEWAY}\n" in made, "what clients set is the gateway's public address"
        # The agent beside the console reaches it on this machine.
        until(lambda: ask(up.url, key) == 200, 30)
