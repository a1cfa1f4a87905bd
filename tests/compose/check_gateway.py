"""The gateway as a newcomer meets it: three protocols, TLS, SDKs, edits of the document, accounts and credentials."""

from __future__ import annotations

import hashlib
import json
import ssl
import time
from typing import Any

import anthropic
import openai
from compose_page import Page
from compose_tools import (
    CHECKOUT,
    COMPOSE,
    CREDENTIALS,
    DOCUMENT,
    GATEWAY,
    LINES,
    TLS_PORT,
    check,
    clients,
    curl,
    demo,
    edit,
    eventually,
    healthy,
    inspect,
    ledger,
    output,
    replace,
    run,
    service,
    used,
)

IN_FORCE = "/etc/trilane/document/gateway.json"
SECRETS = "/etc/trilane/upstreams/secrets"


def three_lines() -> None:
    """What `make run` prints, word for word."""
    answer = curl(LINES[0], show=True)
    check(
        "A: 200, a chat completion, from a_official",
        answer.status == 200
        and answer.json.get("object") == "chat.completion"
        and answer.json["choices"][0]["message"]["content"]
        and answer.headers.get("x-sim-upstream") == "a_official",
    )
    answer = curl(LINES[1], show=True)
    events = [line[7:] for line in answer.body.splitlines() if line.startswith("event: ")]
    check(
        "B: 200, a whole event stream, from b_official",
        answer.status == 200
        and answer.headers.get("content-type", "").startswith("text/event-stream")
        and events[:1] == ["message_start"]
        and events[-1:] == ["message_stop"]
        and answer.headers.get("x-sim-upstream") == "b_official",
    )
    # Eleven pauses of 200 ms in the simulator; a gateway that held the stream back would give it in one go.
    check(
        f"B: the stream came bit by bit ({answer.seconds - answer.first_byte:.1f} s after its first byte)",
        answer.seconds - answer.first_byte > 1.0,
    )
    answer = curl(LINES[2], show=True)
    check(
        "C: 200, candidates, from c_official",
        answer.status == 200
        and answer.json["candidates"][0]["content"]["parts"]
        and answer.headers.get("x-sim-upstream") == "c_official",
    )
    answer = curl(LINES[0].replace(demo.DEMO_KEYS["key_a"], "wrong"))
    check("a wrong key: 401", answer.status == 401 and "error" in answer.json)


def tls(page: Page) -> None:
    """The TLS listener with the certificate that was made at start, for curl and for SDKs."""
    page.run("TLS")
    authority = CHECKOUT / "ca.crt"
    answer = curl(f"{_secure(LINES[0])} --cacert {authority}")
    check("TLS with the development certificate: 200, HTTP/2", answer.status == 200 and answer.version == "2")
    _sdks(str(authority))


def _sdks(authority: str) -> None:
    """The official ones, a whole answer and a stream."""
    trusting = ssl.create_default_context(cafile=authority)
    hello: Any = [{"role": "user", "content": "Hello"}]
    url = f"https://localhost:{TLS_PORT}"
    client: Any = openai.DefaultHttpxClient(verify=trusting, trust_env=False)
    a = openai.OpenAI(base_url=f"{url}/v1", api_key=demo.DEMO_KEYS["key_a"], http_client=client, max_retries=0)
    said = a.chat.completions.create(model="gpt-5.1", messages=hello).choices[0].message.content
    check(f"the SDK of protocol A, Chat Completions: {said!r}", said)
    kinds = [event.type for event in a.responses.create(model="gpt-5.1", input="Hello", stream=True)]
    check(
        f"... Responses, a stream of {len(kinds)} events",
        kinds[0] == "response.created" and kinds[-1] == "response.completed",
    )
    models = [model.id for model in a.models.list()]
    check(f"... {len(models)} models", "gpt-5.1" in models)
    try:
        a.with_options(api_key="wrong").models.list()
        refused = False
    except openai.AuthenticationError:
        refused = True
    check("... a wrong key: AuthenticationError", refused)
    client = anthropic.DefaultHttpxClient(verify=trusting, trust_env=False)
    b = anthropic.Anthropic(base_url=url, api_key=demo.DEMO_KEYS["key_b"], http_client=client, max_retries=0)
    with b.messages.stream(model="claude-opus-4-5", max_tokens=64, messages=hello) as stream:
        text = "".join(stream.text_stream)
    check(f"the SDK of protocol B, a stream: {text!r}", text)


