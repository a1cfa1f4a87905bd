"""Somebody in front of the console's pages, over TLS, without scripts and without a browser."""

from __future__ import annotations

import re
import ssl

import httpx

PASSWORD = "correct horse battery"


class FormBrowser:
    """Somebody in front of the console's pages, over TLS, without scripts."""

    def __init__(self, url: str, trust: ssl.SSLContext) -> None:
        self._http = httpx.Client(base_url=url, verify=trust, trust_env=False, timeout=30, headers={"origin": url})

    def open(self, path: str) -> str:
        answer = self._http.get(path, follow_redirects=True)
        assert answer.status_code == 200, (path, answer.status_code)
        return answer.text

    def send(self, form: str, path: str, **fields: str) -> str:
        """Fills in the form on the page `form`, and sends it to `path`."""
        hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', self.open(form)))
        answer = self._http.post(path, data={**hidden, **fields}, follow_redirects=True)
        assert answer.status_code in (200, 201), (path, answer.status_code, answer.text)
        return answer.text

    def sign_in(self, link: str) -> str:
        """By a link that is good once; then a password. The page that one begins at."""
        place = link.partition("localhost")[2].partition("/")[2] if link.startswith("https") else link.lstrip("/")
        self.send(f"/{place}", "/sign-in/link")
        assert all(name.startswith("__Host-") for name in self._http.cookies), "for TLS alone"
        self.send("/me/password", "/me/password", password=PASSWORD, again=PASSWORD)
        return self.open("/")
