"""OpenAI, and vendors whose own pages call their interface OpenAI's.

- OpenAI: requests of the official SDKs (`GET /v1/models`, `POST /v1/responses`, `POST /v1/chat/completions`,
  `POST /v1/responses/compact`, `POST /v1/responses/input_tokens`, `POST /v1/embeddings`, all with `Authorization: Bearer`), and the bodies that these SDKs parse: lists, responses, errors
  (`{"error": {message, type, param, code}}`; 401 `invalid_api_key`, 404 `model_not_found`).
- DeepSeek: https://api-docs.deepseek.com/zh-cn/api/list-models (`GET /models`, members `id`, `object`, `owned_by` and no
  others) and https://api-docs.deepseek.com/quick_start/pricing (base addresses, models, Chat Completions and Responses).
- OpenRouter: https://www.openrouter.ai/docs/api/api-reference/models/list-models-filtered-by-user-provider-preferences-privacy-settings-and-guardrails
  (`GET https://openrouter.ai/api/v1/models/user` with a bearer token). `GET /api/v1/models` needs none.
  https://www.openrouter.ai/docs/client-sdks/typescript/models/publicpricing.md: `pricing` has `prompt` and `completion`, US
  dollars for a token in strings. The shape of its errors was not read: only the status counts.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

from . import streams
from .vendor_server import Answer, Asked, VendorServer


def error(status: int, message: str, code: Optional[str] = None, param: Optional[str] = None) -> Answer:
    """An error in OpenAI's shape."""
    body = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Answer(status, {"error": body}, {"x-request-id": "req_1"})


