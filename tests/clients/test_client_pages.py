"""Each page of docs/clients, done as it is written, on a real gateway with the simulator behind it."""

from __future__ import annotations

import collections
import dataclasses
import fnmatch
import hashlib
import json
import re
import shutil
import urllib.request
from collections.abc import Iterator
from typing import Any, Mapping

import pytest
from client_traffic import Traffic
from demo import DEMO_KEYS
from elsewhere import Elsewhere
from page_runner import ADDRESS, Ran, Reader, looks_like
from pages import blocks
from ports import free_port
from stack import HERE, SAMPLE_DOCUMENT, TARGET, Stack

PAGES = HERE.parent / "docs" / "clients"
INSTALLED = TARGET / "clients"
#: What the pages call the port of claude-code-router.
ROUTER_PORT = "3456"
#: The key of the pages.
KEY = DEMO_KEYS["key_mixed"]
#: Clients whose pages say that they wait for a rate.
PATIENT = ("claude-code", "gemini-cli", "openai-sdk", "anthropic-sdk", "ai-sdk", "langchain-js")
#: Requests a minute of a slow key: once these are used up, each client waits for some seconds.
SLOW = 4


@dataclasses.dataclass(frozen=True)
class Client:
    """What must come of a page, beyond what it says itself."""

    #: How the user agent of each request to a source begins: one of these.
    agents: tuple[str, ...]
    #: Everything that sources must have seen: source and path.
    seen: set[tuple[str, str]]
    #: All models that the ledger has for it.
    models: set[str]
    #: How often the gateway refused, by status: at least and at most.
    refused: Mapping[int, tuple[int, int]]
    #: What the ledger says of the usage, of all requests that were answered.
    usage: set[str] = dataclasses.field(default_factory=lambda: {"complete"})
    #: Whether commands under "Errors" end with a status other than 0.
    fails: bool = True
    #: Where else it wants to go, although the page turns off what can be turned off: patterns.
    elsewhere: tuple[str, ...] = ()


RESPONSES = ("a_official", "/v1/responses")
CHAT = ("a_official", "/v1/chat/completions")
MESSAGES = ("b_official", "/v1/messages")
COUNT = ("b_official", "/v1/messages/count_tokens")
FLASH = ("c_official", "/v1beta/models/gemini-2.5-flash:generateContent")
FLASH_STREAM = ("c_official", "/v1beta/models/gemini-2.5-flash:streamGenerateContent")
THREE = {"gpt-5.1", "claude-opus-4-5", "gemini-2.5-flash"}


def times(least: int, most: int = 0) -> tuple[int, int]:
    return least, most or least


