"""What a test orders of an SDK."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional


@dataclasses.dataclass(frozen=True)
class Order:
    """One call, with what differs between tests."""

    call: str
    base_url: str
    key: str
    model: str
    #: Sent besides the SDK's own headers.
    headers: dict[str, str]
    #: Merged into the request's body by the SDK.
    body: dict[str, Any]
    #: How often the SDK may try again.
    retries: int
    #: Only for genai: the version in the path, if not the SDK's own choice.
    api_version: Optional[str] = None
