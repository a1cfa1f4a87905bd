"""The console of the stack: its link, keys that it makes and disables, what it publishes, who reaches it."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import httpx
from compose_page import Page
from compose_tools import CHECKOUT, COMPOSE, LINES, PORT, check, clients, curl, demo, eventually, output, reaching, run, used
from console_api import CONSOLE, call, publish, token, usage

#: Seconds in which what is disabled is refused: the feed's interval and the loader's, twice.
TWO_TICKS = 2.0


def console(page: Page) -> None:
    """As an admin meets it."""
    _sign_in(page)
    _keys(page)
    _documents()
    _credentials()
    _who_reaches_it()


def new_key() -> str:
    """The value of the key that the page's command made."""
    return str(json.loads((CHECKOUT / "key_new.json").read_text())["value"])


def _sign_in(page: Page) -> None:
    """By the link in the log, which is good once."""
    found = re.search(r"http://\S+", page.run("Starting it"))
    check("the log has a link that signs in", found and found[0].startswith(CONSOLE))
    assert found
    with httpx.Client(timeout=30, trust_env=False) as browser:
        check(
            "... without it there is nothing to see",
            "/sign-in" in browser.get(f"{CONSOLE}/keys").headers.get("location", ""),
        )
        asked = browser.get(found[0])
        (value,) = set(re.findall(r'name="token" value="([^"]+)"', asked.text))
        same = {"origin": CONSOLE, "sec-fetch-site": "same-origin"}
        signed = browser.post(f"{CONSOLE}/sign-in/link", data={"token": value}, headers=same)
        check(f"... it signs in: {signed.status_code}", signed.status_code == 303 and browser.cookies)
        check("... and asks for a password", browser.get(f"{CONSOLE}/me/password").status_code == 200)
    again = httpx.post(f"{CONSOLE}/sign-in/link", data={"token": value}, headers=same, timeout=30, trust_env=False)
    check("... once", not again.cookies)


def _keys(page: Page) -> None:
    """Made and disabled by the page's commands."""
    page.run("Keys")
    line = LINES[0].replace(demo.DEMO_KEYS["key_a"], new_key())
    eventually("a key made by the API is good at the gateway", lambda: curl(line).status == 200, TWO_TICKS)
    eventually("... and what it used is in the console", lambda: "key_new" in usage(), 20)
    page.run("Keys")
    eventually("disabled: refused", lambda: curl(line).status == 401, TWO_TICKS)
    held = {curl(line).status for _ in range(20)}
    check(f"... by every worker, each time {held}", held == {401})
    check("... while others go on", curl(LINES[0]).status == 200)


def _documents() -> None:
    """What is published is in force, without a lost request; what is wrong is not."""
    line = LINES[0]
    mixed = line.replace(demo.DEMO_KEYS["key_a"], demo.DEMO_KEYS["key_mixed"])
    check("key_mixed is good", curl(mixed).status != 401)

    def disable(document: dict[str, Any]) -> None:
        (key,) = [key for key in document["keys"] if key["id"] == "key_mixed"]
        key["disabled"] = not key.get("disabled", False)

    with clients(line) as answers:
        answer = publish(disable)
        check(f"a version is published: {answer.status_code}", answer.status_code == 201)
        eventually("... key_mixed is disabled by it", lambda: curl(mixed).status == 401, 15)
        answer = publish(lambda document: document["groups"][0].update(multiplier="much"))
        check(
            f"one with a mistake is not: {answer.status_code}",
            400 <= answer.status_code < 500 and "multiplier" in answer.text,
        )
        check("publish again", publish(disable).status_code == 201)
        eventually("... key_mixed is good again", lambda: curl(mixed).status != 401, 15)
    check(
        f"... and meanwhile {len(answers)} requests, each with {set(answers)}",
        set(answers) == {200} and len(answers) > 20,
    )


def _credentials() -> None:
    """Given to the console, used at the account, sealed in between."""
    line = reaching(LINES[0], "simulated-credential-of-a-official-1")
    echo = f"{line} -H 'x-sim-echo: 1'"
    given = "credential-given-to-the-console"
    answer = call("PUT", "/credentials/a-official-1", {"value": given})
    check(f"a credential is given to the console: {answer.status_code}", answer.status_code in (200, 201, 204))
    check("... which does not show it", given not in call("GET", "/credentials").text)
    eventually("... it is used", lambda: used(echo) == given, 20)
    said = run(COMPOSE, "exec", "-T", "gateway", "sh", "-c", f"grep -l {given} /data/console/* || echo nowhere")
    check("... and is not in the database as it is", said.strip() == "nowhere")


def _who_reaches_it() -> None:
    """The host by loopback, and no other container."""
    check("the host does", httpx.get(f"{CONSOLE}/healthz", trust_env=False).status_code == 200)
    ask = "wget -q -T 5 -t 1 -O - http://gateway:{} 2>&1 && echo reached || true"
    port = os.environ["CONSOLE_PORT"]
    said = run(COMPOSE, "exec", "-T", "prometheus", "sh", "-c", ask.format(f"{PORT}/healthz"))
    check("another container reaches the gateway", "reached" in said)
    said = run(COMPOSE, "exec", "-T", "prometheus", "sh", "-c", ask.format(f"{port}/healthz"))
    check("... and not the console", "reached" not in said)
    eventually("... which says so", lambda: "may connect" in output("gateway"), 5)


def secrets() -> list[str]:
    """What is to be found nowhere: the admin's token, the key that was made, the credential that was given."""
    return [token(), new_key(), "credential-given-to-the-console"]
