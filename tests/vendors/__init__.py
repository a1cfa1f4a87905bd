"""Strict stand-ins of vendors: each takes what the vendor takes, and refuses what the vendor refuses.

They are written from requests that the official SDKs and agents sent, from bodies that these parse, and from the vendors'
pages, which each module names. None is written from this project's own client or filter. None was compared with the
vendor itself.
"""

from .anthropic_vendor import AnthropicVendor
from .gemini_vendor import GeminiVendor
from .local_server import LocalServer
from .openai_vendors import DeepSeekVendor, OpenAIVendor, OpenRouterVendor
from .vendor_server import Answer, Asked, VendorServer

__all__ = [
    "AnthropicVendor",
    "Answer",
    "Asked",
    "DeepSeekVendor",
    "GeminiVendor",
    "LocalServer",
    "OpenAIVendor",
    "OpenRouterVendor",
    "VendorServer",
]