def own_certificate(page: Page) -> None:
    """One of the operator's own in the place of the development certificate."""
    certs = CHECKOUT / "certs"
    certs.mkdir()
    certs.chmod(0o777)  # written by the container's user, as is right for the key
    out = ["--volume", f"{certs}:/out", "certificate", "certificate", "--out", "/out"]
    run(COMPOSE, "run", "--rm", "-T", "--no-deps", *out)
    before = curl(f"{_secure(LINES[0])} --cacert {certs}/ca.crt")
    check("another authority is not trusted before", before.status == 0)
    page.run("TLS")
    eventually("the gateway is back", healthy("envoy"), 60)
    check("an own certificate: 200", curl(f"{_secure(LINES[0])} --cacert {certs}/ca.crt").status == 200)
    check("... and no longer the development one", curl(f"{_secure(LINES[0])} --cacert {CHECKOUT}/ca.crt").status == 0)


def _secure(line: str) -> str:
    return line.replace(GATEWAY, f"https://localhost:{TLS_PORT}", 1)


def document(page: Page) -> None:
    """A new key by the command; edits in place and by rename: taken at once, held, and refused when broken."""
    line = LINES[0]
    before = DOCUMENT.read_bytes()
    page.run("Changing the document")
    key = (CHECKOUT / "key_new.txt").read_text().strip()
    check(
        "the page's command made a key, whose value is not in the document",
        key.startswith("tl-") and key not in DOCUMENT.read_text(),
    )
    other = line.replace(demo.DEMO_KEYS["key_a"], key)
    eventually("... it is good", lambda: curl(other).status == 200, 10)
    said = page.run("Changing the document")
    check("... and the page's look at it finds nothing wrong", "error" not in said)
    replace(DOCUMENT, before)
    eventually("... and no longer, once it is out of the document", lambda: curl(other).status == 401, 10)

    original = DOCUMENT.read_bytes()
    changed = json.loads(original)
    digest = hashlib.sha256(demo.DEMO_KEYS["key_a"].encode()).hexdigest()
    (key,) = [key for key in changed["keys"] if key.get("sha256") == digest]
    key["disabled"] = True
    check("in force is a copy of the document", in_force() == original)
    edit(json.dumps(changed).encode())
    eventually("key_a disabled by an edit in place: refused", lambda: curl(line).status in (401, 403), 10)
    held = [curl(line).status for _ in range(20)]
    check(f"... by every worker, each time {set(held)}", set(held) <= {401, 403})
    check("in force is the edited one", in_force() == DOCUMENT.read_bytes())
    said = refusals()
    edit(b"{ broken")
    eventually("a broken document: the render service says so", lambda: refusals() > said, 10)
    time.sleep(2)
    check("... and nothing changes", curl(line).status in (401, 403) and in_force() == json.dumps(changed).encode())
    replace(DOCUMENT, original)
    eventually("the original document again, by rename: accepted", lambda: curl(line).status == 200, 10)
    held = [curl(line).status for _ in range(20)]
    check(f"... by every worker, each time {set(held)}", set(held) == {200})


