"""What the `google-genai` SDK is asked to do. Values are reduced to what the gateway could spoil."""

from __future__ import annotations

import asyncio
from typing import Any

from google import genai
from google.genai import errors
from order import Order

VERSION = genai.__version__
ERROR = errors.APIError


def _client(order: Order) -> genai.Client:
    options: dict[str, Any] = {"base_url": order.base_url, "timeout": 30_000}
    if order.api_version is not None:
        options["api_version"] = order.api_version
    if order.retries:
        # This SDK retries only when told to; the pause is shortened from its 1 s.
        options["retry_options"] = {"attempts": order.retries + 1, "initial_delay": 0.1, "jitter": 0.0}
    return genai.Client(api_key=order.key, http_options=options)


def _config(order: Order, **settings: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"headers": order.headers}
    if order.body:
        options["extra_body"] = order.body
    return {**settings, "http_options": options}


def _answer(made: Any) -> dict[str, Any]:
    usage = made.usage_metadata
    return {
        "text": made.text,
        "model": made.model_version,
        "usage": {
            "input": usage.prompt_token_count,
            "output": usage.candidates_token_count,
            "cached": usage.cached_content_token_count,
            "reasoning": usage.thoughts_token_count,
            "total": usage.total_token_count,
        },
    }


def generate(order: Order) -> dict[str, Any]:
    config = _config(order, thinking_config={"thinking_budget": 128}, max_output_tokens=64)
    with _client(order) as client:
        return _answer(client.models.generate_content(model=order.model, contents="ping", config=config))


def generate_stream(order: Order) -> dict[str, Any]:
    with _client(order) as client:
        stream = client.models.generate_content_stream(model=order.model, contents="ping", config=_config(order))
        chunks = list(stream)
    return {**_answer(chunks[-1]), "text": "".join(chunk.text or "" for chunk in chunks), "several": len(chunks) > 1}


def generate_async(order: Order) -> dict[str, Any]:
    """Streamed and not, at the same time, by one asynchronous client."""

    async def both() -> dict[str, Any]:
        client = _client(order).aio
        asked: dict[str, Any] = {"model": order.model, "contents": "ping", "config": _config(order)}

        async def streamed() -> str:
            stream = await client.models.generate_content_stream(**asked)
            return "".join([chunk.text or "" async for chunk in stream])

        whole, text = await asyncio.gather(client.models.generate_content(**asked), streamed())
        await client.aclose()
        return {"whole": _answer(whole), "streamed": text}

    return asyncio.run(both())


def count_tokens(order: Order) -> dict[str, Any]:
    with _client(order) as client:
        counted = client.models.count_tokens(model=order.model, contents="ping", config=_config(order))
        return {"total": counted.total_tokens}


def embed(order: Order) -> dict[str, Any]:
    with _client(order) as client:
        made = client.models.embed_content(model=order.model, contents="ping", config=_config(order))
        return {"values": made.embeddings[0].values}


def models_list(order: Order) -> dict[str, Any]:
    """All pages of three."""
    with _client(order) as client:
        pager = client.models.list(config=_config(order, page_size=3))
        first = len(pager.page)
        return {"names": [model.name for model in pager], "first_page": first}


def model_get(order: Order) -> dict[str, Any]:
    with _client(order) as client:
        model = client.models.get(model=order.model, config=_config(order))
        generates = "generateContent" in (model.supported_actions or [])
        return {"name": model.name, "display_name": model.display_name, "generates": generates}


CALLS = {
    call.__name__: call
    for call in (
        *(generate, generate_stream, generate_async, count_tokens, embed, models_list, model_get),
    )
}


def facts(error: errors.APIError) -> dict[str, Any]:
    """What a program can read off an error."""
    body = error.details if isinstance(error.details, dict) else {}
    inner = body.get("error") or {}
    details = inner.get("details")
    return {
        "status": error.code,
        "type": error.status,
        "message": error.message,
        # Where the gateway cannot know whose client asks (`/v1/models`), the code stands where all find it.
        "code": details[0].get("reason") if isinstance(details, list) else inner.get("code"),
        "headers": dict(getattr(error.response, "headers", {}) or {}),
    }
