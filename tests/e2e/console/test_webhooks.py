"""A console tells webhooks, and people by e-mail: of a budget, of an Envoy that is away, of accounts without a credential."""

from __future__ import annotations

import base64
import contextlib
import email
import hashlib
import hmac
import json
import re
import socketserver
import sqlite3
import threading
import time
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from e2e.console.running import Api, Console
from e2e.guides.samples import sample
from stack import SAMPLE_DOCUMENT
from waiting import until


class Receiver:
    """Takes messages, and keeps those whose signature is good."""

    def __init__(self) -> None:
        self.secret = ""
        self.told: list[dict[str, Any]] = []
        self.wrong: list[str] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # noqa: N802
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.take(body, {name.lower(): text for name, text in self.headers.items()})
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/told"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        at = headers["trilane-webhook-timestamp"]
        mac = hmac.new(self.secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()
        message = json.loads(body)
        if headers["trilane-webhook-signature"] == f"v1={mac}" and headers["trilane-webhook-id"] == message["id"]:
            self.told.append(message)
        else:
            self.wrong.append(f"{headers} {body!r}")

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()

    def facts(self, of_type: str) -> list[dict[str, Any]]:
        """Of each message of a type all but its id, time and sentence."""
        kept = [message for message in self.told if message["type"] == of_type]
        return [{name: fact for name, fact in one.items() if name not in ("id", "type", "at", "text")} for one in kept]


class MailServer:
    """Takes e-mail: of each the envelope's addresses, and the text."""

    def __init__(self) -> None:
        self.taken: list[tuple[list[str], str]] = []
        self.signed_in: list[str] = []
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                to: list[str] = []
                self.wfile.write(b"220 stand-in\r\n")
                while line := self.rfile.readline().decode().strip():
                    verb, _, rest = line.partition(" ")
                    if verb == "AUTH":
                        server.signed_in.append(rest)
                    if verb == "RCPT":
                        to.append(rest)
                    if verb == "DATA":
                        self.wfile.write(b"354 go on\r\n")
                        text = iter(lambda: self.rfile.readline().decode().rstrip("\r\n"), ".")
                        server.taken.append((to, "\n".join(text)))
                    self.wfile.write(b"250 AUTH PLAIN\r\n" if verb == "EHLO" else b"235 well\r\n" if verb == "AUTH" else b"250 well\r\n")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"smtp://ann%40example.com@127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> MailServer:
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()


def spend(api: Api, key: str, now: datetime, owner: str | None = None) -> None:
    """A new key spends most of its budget."""
    api.new_key(key, "b-official", limits={"budget": {"per_month": "10"}}, owner=owner)
    line = {
        **{"timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "duration_ms": 0, "http.response.status_code": 200},
        **{"trilane.usage.status": "complete", "trilane.key.id": key, "trilane.group": "b-official"},
        **{"trilane.charge": "8.5", "trilane.currency": "USD", "trilane.instance": "one"},
        **{"trilane.spent.key.day": "8.5", "trilane.spent.key.month": "8.5"},
        **({"trilane.key.owner": owner} if owner else {}),
    }
    api.take_in(f"edge-of-{key}", json.dumps(line) + "\n")


def refuse(api: Api, now: datetime) -> None:
    """The vendor of an account says that its credit is used up."""
    failed = {"account": "b-official-1", "kind": "unauthorized", "status": 400, "fault": "no_credit", "error": {"type": "invalid_request_error"}}
    line = {
        **{"timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "duration_ms": 0, "http.response.status_code": 502},
        **{"trilane.usage.status": "failed", "trilane.key.id": "spender", "trilane.group": "b-official", "trilane.source": "b-official"},
        **{"trilane.account": "b-official-1", "trilane.tries": 1, "trilane.tries.failed": [failed]},
    }
    api.take_in("edge-of-refused", json.dumps(line) + "\n")


def test_messages_wait_for_the_key_of_their_secret(tmp_path: Path) -> None:
    place = tmp_path / "console"
    keys, aside = place / "sealing.keys", tmp_path / "aside"

    def problems() -> list[str]:
        with contextlib.closing(sqlite3.connect(place / "console.db")) as database:
            return [row[0] for row in database.execute("SELECT problem FROM webhook_events WHERE problem IS NOT NULL")]

    with Receiver() as receiver, Console(place, "--import-document", str(SAMPLE_DOCUMENT), "--allow-private-webhooks") as console:
        receiver.secret = console.api.post("/webhooks", {"url": receiver.url, "thresholds": [80]})["secret"]
        keys.rename(aside)
        refused = console.api.call("POST", "/webhooks", {"url": receiver.url})
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/no-sealing-key")
        spend(console.api, "spender", datetime.now(timezone.utc))
        until(problems, 20)
        assert "cannot be opened" in problems()[0]
        assert not receiver.told and not receiver.wrong
        aside.rename(keys)
        until(lambda: receiver.facts("budget.threshold"), 30)
        assert not receiver.wrong, receiver.wrong
        assert receiver.secret not in console.log.read_text()
    assert not any(receiver.secret.encode() in file.read_bytes() for file in place.iterdir())


def test_what_is_told(tmp_path: Path) -> None:
    place = tmp_path / "console"
    console = Console(place, "--import-document", str(SAMPLE_DOCUMENT), "--allow-private-webhooks")
    with Receiver() as receiver, console:
        api = console.api
        receiver.secret = api.post("/webhooks", {"url": receiver.url, "thresholds": [80]})["secret"]
        now = datetime.now(timezone.utc)
        spend(api, "spender", now)
        until(lambda: receiver.facts("budget.threshold"), 20)
        month = now.strftime("%Y-%m")
        budget = {"kind": "key", "subject": "spender", "period": month, "threshold": 80, "spent": "8.5", "budget": "10", "currency": "USD"}
        assert receiver.facts("budget.threshold") == [budget]
        refuse(api, now)
        until(lambda: receiver.facts("account.refused"), 20)
        (refused,) = receiver.facts("account.refused")
        assert (refused["group"], refused["account"], refused["fault"], refused["status"]) == ("b-official", "b-official-1", "no_credit", 400)

        token = api.post("/envoys", {"id": "edge-1"})["token"]
        enrolled = httpx.post(f"{console.url}/api/v1/enrol", json={"token": token}, trust_env=False).json()["token"]
        reported = httpx.put(
            f"{console.url}/api/v1/envoys/edge-1/report",
            json={"version": "0.2.0"},
            headers={"authorization": f"Bearer {enrolled}"},
            trust_env=False,
        )
        assert reported.status_code == 204, reported.text

        # Ten minutes later.
        console.stop()
        with sqlite3.connect(place / "console.db") as database:
            database.execute("UPDATE envoys SET seen_at = seen_at - 600000000")
            database.execute("UPDATE documents SET published_at = published_at - 600000000")
        database.close()
        console.start()
        until(lambda: receiver.facts("envoy.not_seen") and receiver.facts("account.no_credential"), 20)
        (away,) = receiver.facts("envoy.not_seen")
        assert (away["envoy"], away["name"]) == ("edge-1", "edge-1")
        assert away["seen_at"] == console.api.get("/envoys/edge-1")["seen_at"]
        groups = json.loads(SAMPLE_DOCUMENT.read_text())["groups"]
        accounts = {(group["id"], account["id"]) for group in groups for account in group.get("accounts", [])}
        until(lambda: len(receiver.facts("account.no_credential")) >= len(accounts), 20)
        told = receiver.facts("account.no_credential")
        assert sorted((one["group"], one["account"]) for one in told) == sorted(accounts)
        assert {one["reason"] for one in told} == {"not_kept"}
        assert receiver.facts("budget.threshold") == [budget], "it was told once"
        assert not receiver.wrong, receiver.wrong
        shown = {one["type"]: one.keys() for one in sample("console-people")}
        assert shown == {one["type"]: one.keys() for one in receiver.told}, "the page shows each of them"


def test_people_are_told_by_mail(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("mail-secret\n")
    with MailServer() as mail:
        options = ("--smtp-url", mail.url, "--smtp-password-file", str(password), "--smtp-from", "trilane@example.com")
        with Console(tmp_path / "console", "--import-document", str(SAMPLE_DOCUMENT), *options) as console:
            made = console.api.post("/webhooks", {"kind": "email", "url": "mailto:bob@example.com,eve@example.com", "thresholds": [80]})
            assert "secret" not in made
            tested = console.api.call("POST", f"/webhooks/{made['webhook']['id']}/test")
            assert tested.json() == {"delivered": True}, tested.text
            spend(console.api, "spender", datetime.now(timezone.utc))
            until(lambda: len(mail.taken) == 2, 20)
            (test_to, test), (to, text) = mail.taken
            assert test_to == to == ["TO:<bob@example.com>", "TO:<eve@example.com>"]
            assert "Subject: This is a test" in test, test
            assert "Budget of key spender: 80 % of $10 a month are spent" in " ".join(text.split()).replace("= ", ""), text
            assert set(mail.signed_in) == {"PLAIN " + base64.b64encode(b"\0ann@example.com\0mail-secret").decode()}
            assert console.api.get("/webhooks")["items"][0]["delivered_at"]
            assert "mail-secret" not in console.log.read_text()


def test_owners_are_mailed(tmp_path: Path) -> None:
    """An owner and nobody else, once although two consoles look: of a budget, and of a key that ends; with a link to the console."""
    place = tmp_path / "console"
    with MailServer() as mail:
        options = ("--smtp-url", mail.url.replace("ann%40example.com@", ""), "--smtp-from", "trilane@example.com")
        console = Console(place, "--import-document", str(SAMPLE_DOCUMENT), *options, "--console-url", "https://console.example.com")
        with console:
            api = console.api
            for person in ("ann", "bob"):
                api.post("/people", {"id": person, "name": person.title(), "role": "member"})
                changed = api.call("PATCH", f"/people/{person}/notices", {"email": f"{person}@example.com"})
                assert changed.status_code == 200 and changed.json()["has_mail_server"], changed.text
            now = datetime.now(timezone.utc)
            end = (now + timedelta(days=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
            api.new_key("ending", "b-official", owner="ann", label="laptop", expires_at=end)
            spend(api, "spender", now, "ann")
            until(lambda: mail.taken, 20)
            # Made two days ago.
            console.stop()
            with sqlite3.connect(place / "console.db") as database:
                database.execute("UPDATE keys SET created_at = ? WHERE id = 'ending'", ((now - timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ"),))
            database.close()
            console.start()
            until(lambda: len(mail.taken) == 2, 30)
            console.stop()
            console.start()
            time.sleep(3)
            assert len(mail.taken) == 2, mail.taken
        assert [to for to, _ in mail.taken] == [["TO:<ann@example.com>"]] * 2
        budget, ending = (email.message_from_string(text) for _, text in mail.taken)
        assert re.search(r"budget of your key \S+ is 80 % spent: \$8.50 of \$10.00\.", str(budget["Subject"]).replace("\n", "")), budget["Subject"]
        body = budget.get_payload(decode=True)
        assert isinstance(body, bytes)
        assert "See https://console.example.com/me" in body.decode() and "gateways refuse requests that need it until" in body.decode()
        assert "Your key laptop expires at" in ending["Subject"] and "laptop" not in console.log.read_text()
