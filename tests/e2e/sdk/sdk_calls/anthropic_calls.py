"""What the `anthropic` SDK is asked to do. Values are reduced to what the gateway could spoil."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
from order import Order

VERSION = anthropic.__version__
ERROR = anthropic.APIError

HELLO: list[Any] = [{"role": "user", "content": "ping"}]


def _client(order: Order) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=order.base_url, api_key=order.key, max_retries=order.retries, timeout=30)


def _extra(order: Order) -> dict[str, Any]:
    return {"extra_headers": order.headers, "extra_body": order.body or None}


def _message(made: Any) -> dict[str, Any]:
    usage = made.usage
    return {
        "text": "".join(block.text for block in made.content if block.type == "text"),
        "model": made.model,
        "stop_reason": made.stop_reason,
        "usage": {
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cache_read": usage.cache_read_input_tokens,
            "cache_write": usage.cache_creation_input_tokens,
        },
    }


def messages(order: Order) -> dict[str, Any]:
    made = _client(order).messages.create(model=order.model, max_tokens=64, messages=HELLO, **_extra(order))
    return {**_message(made), "request_id": made._request_id}


def messages_thinking(order: Order) -> dict[str, Any]:
    """With what is native to this protocol and must not be touched."""
    made = _client(order).messages.create(
        model=order.model,
        max_tokens=2048,
        thinking={"type": "enabled", "budget_tokens": 1024},
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        messages=HELLO,
        **_extra(order),
    )
    return _message(made)


def messages_stream(order: Order) -> dict[str, Any]:
    """The plain stream of events."""
    stream = _client(order).messages.create(
        model=order.model, max_tokens=64, messages=HELLO, stream=True, **_extra(order)
    )
    events = list(stream)
    deltas = [event.delta for event in events if event.type == "content_block_delta"]
    return {
        "text": "".join(delta.text for delta in deltas if delta.type == "text_delta"),
        "first": events[0].type,
        "last": events[-1].type,
    }


def messages_helper(order: Order) -> dict[str, Any]:
    """The SDK's own accumulator: text, final message, usage."""
    with _client(order).messages.stream(model=order.model, max_tokens=64, messages=HELLO, **_extra(order)) as stream:
        text = "".join(stream.text_stream)
        return {**_message(stream.get_final_message()), "streamed": text}


def messages_async(order: Order) -> dict[str, Any]:
    """Streamed and not, at the same time, by one asynchronous client."""

    async def both() -> dict[str, Any]:
        async with anthropic.AsyncAnthropic(base_url=order.base_url, api_key=order.key, max_retries=0) as client:
            asked: dict[str, Any] = {"model": order.model, "max_tokens": 64, "messages": HELLO, **_extra(order)}

            async def streamed() -> Any:
                async with client.messages.stream(**asked) as stream:
                    return await stream.get_final_message()

            whole, parts = await asyncio.gather(client.messages.create(**asked), streamed())
            return {"whole": _message(whole), "streamed": _message(parts)}

    return asyncio.run(both())


def count_tokens(order: Order) -> dict[str, Any]:
    counted = _client(order).messages.count_tokens(model=order.model, messages=HELLO, **_extra(order))
    return {"input": counted.input_tokens}


def models_iterate(order: Order) -> dict[str, Any]:
    """The SDK turns the pages itself."""
    models = list(_client(order).models.list(limit=2, extra_headers=order.headers))
    return {"ids": [model.id for model in models], "types": sorted({model.type for model in models})}


def model_retrieve(order: Order) -> dict[str, Any]:
    model = _client(order).models.retrieve(order.model, extra_headers=order.headers)
    return {"id": model.id, "type": model.type, "display_name": model.display_name, "year": model.created_at.year}


CALLS = {
    call.__name__: call
    for call in (
        messages,
        messages_thinking,
        messages_stream,
        messages_helper,
        messages_async,
        count_tokens,
        models_iterate,
        model_retrieve,
    )
}


def facts(error: anthropic.APIError) -> dict[str, Any]:
    """What a program can read off an error; older SDKs have only the body for some of it."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error") if isinstance(body.get("error"), dict) else {}
    told: dict[str, Any] = {
        "message": getattr(error, "api_message", inner.get("message")),
        "type": getattr(error, "type", inner.get("type")),
        "code": getattr(error, "error_code", (inner.get("details") or {}).get("error_code")),
        "body_request_id": body.get("request_id"),
    }
    if isinstance(error, anthropic.APIStatusError):
        told.update(status=error.status_code, request_id=error.request_id, headers=dict(error.response.headers))
    return told
