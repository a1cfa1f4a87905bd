"""`trilane up --console-url`: a gateway goes on without its console, and nothing of the ledger is lost."""

from __future__ import annotations

from pathlib import Path

from e2e.console.running import Console, agent_options, ask, told_by_files
from e2e.up.running import Up, refused
from waiting import until


def test_the_console_away(tmp_path: Path, document: Path) -> None:
    console = Console(tmp_path / "console", "--import-document", str(document)).start()
    try:
        api = console.api
        key = api.new_key("ann-1", "b-official")
        token = tmp_path / "token"
        token.write_text(api.post("/envoys", {"id": "edge-1"})["token"])
        options = ("--demo", *agent_options(console.url, token, document))
        up = Up(tmp_path / "data", *options)
        with up:
            until(lambda: ask(up.url, key) == 200, 10)
            assert (tmp_path / "data" / "agent" / "agent.json").stat().st_mode & 0o777 == 0o600
            secret = (tmp_path / "data" / "agent" / "agent.json").read_text()
            assert "tlc-" in secret and token.read_text() not in secret
            console.kill()
            assert ask(up.url, key) == 200
            up.until("agent: ledger: the console does not answer")
        # Away at the start too: document and keys are those of before. The enrolment token is of no use any more.
        with up:
            assert ask(up.url, key) == 200 and ask(up.url, "tl-unknown") == 401
            console.start()
            api = console.api
            until(lambda: api.usage().get("ann-1") == told_by_files(up.ledger)["ann-1"], 15)
            assert api.usage()["ann-1"][0] >= 3
            # What changes meanwhile arrives.
            assert api.call("DELETE", "/keys/ann-1").status_code == 204
            until(lambda: ask(up.url, key) == 401, 15)
            # Revoked: the gateway goes on with what it has.
            other = api.new_key("ann-2", "b-official")
            until(lambda: ask(up.url, other) == 200, 10)
            assert api.call("DELETE", "/envoys/edge-1").status_code == 204
            up.until("the console refuses this agent")
            assert ask(up.url, other) == 200
            for word in (key, other, token.read_text()):
                assert word not in up.said
    finally:
        console.stop()


def test_what_it_does_not_begin_with(tmp_path: Path) -> None:
    with Console(tmp_path / "console") as console:
        wrong = tmp_path / "token"
        wrong.write_text("tle-wrong")
        for case, options, words in (
            ("not enrolled", ("--console-url", console.url), "has not enrolled"),
            ("a wrong token", ("--console-url", console.url, "--enrolment-token-file", str(wrong)), "the enrolment token is refused"),
            ("no TLS", ("--console-url", "http://console.example"), "has no TLS"),
            ("two consoles", ("--console-url", console.url, "--console", "--envoy-id", "edge"), "leave one of them out"),
        ):
            code, said = refused(tmp_path / "data", *options, "--port", "0", "--tls-port", "0", "--admin-port", "0")
            assert code in (1, 2) and words in said, (case, said)
            assert "tle-wrong" not in said, case
