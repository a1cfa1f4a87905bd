"""Google's Gemini, by requests of the official SDKs and Gemini CLI, and by bodies that these parse.

- The credential is `x-goog-api-key`, or `?key=`. Without one it is 403, a wrong one is 400 with `API_KEY_INVALID`: that is
  general knowledge of Google's interfaces, and was not read on a page.
- Paths are `/v1beta/models/{model}:{method}` (older SDKs, Gemini CLI) and `/v1/…` (SDKs of today). All of them stream with
  `streamGenerateContent?alt=sse`.
- Models have `supportedGenerationMethods`; lists have `nextPageToken`.
- Errors are `{"error": {code, message, status, details}}`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from . import streams
from .vendor_server import Answer, Asked, VendorServer

METHODS = ("generateContent", "streamGenerateContent")


def error(code: int, status: str, message: str, reason: str = "") -> Answer:
    """An error in Google's shape."""
    body: dict[str, Any] = {"code": code, "message": message, "status": status}
    if reason:
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        body["details"] = [{"@type": kind, "reason": reason, "domain": "googleapis.com"}]
    return Answer(code, {"error": body})


class GeminiVendor(VendorServer):
    """Google's Gemini."""

    models = ("gemini-3.6-flash", "gemini-3.5-flash-lite")

    def answer(self, asked: Asked) -> Answer:
        version, _, rest = asked.path.lstrip("/").partition("/")
        if version not in ("v1", "v1beta") or not (rest == "models" or rest.startswith("models/")):
            return error(404, "NOT_FOUND", "Requested entity was not found.")
        key = asked.headers.get("x-goog-api-key") or asked.query.get("key")
        if key is None:
            message = "Method doesn't allow unregistered callers (callers without established identity)."
            return error(403, "PERMISSION_DENIED", message)
        if key != self.credential:
            message = "API key not valid. Please pass a valid API key."
            return error(400, "INVALID_ARGUMENT", message, "API_KEY_INVALID")
        if asked.method == "GET" and rest == "models":
            return self._list(asked.query)
        model, _, method = rest.removeprefix("models/").partition(":")
        if asked.method != "POST" or method not in METHODS or model not in self.models:
            message = f"models/{model} is not found for API version {version}, or is not supported for {method}."
            return error(404, "NOT_FOUND", message)
        body = asked.json()
        if body is None:
            return error(400, "INVALID_ARGUMENT", "Invalid JSON payload received.")
        if not isinstance(body.get("contents"), list):
            return error(400, "INVALID_ARGUMENT", "* GenerateContentRequest.contents: contents is not specified")
        answer = self._content(model)
        if method == "generateContent":
            return answer
        if asked.query.get("alt") != "sse":
            return error(501, "UNIMPLEMENTED", "this stand-in streams events only, not an array")
        return dataclasses.replace(answer, events=list(streams.content(answer.body)))

    def _list(self, query: dict[str, str]) -> Answer:
        names = [("embedding-001", "embedContent"), *((name, "generateContent") for name in self.models)]
        size, start = int(query.get("pageSize", "50")), int(query.get("pageToken", "0"))
        models = [
            {
                "name": f"models/{name}",
                "version": "001",
                "displayName": name,
                "inputTokenLimit": 1048576,
                "outputTokenLimit": 65536,
                "supportedGenerationMethods": [method],
            }
            for name, method in names[start : start + size]
        ]
        body: dict[str, Any] = {"models": models}
        if start + size < len(names):
            body["nextPageToken"] = str(start + size)
        return Answer(200, body)

    def _content(self, model: str) -> Answer:
        candidate = {"content": {"parts": [{"text": "pong"}], "role": "model"}, "index": 0, "finishReason": "STOP"}
        usage = {
            "promptTokenCount": 12,
            "candidatesTokenCount": self.output_tokens,
            "totalTokenCount": 12 + self.output_tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 12}],
        }
        return Answer(
            200, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": "r1"}
        )
