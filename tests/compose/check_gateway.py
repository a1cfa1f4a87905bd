"""The gateway as a newcomer meets it: three protocols, TLS, SDKs, credentials in files, what is in the logs."""

from __future__ import annotations

import json
import os
import shutil
import ssl
from typing import Any

import anthropic
import openai
from compose_page import Page
from compose_tools import (
    CHECKOUT,
    COMPOSE,
    CREDENTIALS,
    GATEWAY,
    LINES,
    TLS_PORT,
    check,
    clients,
    curl,
    demo,
    eventually,
    healthy,
    inspect,
    output,
    reaching,
    run,
    service,
    used,
)


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
    # The simulator's, as the demonstration makes one.
    made = ["run", "--rm", "--volume", f"{certs}:/out/certs", "--network=none", "--tmpfs", "/out:mode=1777"]
    run(["docker"], *made, inspect(service("gateway"))["Image"], "up", "--demo", "--check", "--data=/out")
    before = curl(f"{_secure(LINES[0])} --cacert {certs}/ca.crt")
    check("another authority is not trusted before", before.status == 0)
    page.run("TLS")
    eventually("the gateway is back", healthy("gateway"), 60)
    check("an own certificate: 200", curl(f"{_secure(LINES[0])} --cacert {certs}/ca.crt").status == 200)
    check("... and no longer the development one", curl(f"{_secure(LINES[0])} --cacert {CHECKOUT}/ca.crt").status == 0)


def _secure(line: str) -> str:
    return line.replace(GATEWAY, f"https://localhost:{TLS_PORT}", 1)


def credentials(page: Page) -> None:
    """By rename, without a lost request; and none, for which each worker loses one at most."""
    value = "simulated-credential-of-a-official-1"
    line = reaching(LINES[0], value)
    echo = f"{line} -H 'x-sim-echo: 1'"
    check("a conversation stays with its account", {used(echo) for _ in range(5)} == {value})
    put = "umask 077 && cat > /data/credentials/new && mv /data/credentials/new /data/credentials/a-official-1"
    with clients(line) as answers:
        page.run("Credentials")
        eventually("replaced by the page's command: used", lambda: used(echo) == "the-new-credential", 10)
    check(f"... and meanwhile {len(answers)} requests, each with {set(answers)}", set(answers) == {200})
    with clients(line) as answers:
        exec_gateway("sh", "-c", f"echo | ({put})")
        eventually("none in the file: another account's", lambda: used(echo) not in ("", "the-new-credential"), 10)
    lost = [status for status in answers if status != 200]
    check(f"... and meanwhile {len(answers)} requests, without an answer {lost}", len(lost) <= 2 and set(lost) <= {502})
    with clients(line) as answers:
        exec_gateway("sh", "-c", f"echo {value} | ({put})")
        eventually("the first one again: used again", lambda: used(echo) == value, 40)
    check(f"... and meanwhile {len(answers)} requests, each with {set(answers)}", set(answers) == {200})


def document_in_a_file(page: Page) -> None:
    """With the simulators of nobody: the file is in charge, an edit of it is taken, a broken one is not."""
    mine = CHECKOUT / "mine"
    mine.mkdir()
    file = mine / "gateway.json"
    sample = json.loads((CHECKOUT / "envoy" / "gateway.json").read_text())
    file.write_text(json.dumps(sample))
    shutil.copytree(CREDENTIALS, mine / CREDENTIALS.name)
    page.run("A document in a file")
    page.run("A document in a file")
    eventually("a gateway with a document in a file", healthy("gateway"), 120)
    check("... it knows its keys", curl(LINES[0].replace("trilane-demo-a", "wrong")).status == 401)
    answer = curl(LINES[0])
    check(
        f"... and says that nobody is there: {answer.status}",
        answer.status in (502, 503) and answer.json["error"]["message"],
    )
    check("... there is no console", curl(f"curl http://127.0.0.1:{os.environ['CONSOLE_PORT']}/healthz").status == 0)
    said = page.run("A document in a file")
    check("... the page's look at it finds no mistake", " good (" in said)
    (key,) = [key for key in sample["keys"] if key["id"] == "key_a"]
    key["disabled"] = True
    file.write_text(json.dumps(sample))
    eventually("an edit in place is in force", lambda: curl(LINES[0]).status == 401, 10)
    file.write_text("{ broken")
    eventually("a broken one is told", lambda: "error" in output("gateway"), 10)
    check("... and changes nothing", curl(LINES[0]).status == 401)


def logs(secrets: list[str]) -> None:
    """What reaches Docker: what `trilane up` says, and nothing secret."""
    text = output("gateway")
    check("logs: what is where", "trilane is ready" in text)
    text += "".join(output(name) for name in ("prometheus", "grafana"))
    text += exec_gateway("cat", "/data/run/envoy.log")
    check("logs: nothing critical", "[critical]" not in text)
    check("logs: no credential", "simulated-credential" not in text and "the-new-credential" not in text)
    check(
        "logs: no key that was made, no token, no credential of the console's",
        not any(secret in text for secret in secrets),
    )


def exec_gateway(*command: str) -> str:
    """In the gateway's container."""
    return run(COMPOSE, "exec", "-T", "gateway", *command)
