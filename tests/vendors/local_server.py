"""A server of one's own that speaks OpenAI's Chat Completions and asks for no credential, as Ollama, vLLM and llama.cpp do.

It takes any `Authorization`, for the gateway always sends one.
"""

from __future__ import annotations

import dataclasses

from .openai_vendors import OpenAIVendor
from .vendor_server import Answer, Asked


class LocalServer(OpenAIVendor):
    """A server of one's own."""

    models = ("llama3.2:3b", "qwen3:8b")
    owner = "library"
    responses_path = None

    def answer(self, asked: Asked) -> Answer:
        headers = {**asked.headers, "authorization": f"Bearer {self.credential}"}
        return super().answer(dataclasses.replace(asked, headers=headers))