def accounts(page: Page) -> None:
    """Credentials by rename, an account that fails, an account that moves; and each time no request is lost."""
    line = LINES[0]
    echo = f"{line} -H 'x-sim-echo: 1'"
    value = used(echo)
    check(f"the upstream got an account's credential, {value}", value.startswith("simulated-credential-of-a-official-"))
    account = value.removeprefix("simulated-credential-of-")
    file = CREDENTIALS / account

    first = CREDENTIALS / "a-official-1"
    kept = first.read_bytes()
    page.run("Credentials")
    check(
        "the page's command changes a credential", first.read_bytes() != kept and first.stat().st_mode & 0o777 == 0o644
    )
    replace(first, kept)
    with clients(line) as answers:
        replace(file, b"rotated-credential\n")
        eventually("a credential replaced by rename: used", lambda: used(echo) == "rotated-credential", 3)
        held = {used(echo) for _ in range(20)}
        check(f"... by every worker, each time {held}", held == {"rotated-credential"})
        replace(file, b"\n")
        eventually(
            "no credential in the file: another account's", lambda: used(echo) not in ("", "rotated-credential"), 3
        )
        replace(file, f"{value}\n".encode())
        eventually("the first credential again: used again", lambda: used(echo) == value, 40)
    check(
        f"... and meanwhile {len(answers)} requests, each with {set(answers)}",
        set(answers) == {200} and len(answers) > 20,
    )

    original = DOCUMENT.read_bytes()
    changed = json.loads(original)
    (group,) = [group for group in changed["groups"] if group["id"] == "a-official"]
    (failing,) = [one for one in group["accounts"] if one["id"] == account]
    failing["url"] = "http://upstream:9199"
    with clients(line) as answers:
        edit(json.dumps(changed).encode())
        eventually(
            f"{account} at a port where nobody listens: another account's", lambda: used(echo) not in ("", value), 10
        )
        edit(original)
        eventually("the original document again: its own", lambda: used(echo) == value, 40)
    check(
        f"... and meanwhile {len(answers)} requests, each with {set(answers)}",
        set(answers) == {200} and len(answers) > 20,
    )
    for kind in ("no_credential", "connection"):
        what = f"the ledger has the tries at it that failed ({kind}), and who answered instead"  # written every ten seconds
        eventually(what, lambda kind=kind: failed_over(account, kind), 20)

    # One more account, in a group that is new: its cluster must come before the document and go after it.
    changed = json.loads(original)
    changed["groups"].append({**group, "id": "a-new", "accounts": [{**failing, "url": "http://upstream:9103"}]})
    (key,) = [key for key in changed["keys"] if key["id"] == "key_a"]
    key["group"] = "a-new"
    secret = f"a-new.{failing['id']}.json"
    with clients(line) as answers:
        edit(json.dumps(changed).encode())
        eventually(
            "a new group with an account: served", lambda: curl(line).headers.get("x-sim-upstream") == "b_low_rate", 10
        )
        check("... by its secret", secret in secrets())
        edit(original)
        eventually("the original document again", lambda: curl(line).headers.get("x-sim-upstream") == "a_official", 10)
        eventually("... and what the group left over goes", lambda: secret not in secrets(), 10)
    check(
        f"... and meanwhile {len(answers)} requests, each with {set(answers)}",
        set(answers) == {200} and len(answers) > 20,
    )


def renderer() -> None:
    """It ends when it is asked to."""
    container = service("render")
    run(COMPOSE, "stop", "render")
    state = inspect(container)["State"]
    check("render stops by itself, with 0", state["ExitCode"] == 0 and not state["OOMKilled"])
    run(COMPOSE, "start", "render")
    eventually("render is healthy", healthy("render"), 60)


def logs() -> None:
    """Envoy's own log and the access log reach Docker."""
    text = output("envoy")
    check("logs: access log lines", '"url.path":"/v1/chat/completions"' in text)
    check("logs: nothing critical", "[critical]" not in text)
    text += "".join(output(name) for name in ("render", "upstream", "prometheus", "grafana"))
    check("logs: no key", not any(value in text for value in demo.DEMO_KEYS.values()))
    check("logs: no credential", "simulated-credential" not in text and "rotated-credential" not in text)


def in_force() -> bytes:
    """The document as Envoy has it."""
    return run(COMPOSE, "exec", "-T", "envoy", "cat", IN_FORCE).encode()


def secrets() -> list[str]:
    """The files of secrets."""
    return run(COMPOSE, "exec", "-T", "envoy", "ls", SECRETS).split()


def refusals() -> int:
    """How often the render service has refused something."""
    return output("render").count("error: ")


def failed_over(account: str, kind: str) -> bool:
    """Is there a line about a try that failed like this, and are all of them about requests that another answered?"""
    lines = [
        line
        for line in ledger()
        if any((one["account"], one["kind"]) == (account, kind) for one in line.get("trilane.tries.failed", ()))
    ]
    return bool(lines) and all(line["trilane.account"] != account for line in lines)
