#!/usr/bin/env python3
"""`make run`: the gateway on this machine, until Ctrl-C.

Starts the simulator and Envoy, says how to talk to them, and keeps the published document equal to the
file it came from, so that saving the file is all it takes to change the configuration.
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
#: What the filter says of an account that its vendor refused: a sentence, and what to do.
REFUSAL_LINE = re.compile(
    r" wasm log trilane gateway trilane: (source (\S+): (?:account (\S+)|the account of cluster \S+) was refused by .*)"
)
#: For how many seconds a refusal is not printed again: each of Envoy's workers tells of it once in this time.
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
            # Envoy only reads, then: any port will do.
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
                signal.signal(number, signal.SIG_IGN)  # impatience must not leave a process behind
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
    stack.render()
    command = stack.envoy_command("--mode", "validate")
    sys.stdout.flush()
    stack.stop()  # frees the ports; Envoy ends by itself
    os.execv(command[0], command)


def _run(stack: Stack, document: Path) -> int:
    print("starting ...", flush=True)
    stack.start()
    _print_overview(stack, document)
    follow = _changes(document, stack.document)
    log = _log_lines(stack.envoy_log)
    next(log)  # what was said up to here concerns the start
    told: dict[str, float] = {}
    while True:
        time.sleep(0.25)
        stack.check()
        content = next(follow)
        if content is not None:
            _publish(stack, document, content)
        for line in next(log):
            if LOADER_LINE in line:
                print(f"loader: {line.split(LOADER_LINE, 1)[1]}", flush=True)
            if refusal := REFUSAL_LINE.search(line):
                _print_refusal(stack, refusal, told)


def _publish(stack: Stack, document: Path, content: bytes) -> None:
    try:
        stack.publish(content)
    except StackError as error:
        print(f"document: {document} has changed. {error}", flush=True)
    else:
        print(f"document: {document} has changed and is published", flush=True)
        _print_remarks(stack)


def _print_remarks(stack: Stack) -> None:
    """What is amiss with the accounts, though not so much that nothing works: a credential that is not there."""
    for line in stack.rendered.splitlines():
        if line.startswith(("warning: ", "note: ")):
            print(f"accounts: {line}", flush=True)


def _print_refusal(stack: Stack, refusal: re.Match[str], told: dict[str, float]) -> None:
    """Which account is refused, and the file to mend; `told` is when each was printed last."""
    sentence, source, account = refusal.groups()
    now = time.monotonic()
    if now - told.get(sentence, -REFUSAL_SILENCE) < REFUSAL_SILENCE:
        return
    told[sentence] = now
    file = _credential(stack.document, source, account)
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
    """A line a source: its accounts, the ones that are asked first before those that stand in."""
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
    _print_remarks(stack)


def _changes(path: Path, content: bytes) -> Iterator[bytes | None]:
    """At each step the new content of the file, or None.

    An editor may write in several steps: a change counts only when the file looks the same twice.
    """
    seen = settled = _looks(path)
    while True:
        now = _looks(path)
        if now is not None and now == seen and now != settled:
            settled = now
            try:
                read = path.read_bytes()
            except OSError:
                read = content
            changed, content = read != content, read
            yield content if changed else None
        else:
            yield None
        seen = now


def _looks(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None  # an editor is between two steps
    return status.st_ino, status.st_size, status.st_mtime_ns


def _log_lines(log: Path) -> Iterator[list[str]]:
    """At each step what Envoy has logged since the last one."""
    with log.open(errors="replace") as stream:
        rest = ""
        while True:
            *lines, rest = (rest + stream.read()).split("\n")
            yield lines


if __name__ == "__main__":
    sys.exit(main())
