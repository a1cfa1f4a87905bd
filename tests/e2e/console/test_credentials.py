"""Credentials that the console has reach Envoy, and go nowhere else than where they were given for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from e2e.console.running import Api, ask
from e2e.up.running import Up
from vendors import Answer, Asked, VendorServer
from waiting import until

FIRST, SECOND = "sk-first-0123456789abcdef", "sk-second-0123456789abcdef"
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [{"type": "text", "text": "Hi"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 1},
}


class WelcomingVendor(VendorServer):
    """A vendor to whom any credential is good."""

    def answer(self, asked: Asked) -> Answer:
        return Answer(200, MESSAGE)

    @property
    def seen(self) -> list[str]:
        """The credentials with which it was asked."""
        return [asked.headers["x-api-key"] for asked in self.asked]


def test_they_go_where_they_were_given_for(tmp_path: Path) -> None:
    with WelcomingVendor(FIRST) as one, WelcomingVendor(FIRST) as other, Up(tmp_path / "data", "--demo", "--console", "--console-port", "0") as up:
        console = Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())
        key = console.new_key("ann-1", "b-official")

        def send_to(url: str) -> None:
            def change(document: dict[str, Any]) -> None:
                group = next(group for group in document["groups"] if group["id"] == "b-official")
                group["accounts"] = [{"id": "own", "url": url, "credential": "own"}]
                group.pop("failover", None)

            console.publish(change)

        def give(value: str, **more: Any) -> None:
            answer = console.call("PUT", "/credentials/own", {"value": value, **more})
            assert answer.status_code == 200 and value not in answer.text, answer.text

        give(FIRST, destinations=[{"url": one.url}])
        send_to(one.url)
        until(lambda: ask(up.url, key) == 200 and FIRST in one.seen, 30)
        files = [file for file in (up.data / "agent" / "given").rglob("*") if file.is_file()]
        assert [(file.name, file.stat().st_mode & 0o777, file.read_text()) for file in files] == [("own", 0o400, FIRST)]

        # The account goes elsewhere: the credential is discarded, and the new place never sees it.
        send_to(other.url)
        assert console.get("/credentials")["items"] == []
        until(lambda: files[0].read_text() == "", 15)
        until(lambda: ask(up.url, key) != 200, 15)
        give(SECOND)
        until(lambda: ask(up.url, key) == 200 and SECOND in other.seen, 30)
        assert set(other.seen) == {SECOND}
        assert SECOND not in one.seen

        # Rotated, and taken back.
        give(FIRST)
        until(lambda: ask(up.url, key) == 200 and other.seen[-1] == FIRST, 15)
        assert console.call("DELETE", "/credentials/own").status_code == 204
        until(lambda: ask(up.url, key) != 200, 15)
        for value in (FIRST, SECOND):
            assert value not in up.said
            holders = [file for file in up.data.rglob("*") if file.is_file() and value.encode() in file.read_bytes()]
            assert holders == [], holders


def test_no_local_file_goes_elsewhere(tmp_path: Path) -> None:
    """An admin of the console sends accounts where he likes: no file of the gateway's machine goes there."""
    with WelcomingVendor(FIRST) as thief, Up(tmp_path / "data", "--demo", "--console", "--console-port", "0") as up:
        console = Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())
        key = console.new_key("ann-1", "b-official")
        until(lambda: ask(up.url, key) == 200, 30)

        def change(credential: str) -> Any:
            def at_the_thief(document: dict[str, Any]) -> None:
                group = next(group for group in document["groups"] if group["id"] == "b-official")
                group["accounts"] = [{"id": "own", "url": thief.url, "credential": credential}]
                group.pop("failover", None)

            return at_the_thief

        for path in (str(up.data / "console" / "sealing.keys"), "../agent/agent.json", "../../etc/passwd"):
            draft, tag = console.draft("mine", change(path))
            refused = console.call("POST", f"/drafts/{draft}/publish", **{"if-match": tag})
            assert refused.status_code == 422 and "credential" in refused.text, refused.text
        # A file in the directory, which the operator's own document sends to another place.
        console.publish(change("b-official-1"))
        up.until(f"b-official-1 is not bound to it: whoever runs this machine may do so with the line `{thief.url}`")
        until(lambda: ask(up.url, key) != 200, 15)
        assert thief.seen == []
        # The operator says so.
        (up.data / "credentials" / "b-official-1.destinations").write_text(f"{thief.url}\n")
        until(lambda: ask(up.url, key) == 200, 30)
        assert set(thief.seen) == {(up.data / "credentials" / "b-official-1").read_text().strip()}
