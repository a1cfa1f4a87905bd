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


@pytest.mark.parametrize("count", [1, 2])
def test_it_is_asked_without_it(accounts: Desk, count: int) -> None:
    with Refusing() as one, Refusing() as two:
        all_of_it = [account("A", "a1", 0, id="one", url=one.url), account("A", "a2", 1, id="two", url=two.url)]
        group = group_of(f"usage-option-{next(_NUMBERS)}", "A", all_of_it[:count], clients="current")
        accounts.publish(document_of(group))
        path, body = CHATS.path(""), json.dumps({**MESSAGE, "stream": True}).encode()
        headers = {**headers_of(group, CHATS), "content-type": "application/json"}

        def ask(sent: bytes) -> tuple[httpx.Response, dict[str, Any]]:
            answer = accounts.http.post(path, content=sent, headers=headers)
            return answer, accounts.ledger.of_request(answer.headers["x-request-id"])

        got, record = ask(body)
        assert (got.status_code, got.headers["x-trilane-error"]) == (503, "usage_option_refused"), got.text
        assert (got.headers["retry-after"], got.headers["x-should-retry"]) == ("0", "true")
        assert record["trilane.upstream_error.param"] == "stream_options" and "trilane.charge" not in record, record
        for _ in range(3):
            got, record = ask(body)
            assert got.status_code == 200 and b"ok" in got.content, got.text
            assert record["trilane.usage.status"] == "estimated" and record["trilane.account"] == "one", record
        assert json.loads(one.bodies[-1]) == json.loads(body) and b"stream_options" not in one.bodies[-1]
        own = json.dumps({**json.loads(body), "stream_options": {"include_usage": True}}).encode()
        got, record = ask(own)
        assert (got.status_code, got.text) == (400, REFUSES), "who sends it gets the vendor's own words"
        assert len(one.bodies) == 5 and not two.bodies


def test_an_sdk_sees_nothing_of_it(accounts: Desk) -> None:
    with Refusing() as one:
        group = group_of(f"usage-option-{next(_NUMBERS)}", "A", [account("A", "a1", 0, id="one", url=one.url)], clients="current")
        accounts.publish(document_of(group))
        headers = headers_of(group, CHATS)
        key = headers["authorization"].removeprefix("Bearer ")
        client = openai.OpenAI(api_key=key, base_url=f"{accounts.stack.base_url}/v1", http_client=httpx.Client(trust_env=False))
        stream = client.chat.completions.create(**MESSAGE, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "ok"
        assert len(one.bodies) == 2
