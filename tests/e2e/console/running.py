"""A console as it runs, and what is asked of it."""

from __future__ import annotations

import json
import ssl
import subprocess
from pathlib import Path
from typing import Any, Callable, Optional

import httpx
from e2e.up.running import environment
from stack import COMMAND, Child
from waiting import until

MESSAGE = {"model": "claude-opus-4-5", "max_tokens": 256, "messages": [{"role": "user", "content": "Hello"}]}


def agent_options(console: str, token: Path, document: Path) -> tuple[str, ...]:
    """The options of an agent of this console that enrols with a token, and has a demonstration's credentials."""
    credentials = str(bind_credentials(document))
    return ("--console-url", console, "--enrolment-token-file", str(token), "--credentials", credentials)


def bind_credentials(document: Path) -> Path:
    """The directory of the credentials that a document names, each bound to where the document sends it."""
    directory = document.parent / "credentials"
    places: dict[str, set[str]] = {}
    for group in json.loads(document.read_text())["groups"]:
        for account in group.get("accounts", []):
            url = httpx.URL(account["url"])
            places.setdefault(account["credential"], set()).add(f"{url.scheme}://{url.netloc.decode()}")
    for name, bound in places.items():
        (directory / f"{name}.destinations").write_text("".join(f"{place}\n" for place in sorted(bound)))
    return directory


class Api:
    """The API of a console, with one token."""

    def __init__(self, url: str, token: str, trust: ssl.SSLContext | bool = True) -> None:
        self.url = url
        headers = {"authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=30, trust_env=False, verify=trust)

    def call(self, method: str, path: str, body: Optional[dict[str, Any]] = None, **headers: str) -> httpx.Response:
        return self._http.request(method, f"/api/v1{path}", json=body, headers=headers)

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        answer = self.call("POST", path, body, **headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def new_key(self, key: str, group: str, **more: Any) -> str:
        """A new key's value."""
        return str(self.post("/keys", {"id": key, "group": group, "new_owner": True, "new_team": True, **more})["value"])

    def draft(self, note: str, change: Callable[[dict[str, Any]], None]) -> tuple[str, str]:
        """The id and the tag of a draft of the document in force, with a change."""
        draft = self.post("/drafts", {"note": note})
        body = json.loads(draft["body"])
        change(body)
        put = {"body": json.dumps(body), "note": note}
        answer = self.call("PUT", f"/drafts/{draft['id']}", put, **{"if-match": f'"{draft["revision"]}"'})
        assert answer.status_code == 200, answer.text
        return draft["id"], answer.headers["etag"]

    def take_in(self, envoy: str, lines: str) -> None:
        """A whole file of an Envoy's ledger."""
        answer = self._http.post(f"/api/v1/ledger/{envoy}/file-1?from=0&ends=true", content=lines)
        assert answer.status_code == 200, answer.text

    def publish(self, change: Callable[[dict[str, Any]], None]) -> int:
        """Publishes the document in force with a change, and returns its version."""
        draft, tag = self.draft("a test", change)
        published = self.call("POST", f"/drafts/{draft}/publish", **{"if-match": tag})
        assert published.status_code == 201, published.text
        return int(published.json()["version"])

    def usage(self) -> dict[str, tuple[int, str]]:
        """Requests and charges by key."""
        items = self.get("/usage?by=key&limit=500")["items"]
        found: dict[str, tuple[int, str]] = {}
        for item in items:
            # What was not charged, such as a refused request, has no currency, and a row of its own.
            before, charge = found.get(item["values"]["key"], (0, item["charge"]))
            charge = item["charge"] if item["currency"] else charge
            found[item["values"]["key"]] = (before + item["counts"]["requests"], charge)
        return found


class Console:
    """`trilane console` over a database. Use it as a context manager."""

    def __init__(self, place: Path, *options: str, database: Optional[str] = None) -> None:
        self._place = place
        place.mkdir(exist_ok=True)
        self.log = place.with_name(f"{place.name}.console")
        self._database = database or str(place)
        self._options = options
        self.port = 0
        self._child: Optional[Child] = None

    def __enter__(self) -> Console:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def start(self) -> Console:
        """Starts it; each time after the first at the same port."""
        env = environment(TRILANE_DATABASE=self._database)
        command = [
            *("env", "-i", *(f"{name}={value}" for name, value in env.items())),
            *(str(COMMAND), "console", "--json", "--listen", f"127.0.0.1:{self.port}"),
            *("--admin-token-file", str(self._place / "admin.token"), *self._options),
        ]  # fmt: skip
        self._child = Child(command, self.log)
        until(lambda: '"event":"listening"' in self.log.read_text())
        told = [json.loads(line) for line in self.log.read_text().splitlines() if '"event":"listening"' in line]
        self.port = int(told[-1]["address"].rpartition(":")[2])
        return self

    def kill(self) -> None:
        assert self._child
        self._child.process.kill()
        self._child.process.wait()

    def stop(self) -> None:
        if self._child:
            self._child.stop(patience=20)
        self._child = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def metrics(self) -> str:
        """Where its metrics are, since its last start."""
        told = [json.loads(line) for line in self.log.read_text().splitlines() if '"event":"metrics"' in line]
        return f"http://{told[-1]['address']}"

    @property
    def api(self) -> Api:
        return Api(self.url, (self._place / "admin.token").read_text().strip())


def ask(url: str, key: str, **more: Any) -> int:
    """The status of a request of protocol B."""
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return httpx.post(f"{url}/v1/messages", headers=headers, json={**MESSAGE, **more}, timeout=30, trust_env=False).status_code


def told_by_files(*ledgers: Path) -> dict[str, tuple[int, str]]:
    """Requests and charges by key, as `trilane usage` adds up files."""
    command = [COMMAND, "usage", "--by", "key", "--format", "json", *ledgers]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    return {row["key"]: (row["requests"], row["charge"]) for row in json.loads(ran.stdout)["rows"]}
