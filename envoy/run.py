#!/usr/bin/env python3
"""`make run`: the gateway on this machine, until Ctrl-C.

Starts the simulator and Envoy, prints how to talk to them, and has `trilane render --watch` publish the document
whenever it is saved.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import demo
import fetch
from stack import SAMPLE_DOCUMENT, SOURCES, TARGET, Stack, StackError

LOADER_LINE = " wasm log config-loader trilane: "
#: What the filter logs about an account that its vendor refused: a sentence, and what to do.
REFUSAL_LINE = re.compile(
    r" wasm log trilane gateway trilane: (source (\S+): (?:account (\S+)|the account of cluster \S+) was refused by .*)"
)
#: The seconds in which a refusal is printed once: each of Envoy's workers logs it once in this time.
REFUSAL_SILENCE = 60.0


class Stop(Exception):
    """A signal asked for the end."""


def main() -> int:
    options = _options()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _on_signal)
    stack: Stack | None = None
    try:
        stack = Stack(
            TARGET / "run" / ("validate" if options.validate else str(options.port)),
            document=options.document,
            # To validate, Envoy only reads its configuration: any port will do.
            port=0 if options.validate else options.port,
            tls_port=0 if options.validate else options.tls_port,
            admin_port=0 if options.validate else options.admin_port,
            upstream=options.upstream,
            limits_service=options.limits_service,
            ledger=options.ledger,
            credentials=options.credentials,
            strict=True,
            concurrency=options.concurrency,
            envoy_log_level="warning" if options.validate else "info",
        )
        return _validate(stack) if options.validate else _run(stack, options.document)
    except Stop:
        return 0
    except (StackError, fetch.FetchError) as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    finally:
        if stack:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave a process behind
            stack.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the gateway on this machine.")
    parser.add_argument("--document", type=Path, default=SAMPLE_DOCUMENT, help="the configuration document")
    parser.add_argument("--port", type=int, default=10000)
    parser.add_argument("--tls-port", type=int, default=10443)
    parser.add_argument("--admin-port", type=int, default=9901)
    parser.add_argument(
        "--upstream", default=None, metavar="HOST:PORT", help="use this instead of the simulator"
    )
    parser.add_argument(
        "--limits-service", default=None, metavar="HOST:PORT", help="ask this rate limit service, as well"
    )
    parser.add_argument(
        "--ledger", type=Path, default=None, metavar="FILE", help="add one line of JSON a request to this file"
    )
    parser.add_argument(
        "--credentials",
        type=Path,
        default=None,
        metavar="DIR",
        help="where the files are that the document names without a leading slash [credentials/ beside the document]",
    )
    parser.add_argument("--concurrency", type=int, default=2, help="Envoy's worker threads")
    parser.add_argument("--validate", action="store_true", help="only let Envoy check its configuration")
    options = parser.parse_args()
    for name in ("port", "tls_port", "admin_port"):
        if not 0 <= getattr(options, name) < 65536:
            parser.error(f"{name.upper()} is not a port")
    return options


def _on_signal(number: int, frame: FrameType | None) -> None:
    raise Stop


def _validate(stack: Stack) -> int:
    stack.prepare()
    stack.publish(stack.document)
    stack.render()
    command = stack.envoy_command("--mode", "validate")
    sys.stdout.flush()
    stack.stop()  # frees the ports; Envoy ends by itself
    os.execv(command[0], command)


def _run(stack: Stack, document: Path) -> int:
    print("starting ...", flush=True)
    stack.start()
    _print_overview(stack, document)
    render = _log_lines(stack.watch())
    log = _log_lines(stack.envoy_log)
    next(log)  # the lines up to here are about the start
    told: dict[str, float] = {}
    content = stack.document
    while True:
        time.sleep(0.25)
        stack.check()
        if (saved := _saved(document)) not in (None, content):
            content = saved
            stack.follow(content)
        for line in next(render):
            print(f"document: {line.replace(str(stack.publisher.draft), str(document))}", flush=True)
        for line in next(log):
            if LOADER_LINE in line:
                print(f"loader: {line.split(LOADER_LINE, 1)[1]}", flush=True)
            if refusal := REFUSAL_LINE.search(line):
                _print_refusal(stack, refusal, told)


def _saved(document: Path) -> bytes | None:
    """The document, or None while an editor is between two steps."""
    try:
        return document.read_bytes()
    except OSError:
        return None


def _print_refusal(stack: Stack, refusal: re.Match[str], told: dict[str, float]) -> None:
    """Prints which account is refused, and the file to mend. `told` has the time at which each was printed last."""
    sentence, source, account = refusal.groups()
    now = time.monotonic()
    if now - told.get(sentence, -REFUSAL_SILENCE) < REFUSAL_SILENCE:
        return
    told[sentence] = now
    file = _credential(stack.document_path.read_bytes(), source, account)
    where = f" It is in {stack.credentials_dir / file}: rename a new file into its place." if file else ""
    print(f"account refused: {sentence}{where}", flush=True)


def _credential(document: bytes, source: str, account: str | None) -> str | None:
    """The file of an account's credential, as the document names it."""
    for group in json.loads(document)["groups"]:
        for each in group.get("accounts") or []:
            if (group["id"], each["id"]) == (source, account):
                return str(each["credential"])
    return None


def _accounts(document: bytes) -> list[str]:
    """A line for each source: its accounts in the order of their priorities."""
    lines = []
    for group in json.loads(document)["groups"]:
        accounts = group.get("accounts") or []
        tiers = sorted({account.get("priority", 0) for account in accounts})
        ids = [", ".join(a["id"] for a in accounts if a.get("priority", 0) == tier) for tier in tiers]
        if ids:
            lines.append(f"{group['id']}: {', then '.join(ids)}")
    return lines


def _print_overview(stack: Stack, document: Path) -> None:
    print("\ntrilane is ready\n")
    print(f"  gateway    {stack.base_url}   {stack.tls_url} (trust {stack.ca_file})")
    print(f"  admin      {stack.admin_url}")
    for source in SOURCES:
        if source in stack.sims:
            print(f"  simulator  http://{stack.sims[source]} ({source})")
    print(f"  document   {document.resolve()} (save it, and it takes effect)")
    accounts = _accounts(stack.document)
    for number, line in enumerate(accounts):
        print(f"  {'' if number else 'accounts':<10} {line}")
    if accounts:
        print(f"  {'':<10} (credentials in {stack.credentials_dir}: rename a new file into place, and it is used)")
    print(f"  processes  {', '.join(f'{name} {pid}' for name, pid in stack.pids.items())}")
    print(f"  ledger     {stack.access_log} (one line a request)")
    print(f"  logs       {stack.envoy_log}")
    if stack.sims:
        print(f"             {stack.simulator_log}")
    keys = demo.working_demo_keys(stack.document)
    if {"key_a", "key_b", "key_c"} <= keys.keys():
        print("\nkeys of the sample document\n")
        for value, group in keys.values():
            print(f"  {value:<27} {group}")
        print("\ntry (the second one streams)\n")
        for line in demo.curl_lines(stack.base_url, simulated=bool(stack.sims)):
            print(f"  {line}\n")
    else:
        print("\nuse a key of your document (it holds only their digests)\n")
    print("Ctrl-C ends everything.", flush=True)


def _log_lines(log: Path) -> Iterator[list[str]]:
    """At each step the lines of a log that are new since the last step."""
    with log.open(errors="replace") as stream:
        rest = ""
        while True:
            *lines, rest = (rest + stream.read()).split("\n")
            yield lines


if __name__ == "__main__":
    sys.exit(main())