CLIENTS = {
    "claude-code": Client(
        ("claude-cli/2.1.330",),
        {MESSAGES, COUNT},
        {"claude-opus-4-5"},
        {401: times(2), 403: times(1), 404: times(2), 429: times(1)},
        usage={"complete", "none"},
    ),
    "codex": Client(
        ("codex_exec/0.169.0",), {RESPONSES}, {"gpt-5.1-codex"}, {401: times(6), 404: times(1), 429: times(1)}
    ),
    "gemini-cli": Client(
        ("GeminiCLI",), {FLASH_STREAM}, {"gemini-2.5-flash"}, {401: times(1), 404: times(1), 429: times(1)}
    ),
    "opencode": Client(
        ("opencode/1.18.33",),
        {MESSAGES, RESPONSES, FLASH_STREAM},
        THREE | {"claude-haiku-4-5"},
        # The requests for a title run beside the others, and may be cut short.
        {401: times(2, 4), 404: times(1), 429: times(2, 9)},
        elsewhere=("registry.*:443",),  # of npm
    ),
    "aider": Client(
        ("OpenAI/Python", "litellm/"),
        {CHAT, MESSAGES, FLASH_STREAM},
        THREE,
        {401: times(1), 404: times(1), 429: times(9)},
        usage={"complete"},
        fails=False,
        elsewhere=("raw.githubusercontent.com:443",),
    ),
    "claude-code-router": Client(
        ("claude-cli/2.1.330", "node"),
        {CHAT, MESSAGES, FLASH_STREAM},
        THREE,
        {401: times(1), 404: times(2), 429: times(1)},
        usage={"complete"},
        fails=False,  # the last command of each block ends the service
    ),
    "openai-sdk": Client(
        ("OpenAI/Python 3.54.0", "OpenAI/JS 7.57.0"),
        {RESPONSES, CHAT},
        {"gpt-5.1"},
        {401: times(2), 404: times(2), 429: times(2)},
    ),
    "anthropic-sdk": Client(
        ("Anthropic/Python 2.12.0", "Anthropic/JS 1.12.0"),
        {MESSAGES, COUNT},
        {"claude-opus-4-5"},
        {401: times(3), 404: times(2), 429: times(2)},
        usage={"complete", "none"},
    ),
    "google-genai-sdk": Client(
        ("google-genai-sdk/3.4.0", "google-genai-sdk/3.1.0"),
        {FLASH, FLASH_STREAM},
        {"gemini-2.5-flash"},
        {401: times(2), 404: times(3), 429: times(2)},
    ),
    "llm": Client(
        ("OpenAI/Python 3.54.0", "Anthropic/Python 1.17.0"),
        {RESPONSES, MESSAGES},
        {"gpt-5.1", "gpt-5.1-codex", "claude-opus-4-5"},
        {401: times(2), 404: times(1), 429: times(2)},
    ),
    "langchain": Client(
        ("OpenAI/Python 3.54.0", "langchain-anthropic/1.7.7", "google-genai-sdk/2.34.0"),
        {CHAT, MESSAGES, FLASH, FLASH_STREAM},
        THREE,
        {401: times(4), 404: times(3), 429: times(8)},
    ),
    "pydantic-ai": Client(
        ("pydantic-ai/2.68.0", "google-genai-sdk/2.34.0"),
        {RESPONSES, CHAT, MESSAGES, FLASH, FLASH_STREAM},
        THREE,
        {401: times(4), 404: times(3), 429: times(3)},
    ),
    "openai-agents": Client(
        ("Agents/Python 0.24.0",), {RESPONSES}, {"gpt-5.1"}, {401: times(1), 404: times(1), 429: times(1)}
    ),
    "google-adk": Client(
        ("google-genai-sdk/2.34.0",),
        {FLASH, FLASH_STREAM},
        {"gemini-2.5-flash"},
        {401: times(1), 404: times(1), 429: times(1)},
    ),
    "litellm": Client(
        ("OpenAI/Python 2.54.0", "litellm/1.106.2"),
        {CHAT, MESSAGES, FLASH, FLASH_STREAM},
        THREE,
        {401: times(3), 404: times(3), 429: times(3)},
    ),
    "llama-index": Client(
        ("OpenAI/Python 2.54.0", "llama-index/0.14.25", "google-genai-sdk/2.34.0"),
        {CHAT, MESSAGES, FLASH, FLASH_STREAM},
        THREE,
        {401: times(3), 404: times(3), 429: times(3)},
    ),
    "ai-sdk": Client(
        ("ai/7.0.173 ", "ai-sdk-"),
        {RESPONSES, CHAT, MESSAGES, FLASH, FLASH_STREAM},
        THREE,
        {401: times(2), 404: times(3), 429: times(3)},
    ),
    "langchain-js": Client(
        ("langchainjs-openai/", "OpenAI/JS", "Anthropic/JS", "node"),
        {RESPONSES, CHAT, MESSAGES, FLASH, FLASH_STREAM},
        THREE,
        {401: times(2), 404: times(3), 429: times(1)},
    ),
    "qwen-code": Client(
        ("QwenCode/0.24.4", "OpenAI/JS", "Anthropic/JS", "claude-cli/", "google-genai-sdk/"),
        {RESPONSES, CHAT, MESSAGES, FLASH_STREAM},
        THREE,
        {401: times(1), 404: times(1), 429: times(1, 9)},
    ),
    "pi": Client(
        ("pi (", "OpenAI/JS"),
        {RESPONSES, MESSAGES, FLASH_STREAM},
        THREE,
        {401: times(1), 404: times(1), 429: times(1)},
    ),
    "copilot-cli": Client(
        ("OpenAI/JS", "Anthropic/JS"),
        {RESPONSES, CHAT, MESSAGES},
        {"gpt-5.1", "claude-opus-4-5"},
        {401: times(1), 404: times(1), 429: times(1)},
    ),
    "continue": Client(
        ("ls/JS", "OpenAI/JS", "node-fetch"),
        {RESPONSES, MESSAGES},
        {"gpt-5.1", "claude-opus-4-5"},
        {401: times(1), 404: times(1), 429: times(1, 9)},
    ),
    "cline": Client(
        ("ai-sdk/openai-compatible/",),
        {CHAT},
        {"gpt-5.1"},
        {401: times(1), 404: times(1), 429: times(1, 9)},
        elsewhere=("data.cline.bot:443",),
    ),
}


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def sample_with_limits() -> dict[str, Any]:
    """The sample with the groups and keys that the index tells its reader to add, and slow keys."""
    document: dict[str, Any] = json.loads(SAMPLE_DOCUMENT.read_bytes())
    for added in (json.loads(block.text) for block in blocks(page("README"), "json")):
        document["groups" if "protocol" in added else "keys"].append(added)
    limits = {"requests_per_minute": SLOW}
    for name in PATIENT:
        digest = hashlib.sha256(slow_key(name).encode()).hexdigest()
        document["keys"].append({"id": f"slow-{name}", "sha256": digest, "group": "mixed", "limits": limits})
    return document