class OpenAIVendor(VendorServer):
    """OpenAI."""

    base = "/v1"
    models = ("gpt-6-luna", "gpt-6.2-sol", "gpt-image-2")
    owner = "openai"
    #: The path of the list that needs the credential.
    list_path = "/v1/models"
    #: The paths of the endpoints that write answers.
    chat_path: Optional[str] = "/v1/chat/completions"
    responses_path: Optional[str] = "/v1/responses"
    #: Those of the endpoints beside them.
    compact_path: Optional[str] = "/v1/responses/compact"
    input_tokens_path: Optional[str] = "/v1/responses/input_tokens"
    embeddings_path: Optional[str] = "/v1/embeddings"

    def answer(self, asked: Asked) -> Answer:
        beside = {self.compact_path: self._compaction, self.input_tokens_path: self._counted, self.embeddings_path: self._embeddings}
        posts = (self.chat_path, self.responses_path, *beside)
        known = {("GET", self.list_path), *(("POST", path) for path in posts)}
        if (asked.method, asked.path) not in known:
            return error(404, f"Invalid URL ({asked.method} {asked.path})")
        if asked.headers.get("authorization") != f"Bearer {self.credential}":
            if "authorization" not in asked.headers:
                return error(401, "You didn't provide an API key.")
            return error(401, "Incorrect API key provided", "invalid_api_key")
        if asked.path == self.list_path:
            return Answer(200, {"object": "list", "data": [self.listed(name) for name in self.models]})
        body = asked.json()
        if body is None:
            return error(400, "We could not parse the JSON body of your request.")
        if not isinstance(body.get("model"), str):
            return error(400, "you must provide a model parameter")
        if body["model"] not in self.models:
            message = f"The model `{body['model']}` does not exist or you do not have access to it."
            return error(404, message, "model_not_found", "model")
        if "stream_options" in body and not body.get("stream"):
            message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
            return error(400, message, None, "stream_options")
        if asked.path in beside:
            return beside[asked.path](body)
        is_chat = asked.path == self.chat_path
        answer = self._chat(body) if is_chat else self._response(body)
        if answer.status != 200 or not body.get("stream"):
            return answer
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        events = streams.chat(answer.body, with_usage) if is_chat else streams.response(answer.body)
        return dataclasses.replace(answer, events=list(events))

    def listed(self, name: str) -> dict[str, Any]:
        """An element of the list."""
        return {"id": name, "object": "model", "created": 1763700000, "owned_by": self.owner}

    def _chat(self, body: dict[str, Any]) -> Answer:
        if not isinstance(body.get("messages"), list):
            return error(400, "Missing required parameter: 'messages'.", "missing_required_parameter", "messages")
        message = {"role": "assistant", "content": "pong", "refusal": None, "annotations": []}
        usage = {
            "prompt_tokens": 12,
            "completion_tokens": self.output_tokens,
            "total_tokens": 12 + self.output_tokens,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return Answer(
            200,
            {
                "id": "chatcmpl-1",
                "created": 1763700000,
                "model": body["model"],
                "object": "chat.completion",
                "choices": [choice],
                "usage": usage,
                "service_tier": "default",
            },
        )

    def _response(self, body: dict[str, Any]) -> Answer:
        if "input" not in body:
            return error(400, "Missing required parameter: 'input'.", "missing_required_parameter", "input")
        text = {"type": "output_text", "text": "pong", "annotations": [], "logprobs": []}
        message = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [text]}
        usage = {
            "input_tokens": 12,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 12 + self.output_tokens,
        }
        return Answer(
            200,
            {
                "id": "resp_1",
                "object": "response",
                "created_at": 1763700000,
                "status": "completed",
                "error": None,
                "incomplete_details": None,
                "instructions": None,
                "metadata": {},
                "model": body["model"],
                "output": [message],
                "parallel_tool_calls": True,
                "service_tier": "default",
                "temperature": 1.0,
                "tool_choice": "auto",
                "tools": [],
                "top_p": 1.0,
                "usage": usage,
            },
        )


    def _compaction(self, body: dict[str, Any]) -> Answer:
        response = self._response(body)
        if response.status != 200:
            return response
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
        compacted = {"id": "cmp_1", "type": "compaction", "encrypted_content": "AAAA"}
        kept = {"id": "resp_1", "object": "response.compaction", "created_at": 1763700000, "output": [said, compacted]}
        return Answer(200, {**kept, "usage": response.body["usage"]})

    def _counted(self, body: dict[str, Any]) -> Answer:
        return Answer(200, {"object": "response.input_tokens", "input_tokens": 12})

    def _embeddings(self, body: dict[str, Any]) -> Answer:
        if "input" not in body:
            return error(400, "Missing required parameter: 'input'.", "missing_required_parameter", "input")
        count = len(body["input"]) if isinstance(body["input"], list) else 1
        # 0.25 and -0.5, as 32-bit floats.
        vector: Any = "AACAPgAAAL8=" if body.get("encoding_format") == "base64" else [0.25, -0.5]
        data = [{"object": "embedding", "index": index, "embedding": vector} for index in range(count)]
        usage = {"prompt_tokens": 12, "total_tokens": 12}
        return Answer(200, {"object": "list", "data": data, "model": body["model"], "usage": usage})


class DeepSeekVendor(OpenAIVendor):
    """DeepSeek, by its base address with `/v1`."""

    compact_path = input_tokens_path = embeddings_path = None

    models = ("deepseek-flash", "deepseek-v4-pro")
    owner = "deepseek"

    def listed(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "owned_by": self.owner}


class OpenRouterVendor(OpenAIVendor):
    """OpenRouter. Only Chat Completions stands in."""

    base = "/api/v1"
    models = ("openai/gpt-6-luna", "meta-llama/llama-4-maverick:free")
    list_path = "/api/v1/models/user"
    chat_path = "/api/v1/chat/completions"
    responses_path = compact_path = input_tokens_path = embeddings_path = None

    def listed(self, name: str) -> dict[str, Any]:
        price = "0" if name.endswith(":free") else "0.0000001"
        return {"id": name, "name": name, "pricing": {"prompt": price, "completion": price}}

    def answer(self, asked: Asked) -> Answer:
        if (asked.method, asked.path) == ("GET", "/api/v1/models"):
            return Answer(200, {"data": [self.listed(name) for name in (*self.models, "everybody/sees-this")]})
        return super().answer(asked)
