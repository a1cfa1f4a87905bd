"""What the SDKs raise, and how a program sees the gateway's own words in it."""

from __future__ import annotations

from typing import Any

from e2e.sdk.sdk_support import By
from e2e.sdk_usage.sdk_rounds import Made

#: What each SDK raises for a status; `InternalServerError` where nothing stands here.
COMMON = {400: "BadRequestError", 403: "PermissionDeniedError", 404: "NotFoundError", 429: "RateLimitError"}
B_ONLY: dict[int, Any] = {
    413: By("ContentTooLargeError", previous="RequestTooLargeError"),
    503: By("ServiceUnavailableError", previous="InternalServerError"),
    529: "OverloadedError",
}


def error_class(protocol: str, status: int, where: str) -> str:
    """The class of exception for a status that an SDK gets."""
    if protocol == "C":
        kind: Any = By("ServerError" if status >= 500 else "ClientError", node="ApiError")
    else:
        known: dict[int, Any] = {**COMMON, **(B_ONLY if protocol == "B" else {})}
        kind = known.get(status, "InternalServerError")
    return str(kind.of(where) if isinstance(kind, By) else kind)


#: What stands for no answer in `OURS`.
NO_ANSWER = 0
#: The gateway's own words where the upstream refuses our account or does not answer, by the status that it gave: status,
#: code, type by protocol, part of the message.
OURS = {
    NO_ANSWER: (
        502,
        "bad_gateway",
        {"A": "server_error", "B": "api_error", "C": "UNAVAILABLE"},
        "upstream source",
    ),
    401: (
        502,
        "bad_gateway",
        {"A": "server_error", "B": "api_error", "C": "UNAVAILABLE"},
        "tell the operator of this gateway",
    ),
    403: (
        403,
        "model_not_entitled",
        {"A": "invalid_request_error", "B": "permission_error", "C": "PERMISSION_DENIED"},
        "model_not_entitled",
    ),
}


def judge_ours(each: Made, protocol: str, status: int) -> None:
    """It is the right exception with our words: the client hears nothing of the account behind the gateway."""
    __tracebackhide__ = True
    status, code, types, message = OURS[status]
    told = each.raised
    assert told.get("class") == error_class(protocol, status, each.call.sdk.where), f"{each.where}: {told}"
    assert told["status"] == status, f"{each.where}: {told}"
    assert told["type"] == types[protocol], f"{each.where}: {told}"
    assert told["code"] == code, f"{each.where}: {told}"
    assert message in told["message"], f"{each.where}: {told}"
    if told.get("headers"):
        assert told["headers"]["x-trilane-error"] == code, f"{each.where}: {told}"
        assert told["headers"].get("x-request-id"), f"{each.where}: {told}"
        if protocol == "B":
            assert told["headers"].get("request-id"), f"{each.where}: {told}"
