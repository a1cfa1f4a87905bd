"""`trilane up` gives Envoy clusters and credentials by one stream: many accounts, rotation, what Envoy refuses."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest
from e2e.up.ads import MODEL, Between, Site, Vendor, admin_of, ads_socket, ask, group, inotify_instances, key_of, many, told_by
from e2e.up.running import Up
from waiting import until


def test_more_accounts_than_files_can_be_watched(tmp_path: Path) -> None:
    """With two inotify instances an account Envoy aborts from some sixty on."""
    number = 100
    site = Site(tmp_path)
    with Vendor("any") as vendor:
        groups = many(site, vendor.url, number)
        site.save(*groups)
        with Up(tmp_path / "data", *site.options) as up:
            (envoy,) = up.envoys
            assert inotify_instances(envoy) == 0
            for each in groups:
                assert ask(up.url, each["id"]).status_code == 200, each["id"]
            assert vendor.seen == [f"sk-{each['id']}" for each in groups], "each has its own credential"
            for page, text in told_by(admin_of(up)).items():
                assert "account" in text or page in ("certs", "init_dump"), page
                assert "sk-account-" not in text, page
            assert "sk-account-" not in up.said + (up.data / "run" / "envoy.log").read_text()
            socket = ads_socket(up.data / "run" / "envoy.yaml")
            assert socket.is_socket() and socket.parent.stat().st_mode & 0o777 == 0o700


def test_a_credential_is_replaced_under_a_stream(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with Vendor("any") as vendor:
        site.give("one", "sk-first")
        site.save(group("g", vendor.url, "one"))
        with Up(tmp_path / "data", *site.options) as up:
            text: list[str] = []
            reading = threading.Event()

            def read() -> None:
                body = {"model": MODEL, "max_tokens": 16, "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
                headers = {"x-api-key": key_of("g"), "anthropic-version": "2023-06-01"}
                with httpx.stream("POST", f"{up.url}/v1/messages", headers=headers, json=body, timeout=60, trust_env=False) as answer:
                    for piece in answer.iter_text():
                        text.append(piece)
                        reading.set()

            stream = threading.Thread(target=read, daemon=True)
            stream.start()
            assert reading.wait(20)

            def is_used(credential: str) -> bool:
                return ask(up.url, "g").status_code == 200 and vendor.seen[-1] == credential

            site.give("one", "sk-second\n")
            until(lambda: is_used("sk-second"), 10)
            assert stream.is_alive(), "it runs on"
            # While a document is refused too.
            good = site.document.read_text()
            site.document.write_text("{")
            up.until("what was there before stays in force")
            site.give("one", "sk-third")
            until(lambda: is_used("sk-third"), 10)
            site.document.write_text(good)
            # Taken away, and given again.
            (site.credentials / "one").unlink()
            until(lambda: ask(up.url, "g").status_code == 502, 10)
            assert "sk-third" not in vendor.seen[-1:] or ask(up.url, "g").status_code == 502
            up.until("account g/one serves nothing until a good one is renamed to that name")
            site.give("one", "sk-fourth")
            until(lambda: is_used("sk-fourth"), 10)
            # Made in place, which no rename tells.
            (site.credentials / "one").write_text("sk-fifth")
            until(lambda: is_used("sk-fifth"), 10)
            stream.join(30)
            assert not stream.is_alive() and "message_stop" in "".join(text)
            for value in ("sk-first", "sk-second", "sk-third", "sk-fourth"):
                assert value not in up.said


def test_a_cluster_that_envoy_refuses(tmp_path: Path) -> None:
    """It is told with Envoy's reason, what it replaces goes on, and what comes with it is taken."""
    site = Site(tmp_path)
    with Vendor("any", host="127.9.9.9") as refused, Vendor("any") as other:
        for name in ("bad", "good", "new"):
            site.give(name, f"sk-{name}")
        site.save(group("refused", refused.url, "bad"), group("other", other.url, "good"))
        with Up(tmp_path / "data", *site.options) as up:
            between = Between(ads_socket(up.data / "run" / "envoy.yaml"))
            try:
                (envoy,) = up.envoys
                subprocess.run(["kill", "-KILL", str(envoy)], check=True)
                up.until("ready again")
                assert ask(up.url, "refused").status_code == 200

                between.change = (b"127.9.9.9", b"127.9.9.x")
                changed = {"retries": 2}
                site.save(
                    group("refused", refused.url, "bad", **changed),
                    group("other", other.url, "good", **changed),
                    group("new", other.url, "new"),
                )
                up.until("Envoy does not take the cluster source/refused, what was there before stays: ")
                (line,) = [line for line in up.said.splitlines() if "Envoy does not take" in line]
                assert "127.9.9.x" in line, line
                up.until("Envoy refuses to take the clusters source/refused. The document goes into force all the same")
                for name in ("refused", "other", "new"):
                    until(lambda name=name: ask(up.url, name).status_code == 200, 10)
                dump = told_by(admin_of(up))["config_dump"]
                assert dump.count('"num_retries": 2') == 1, "one has changed, and one is as it was"

                # It can be mended.
                between.change = (b"", b"")
                changed["retries"] = 3
                site.save(group("refused", refused.url, "bad", **changed), group("other", other.url, "good", **changed))
                until(lambda: told_by(admin_of(up))["config_dump"].count('"num_retries": 3') == 2, 20)
                assert up.said.count("Envoy does not take") == 1
                # What the document no longer has is gone a little later.
                until(lambda: "source/new" not in told_by(admin_of(up))["config_dump"], 20)
            finally:
                between.close()