def slow_key(name: str) -> str:
    return f"trilane-test-slow-{name}"


@pytest.fixture(scope="module")
def gateway() -> Iterator[Stack]:
    with Stack(TARGET / "e2e" / "clients", document=sample_with_limits()) as running:
        yield running


@pytest.fixture(scope="module")
def spent(gateway: Stack) -> None:
    """Does what the index says: the budget is spent."""
    ran, _ = read("README", gateway)
    assert [each.heading for each in ran] == ["The key's group", "Limits", "Limits"]
    for each in ran:
        judge(each, fails=False)


def read(name: str, gateway: Stack, key: str = KEY) -> tuple[list[Ran], list[str]]:
    """Does what a page says. What was run, and where it wanted to go besides the gateway.

    With another key than the page's it is not read further than to its errors.
    """
    root = INSTALLED / "homes" / name
    shutil.rmtree(root, ignore_errors=True)
    replaced = {ADDRESS: gateway.base_url, ROUTER_PORT: str(free_port()), KEY: key}
    text = page(name) if key == KEY else page(name).split("\n## Errors\n")[0]
    if name == "README":  # its JSON is for the document, not a file of the reader's
        text = text.replace("```json", "```text")
    with Elsewhere() as elsewhere, Reader(root, INSTALLED, replaced, elsewhere.url) as reader:
        return list(reader.read(text)), elsewhere.noted


def judge(ran: Ran, fails: bool) -> None:
    told = f"{ran.script}\nended with {ran.status} and said:\n{ran.output}"
    assert (ran.status != 0) == (fails and ran.heading == "Errors"), told
    if ran.wanted is not None:
        assert looks_like(ran.output, ran.wanted), f"{told}\n-- and not:\n{ran.wanted}"


@pytest.mark.parametrize("name", CLIENTS)
def test_page(name: str, gateway: Stack, spent: None) -> None:
    client = CLIENTS[name]
    traffic = Traffic(gateway)
    ran, elsewhere = read(name, gateway)
    for each in ran:
        judge(each, client.fails)
    strange = [place for place in elsewhere if not any(fnmatch.fnmatch(place, known) for known in client.elsewhere)]
    assert not strange

    requests = traffic.requests()
    assert {(each.source, each.path) for each in requests} == client.seen
    for each in requests:
        assert each.agent.startswith(client.agents), each.agent
        assert not [key for key in DEMO_KEYS.values() if key in each.headers], "the source got the key"
    for _, path in client.seen - {COUNT}:
        bodies = [each.body for each in requests if each.path == path]
        assert any(body is None or "Hello" in body for body in bodies), path

    records = traffic.records()
    answered = [each for each in records if each["trilane.outcome"] == "finished"]
    assert len(answered) == len(requests)
    assert {each["trilane.model"] for each in answered} == client.models
    assert {each["trilane.usage.status"] for each in answered} == client.usage
    refused = collections.Counter(
        each["http.response.status_code"] for each in records if each["trilane.outcome"] == "refused"
    )
    assert set(refused) == set(client.refused), refused
    for status, (least, most) in client.refused.items():
        assert least <= refused[status] <= most, refused


@pytest.mark.parametrize("name", PATIENT)
def test_a_rate_is_waited_for(name: str, gateway: Stack) -> None:
    hello = json.dumps({"model": "gpt-5.1", "messages": [{"role": "user", "content": "Hello"}]}).encode()
    headers = {"authorization": f"Bearer {slow_key(name)}", "content-type": "application/json"}
    request = urllib.request.Request(f"{gateway.base_url}/v1/chat/completions", hello, headers)
    for _ in range(SLOW):
        urllib.request.urlopen(request, timeout=10).close()
    traffic = Traffic(gateway)
    ran, _ = read(name, gateway, slow_key(name))
    for each in ran:
        judge(each, fails=False)
    statuses = collections.Counter(each["http.response.status_code"] for each in traffic.records())
    assert statuses[429] > 0 and set(statuses) == {200, 429}, statuses


def test_index_names_every_page() -> None:
    pages = {each.stem for each in PAGES.glob("*.md")} - {"README"}
    assert pages == set(CLIENTS)
    for name in pages:
        assert f"| [{name}]({name}.md) |" in page("README"), name


@pytest.mark.parametrize("name", [*CLIENTS, "README"])
def test_links_lead_somewhere(name: str) -> None:
    for place, section in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page(name)):
        target = PAGES / place if place else PAGES / f"{name}.md"
        assert target.exists(), place
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not section or section in slugs, f"{place}#{section}"
