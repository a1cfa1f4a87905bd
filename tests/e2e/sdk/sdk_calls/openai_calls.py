"""What the `openai` SDK is asked to do. Values are reduced to what the gateway could spoil."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, Union

import openai
from order import Order

VERSION = openai.__version__
ERROR = openai.APIError

HELLO = [{"role": "user", "content": "ping"}]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def _client(order: Order) -> openai.OpenAI:
    return openai.OpenAI(base_url=order.base_url, api_key=order.key, max_retries=order.retries, timeout=30)


def _extra(order: Order) -> dict[str, Any]:
    return {"extra_headers": order.headers, "extra_body": order.body or None}


def _chat_usage(usage: Any) -> dict[str, Any]:
    return {
        "input": usage.prompt_tokens,
        "output": usage.completion_tokens,
        "cached": usage.prompt_tokens_details.cached_tokens,
        "reasoning": usage.completion_tokens_details.reasoning_tokens,
    }


def _responses_usage(usage: Any) -> dict[str, Any]:
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cached": usage.input_tokens_details.cached_tokens,
        "reasoning": usage.output_tokens_details.reasoning_tokens,
    }


def chat(order: Order) -> dict[str, Any]:
    made = _client(order).chat.completions.create(model=order.model, messages=HELLO, **_extra(order))
    return {
        "text": made.choices[0].message.content,
        "model": made.model,
        "usage": _chat_usage(made.usage),
        "request_id": made._request_id,
    }


def _chunks(chunks: list[Any]) -> dict[str, Any]:
    deltas = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    return {"text": "".join(deltas), "deltas": len(deltas), "usage": _chat_usage(chunks[-1].usage)}


def chat_stream(order: Order) -> dict[str, Any]:
    stream = _client(order).chat.completions.create(
        model=order.model, messages=HELLO, stream=True, stream_options={"include_usage": True}, **_extra(order)
    )
    return _chunks(list(stream))


def chat_async(order: Order) -> dict[str, Any]:
    """Streamed and not, at the same time, by one asynchronous client."""

    async def both() -> dict[str, Any]:
        async with openai.AsyncOpenAI(base_url=order.base_url, api_key=order.key, max_retries=0) as client:

            async def streamed() -> dict[str, Any]:
                stream = await client.chat.completions.create(
                    model=order.model,
                    messages=HELLO,
                    stream=True,
                    stream_options={"include_usage": True},
                    **_extra(order),
                )
                return _chunks([chunk async for chunk in stream])

            whole, parts = await asyncio.gather(
                client.chat.completions.create(model=order.model, messages=HELLO, **_extra(order)), streamed()
            )
            return {"whole": whole.choices[0].message.content, "usage": _chat_usage(whole.usage), "streamed": parts}

    return asyncio.run(both())


def responses(order: Order) -> dict[str, Any]:
    made = _client(order).responses.create(
        model=order.model, input="ping", reasoning={"effort": "low"}, max_output_tokens=64, **_extra(order)
    )
    return {
        "text": made.output_text,
        "model": made.model,
        "status": made.status,
        "usage": _responses_usage(made.usage),
        "request_id": made._request_id,
    }


def responses_stream(order: Order) -> dict[str, Any]:
    events = list(_client(order).responses.create(model=order.model, input="ping", stream=True, **_extra(order)))
    return {
        "text": "".join(event.delta for event in events if event.type == "response.output_text.delta"),
        "first": events[0].type,
        "last": events[-1].type,
        "usage": _responses_usage(events[-1].response.usage),
    }


def compact(order: Order) -> dict[str, Any]:
    made = _client(order).responses.compact(model=order.model, input="ping", **_extra(order))
    return {"object": made.object, "types": [item.type for item in made.output], "usage": _responses_usage(made.usage)}


def input_tokens(order: Order) -> dict[str, Any]:
    made = _client(order).responses.input_tokens.count(model=order.model, input="ping", **_extra(order))
    return {"object": made.object, "tokens": made.input_tokens}


def _embeddings(made: Any) -> dict[str, Any]:
    return {
        "vectors": [list(item.embedding) for item in made.data],
        "model": made.model,
        "usage": {"input": made.usage.prompt_tokens, "total": made.usage.total_tokens},
    }


def embeddings(order: Order) -> dict[str, Any]:
    return _embeddings(_client(order).embeddings.create(model=order.model, input=["ping", "pong"], **_extra(order)))


def embeddings_as_numbers(order: Order) -> dict[str, Any]:
    made = _client(order).embeddings.create(
        model=order.model, input="ping", encoding_format="float", **_extra(order)
    )
    return _embeddings(made)


def _images(made: Any) -> dict[str, Any]:
    return {
        "images": len(made.data),
        "png": all(base64.b64decode(item.b64_json)[:4] == b"\x89PNG" for item in made.data),
        "usage": {"input": made.usage.input_tokens, "output": made.usage.output_tokens},
    }


def image_generate(order: Order) -> dict[str, Any]:
    return _images(_client(order).images.generate(model=order.model, prompt="a dot", n=2, **_extra(order)))


def image_edit(order: Order) -> dict[str, Any]:
    image = ("dot.png", PNG, "image/png")
    return _images(_client(order).images.edit(model=order.model, prompt="a dot", image=image, **_extra(order)))


def models_list(order: Order) -> dict[str, Any]:
    models = list(_client(order).models.list(extra_headers=order.headers))
    return {"ids": [model.id for model in models], "objects": sorted({model.object for model in models})}


def model_retrieve(order: Order) -> dict[str, Any]:
    model = _client(order).models.retrieve(order.model, extra_headers=order.headers)
    return {"id": model.id, "object": model.object, "created_is_int": isinstance(model.created, int)}


CALLS = {
    call.__name__: call
    for call in (
        chat,
        chat_stream,
        chat_async,
        responses,
        responses_stream,
        compact,
        input_tokens,
        embeddings,
        embeddings_as_numbers,
        image_generate,
        image_edit,
        models_list,
        model_retrieve,
    )
}


def facts(error: openai.APIError) -> dict[str, Any]:
    """What a program can read off an error."""
    body: Union[dict[str, Any], Any] = error.body
    told = {
        "message": body.get("message") if isinstance(body, dict) else None,
        "type": error.type,
        "code": error.code,
        "param": error.param,
    }
    if isinstance(error, openai.APIStatusError):
        told.update(status=error.status_code, request_id=error.request_id, headers=dict(error.response.headers))
    return told