def test_authorities_that_envoy_refuses(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with Vendor("any") as vendor:
        site.give("one", "sk-one")
        site.give("two", "sk-two")
        (site.credentials / "own.pem").write_text("-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
        site.save(group("fine", vendor.url, "one"), group("broken", "https://127.0.0.1:9", "two", ca="own.pem"))
        with Up(tmp_path / "data", *site.options) as up:
            up.until("Envoy does not take the secret ca~")
            assert ask(up.url, "fine").status_code == 200
            assert ask(up.url, "broken").status_code in (502, 503)
            site.give("one", "sk-new")
            until(lambda: ask(up.url, "fine").status_code == 200 and vendor.seen[-1] == "sk-new", 10)


def test_a_document_refused_at_the_start(tmp_path: Path) -> None:
    """The last good one is in force, and all it needs, with the credentials of now."""
    site = Site(tmp_path)
    with Vendor("any") as vendor:
        site.give("one", "sk-one")
        site.give("two", "sk-two")
        site.save(group("g", vendor.url, "one"), group("h", vendor.url, "two"))
        with Up(tmp_path / "data", *site.options):
            pass
        site.document.write_text("{")
        site.give("one", "sk-new")
        site.give("two", "two lines\nof it")
        with Up(tmp_path / "data", *site.options) as up:
            assert "the last good one stays in force" in up.said
            assert ask(up.url, "g").status_code == 200 and vendor.seen == ["sk-new"]
            assert ask(up.url, "h").status_code == 502 and vendor.seen == ["sk-new"], "no part of it is sent"


@pytest.mark.long
def test_a_thousand_accounts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How long it takes is printed; `make bench` has figures that count."""
    number = 1000
    site = Site(tmp_path)
    with Vendor("any") as vendor:
        groups = [*many(site, vendor.url, number - 1), group("one", vendor.url, "one")]
        site.give("one", "sk-one")
        site.save(*groups)
        with Up(tmp_path / "data", *site.options) as up:
            (envoy,) = up.envoys
            assert inotify_instances(envoy) == 0
            subprocess.run(["kill", "-KILL", str(envoy)], check=True)
            up.until("ready again, ")
            (ready,) = [line for line in up.said.splitlines() if line.startswith("ready again, ")]
            for each in groups:
                assert ask(up.url, each["id"]).status_code == 200, each["id"]
            taken = []
            for turn in range(10):
                value = f"sk-one-{turn}"
                site.give("one", value)
                begun = time.monotonic()
                until(lambda value=value: ask(up.url, "one").status_code == 200 and vendor.seen[-1] == value, 20)
                taken.append(time.monotonic() - begun)
                time.sleep(0.3)
            # All at once.
            for each in range(number - 1):
                site.give(f"account-{each:04}", f"sk-new-{each}")
            begun = time.monotonic()
            for each in groups[:-1]:
                until(lambda each=each: ask(up.url, each["id"]).status_code == 200 and vendor.seen[-1].startswith("sk-new-"), 20)
            whole = time.monotonic() - begun
            for page, text in told_by(admin_of(up)).items():
                assert "sk-" not in text, page
    with capsys.disabled():
        print(f"\n{number} accounts: {ready}; one replaced: {sorted(taken)[5]:.3f} s, {max(taken):.3f} at most; all: {whole:.3f} s")
