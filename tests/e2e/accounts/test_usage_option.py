"""An account that refuses `stream_options`, which the gateway puts in for the usage: it is asked without it, and known for it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import httpx
import openai
import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.accounts.document import account
from e2e.accounts.operations import BY_NAME
from e2e.accounts.own_groups import document_of, group_of, headers_of
from e2e.accounts.scripted import Answer, ScriptedAccount

CHATS = BY_NAME["chat-stream"]
REFUSES = '{"error":{"message":"Unknown parameter: \'stream_options\'.","type":"invalid_request_error","param":"stream_options","code":"unknown_parameter"}}'
CHUNKS = Answer.events(b'data: {"id":"x","object":"chat.completion.chunk","model":"gpt-5.1","choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
#: Without the option, which the operations of the other tests send.
MESSAGE = {"model": json.loads(CHATS.request()[1])["model"], "messages": [{"role": "user", "content": "hi"}]}
_NUMBERS = itertools.count()


class Refusing(ScriptedAccount):
    """Refuses the option, and answers those who do not send it."""

    def __init__(self) -> None:
        super().__init__(CHUNKS)

    @property
    def answer(self) -> Answer:
        return Answer.json(400, REFUSES) if b"stream_options" in self.bodies[-1] else CHUNKS

    @answer.setter
    def answer(self, _: Answer) -> None:
        pass


def _group(*accounts: dict[str, Any]) -> dict[str, Any]:
    return group_of(f"usage-option-{next(_NUMBERS)}", "A", list(accounts), clients="current")


class Client:
    """Asks a group for streams."""

    def __init__(self, desk: Desk, group: dict[str, Any]) -> None:
        self._desk, self._group = desk, group
        desk.publish(document_of(group))

    def ask(self, sent: bytes) -> tuple[httpx.Response, dict[str, Any]]:
        """The answer, and its line of the ledger."""
        headers = {**headers_of(self._group, CHATS), "content-type": "application/json"}
        answer = self._desk.http.post(CHATS.path(""), content=sent, headers=headers)
        return answer, self._desk.ledger.of_request(answer.headers["x-request-id"])


@pytest.mark.parametrize("count", [1, 2])
def test_it_is_asked_without_it(accounts: Desk, count: int) -> None:
    with Refusing() as one, Refusing() as two:
        all_of_it = [account("A", "a1", 0, id="one", url=one.url), account("A", "a2", 1, id="two", url=two.url)]
        client, body = Client(accounts, _group(*all_of_it[:count])), json.dumps({**MESSAGE, "stream": True}).encode()
        for number in range(3):
            got, record = client.ask(body)
            assert got.status_code == 200 and b"ok" in got.content, (number, got.text)
            assert record["trilane.usage.status"] == "estimated" and record["trilane.account"] == "one", (number, record)
            assert record["trilane.tries"] == 1 and "trilane.tries.failed" not in record, (number, record)
            assert one.bodies[-1] == body, (number, "without the option it is what the client sent")
            assert len(one.bodies) == number + 2 and not two.bodies, "the first one is asked twice, as nothing is known of it"
        own = json.dumps({**json.loads(body), "stream_options": {"include_usage": True}}).encode()
        got, record = client.ask(own)
        assert (got.status_code, got.text) == (400, REFUSES), "who sends it gets the vendor's own words"
        assert len(one.bodies) == 5 and not two.bodies


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-renamed"])
@pytest.mark.parametrize(
    ("case", "body"),
    [
        ("the option in front", '{"stream_options":{},"stream":true,"messages":[],"model":"%s"}'),
        ("beside another", '{"stream_options": {"include_obfuscation":false } ,"stream":true,"model":"%s"}'),
        ("false", '{"model":"%s","stream":true,"stream_options":{"include_usage": false},"messages":[]}'),
        ("null", '{"model":"%s","stream":true,"stream_options": null,"messages":[]}'),
        ("a long body", '{"stream":true,"model":"%s","messages":[{"role":"user","content":"LONG"}]} '),
    ],
)
def test_the_client_s_body_comes_back(accounts: Desk, case: str, body: str, model: str, status: int) -> None:
    class Strict(Refusing):
        @property
        def answer(self) -> Answer:
            return Answer.json(status, REFUSES) if self.asked == 1 else CHUNKS

        @answer.setter
        def answer(self, _: Answer) -> None:
            pass

    with Strict() as one:
        body = body.replace("LONG", "x" * 700_000)
        client = Client(accounts, _group(account("A", "a1", 0, id="one", url=one.url)))
        got, _ = client.ask((body % model).encode())
        assert got.status_code == 200, (case, got.text)
        upstream = {"gpt-renamed": "gpt-upstream-2026"}.get(model, model)
        assert one.bodies[0] != one.bodies[1] and one.bodies[1] == (body % upstream).encode(), case
        assert json.loads(one.bodies[0])["stream_options"]["include_usage"] is True, case


@pytest.mark.parametrize("count", [1, 2])
def test_who_takes_it_is_asked_once(accounts: Desk, count: int) -> None:
    usage = b'data: {"id":"x","object":"chat.completion.chunk","model":"gpt-5.1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}\n\n'
    answer = Answer.events(CHUNKS.parts[0].replace(b"data: [DONE]\n\n", usage + b"data: [DONE]\n\n"))  # type: ignore[union-attr]
    with ScriptedAccount(answer) as one, ScriptedAccount(answer) as two:
        all_of_it = [account("A", "a1", 0, id="one", url=one.url), account("A", "a2", 1, id="two", url=two.url)]
        client, body = Client(accounts, _group(*all_of_it[:count])), json.dumps({**MESSAGE, "stream": True}).encode()
        for number in range(3):
            got, record = client.ask(body)
            assert got.status_code == 200 and b'"usage"' not in got.content, (number, got.text)
            assert record["gen_ai.usage.output_tokens"] == 4, (number, record)
            assert len(one.bodies) == number + 1 and not two.bodies


def test_another_fault_is_the_client_s(accounts: Desk) -> None:
    words = '{"error":{"message":"Unknown parameter: \'seed\'.","type":"invalid_request_error","param":"seed","code":"unknown_parameter"}}'
    with ScriptedAccount(Answer.json(400, words)) as one:
        client = Client(accounts, _group(account("A", "a1", 0, id="one", url=one.url)))
        got, _ = client.ask(json.dumps({**MESSAGE, "stream": True}).encode())
        assert (got.status_code, got.text, one.asked) == (400, words, 1)


def test_an_only_account_that_fails_is_as_before(accounts: Desk) -> None:
    for status, want in [(429, 429), (500, 500), (401, 502)]:
        with ScriptedAccount(Answer.json(status, '{"error":{"message":"x"}}')) as one:
            client = Client(accounts, _group(account("A", "a1", 0, id="one", url=one.url)))
            got, record = client.ask(json.dumps({**MESSAGE, "stream": True}).encode())
            assert (got.status_code, one.asked) == (want, 1), (status, got.text)
            assert record["trilane.tries"] == 1 and record["trilane.account"] == "one", (status, record)


def test_an_sdk_sees_nothing_of_it(accounts: Desk) -> None:
    with Refusing() as one:
        group = _group(account("A", "a1", 0, id="one", url=one.url))
        accounts.publish(document_of(group))
        key = headers_of(group, CHATS)["authorization"].removeprefix("Bearer ")
        client = openai.OpenAI(
            api_key=key, base_url=f"{accounts.stack.base_url}/v1", http_client=httpx.Client(trust_env=False), max_retries=0
        )
        stream = client.chat.completions.create(**MESSAGE, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "ok"
        assert len(one.bodies) == 2
