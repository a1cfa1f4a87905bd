"""Headers that an upstream never sees, headers that a client never sees, and statuses that are none."""

from __future__ import annotations

import pytest
from e2e.abuse.abuse_desk import CHAT, GENERATE, MESSAGES, Desk, forwarded
from e2e.abuse.abuse_document import MODELS
from e2e.abuse.recorder import head, stream, whole

#: By what they may hold or ask for.
KEPT_BACK = {
    "credentials": [
        *("proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "x-vc-api-key", "xi-api-key", "x-auth-token"),
        *("x-access-token", "x-jwt-assertion", "client-secret", "x-password", "x-credential", "cookie", "cookie2"),
        *("ocp-apim-subscription-key", "x-functions-key", "x-rapidapi-key", "x-litellm-api-key", "x-portkey-api-key"),
        *("helicone-auth", "cf-aig-authorization", "cf-access-client-secret", "x-amz-security-token", "x-oauth"),
        *("x_api_key", "api_key", "x.api.key", "x-hub-signature", "x-client-cert", "x-any-vendors-key", "x-csrf-token"),
    ],
    "addresses": [
        *("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-real-ip", "x-client-ip"),
        *("x-cluster-client-ip", "cf-connecting-ip", "true-client-ip", "fastly-client-ip", "remote-addr", "via"),
        *("x-originating-ip", "x-azure-clientip", "x-geo-city", "remote-user", "x-envoy-external-address"),
    ],
    "methods-and-paths": [
        *("x-http-method", "x-http-method-override", "x-method-override", "x-original-method", "x-original-url"),
        *("x-original-uri", "x-rewrite-url", "x-request-uri", "x-host", "x-forwarded-prefix", "x-accel-redirect"),
    ],
    "forms-of-answers": [
        *("accept-encoding", "accept-charset", "range", "if-range", "prefer", "x-fields", "x-goog-fieldmask"),
        *("if-match", "if-none-match", "if-modified-since", "if-unmodified-since"),
    ],
    "tenants-routes-models": [
        *("openai-organization", "openai-project", "x-goog-user-project", "x-goog-request-params", "x-goog-api-version"),
        *("anthropic-workspace-id", "chatgpt-account-id", "x-tenant-id", "x-model", "x-ai-eg-model", "x-upstream"),
    ],
    "orders-to-gateways": [
        *("x-litellm-tags", "x-portkey-config", "helicone-target-url", "cf-aig-skip-cache", "x-ms-region"),
        *("x-amz-target", "x-envoy-max-retries", "x-trilane-cluster", "x-kong-request-id", "x-bt-use-cache"),
    ],
}
ENDPOINTS = [
    ("a", CHAT, {"model": MODELS["A"], "messages": [{"role": "user", "content": "hi"}]}),
    ("b", MESSAGES, {"model": MODELS["B"], "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}),
    ("c", GENERATE, {"contents": [{"parts": [{"text": "hi"}]}]}),
    ("c-resources", "/v1beta/files", None),
]
VALUE = "a-value-to-be-found"


@pytest.mark.parametrize(("group", "path", "body"), ENDPOINTS, ids=[group for group, _, _ in ENDPOINTS])
@pytest.mark.parametrize("kind", KEPT_BACK)
def test_headers_that_stay_here(desk: Desk, group: str, path: str, body: object, kind: str) -> None:
    """Each comes once beside the key, and again under the same name."""
    keys = {"a": {"authorization"}, "b": {"x-api-key"}}.get(group, {"x-goog-api-key", "x-vc-api-key"})
    names = [name for name in KEPT_BACK[kind] if name not in keys]
    sent = desk.send(group, path, body, headers=[(name, VALUE) for name in names * 2], name=kind)
    forwarded(headers=dict.fromkeys(names))(sent)
    for header, text in sent.only().headers:
        assert VALUE not in text, f"{sent}: {header}"


# ---- Answers

WITHHELD = [
    *("x-envoy-upstream-service-time", "x-envoy-overloaded", "x-envoy-ratelimited", "x-envoy-attempt-count"),
    *("x-envoy-decorator-operation", "x-trilane-again", "x-trilane-hop", "x-trilane-cluster", "x-trilane-anything"),
    *("x-trilane-error", "set-cookie", "set-cookie2", "x-api-key", "authorization", "x-auth-token", "x-amz-security-token"),
    *("x-ratelimit-limit-requests", "x-ratelimit-limit-tokens", "x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens"),
    *("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-limit-project-tokens", "x-ms-ratelimit-remaining-tokens"),
    *("anthropic-ratelimit-requests-limit", "anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    *("anthropic-priority-input-tokens-limit", "ratelimit", "ratelimit-policy", "ratelimit-limit"),
    # What leads elsewhere.
    *("location", "content-location", "operation-location", "refresh", "link", "alt-svc", "sourcemap", "x-sourcemap"),
    *("x-goog-upload-url", "x-redirect-url", "x-accel-redirect", "x-sendfile", "x-reproxy-url", "azure-asyncoperation"),
    # What speaks for the whole origin.
    *("strict-transport-security", "clear-site-data", "service-worker-allowed", "access-control-allow-origin"),
    *("access-control-allow-credentials", "access-control-expose-headers", "timing-allow-origin", "cross-origin-opener-policy"),
    *("content-security-policy", "content-security-policy-report-only", "nel", "report-to", "reporting-endpoints", "expect-ct"),
    *("proxy-authenticate", "www-authenticate", "speculation-rules", "x-permitted-cross-domain-policies"),
    # What names the account.
    *("openai-organization", "openai-project", "anthropic-organization-id", "x-ms-tenant-id", "azureml-model-deployment"),
    "x-litellm-model-api-base",
]
RELAYED = ["openai-processing-ms", "x-codex-plan-type", "retry-after", "x-should-retry", "server-timing", "cf-ray"]


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found", "429 Too Many Requests", "500 Internal Server Error"])
def test_headers_of_answers(desk: Desk, status: str) -> None:
    for group, path, body in ENDPOINTS:
        more = [f"{name}: {VALUE}" for name in (*WITHHELD, *RELAYED)]
        answer = whole({"error": {"message": "x"}}, status, "application/json", *more)
        sent = desk.send(group, path, body, answer=[answer], name=status)
        assert sent.status == int(status[:3]), sent
        assert sent.answer
        for name in WITHHELD:
            assert VALUE not in [text for header, text in sent.answer.headers if header == name], f"{sent}: {name}"
        for name in RELAYED:
            assert sent.answer.header(name) == VALUE, f"{sent}: {name}"


def test_headers_of_streams(desk: Desk) -> None:
    body = {"model": MODELS["A"], "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    more = [f"{name}: {VALUE}" for name in (*WITHHELD, *RELAYED)]
    sent = desk.send("a", CHAT, body, answer=stream(b"data: [DONE]\n\n", more=more))
    assert sent.status == 200 and sent.answer, sent
    for name in WITHHELD:
        assert VALUE not in [text for header, text in sent.answer.headers if header == name], f"{sent}: {name}"
    for name in RELAYED:
        assert sent.answer.header(name) == VALUE, f"{sent}: {name}"


@pytest.mark.parametrize("status", ["099", "000", "600", "601", "777", "999"])
def test_statuses_that_are_none(desk: Desk, status: str) -> None:
    """The client gets the gateway's own 502, in its protocol's shape."""
    for group, path, body in ENDPOINTS:
        answer = head(f"{status} Odd", "application/json", length=2) + b"{}"
        sent = desk.send(group, path, body, answer=[answer], name=status)
        assert (sent.status, sent.code) == (502, "bad_gateway"), sent
        assert sent.answer and sent.answer.header("content-type") == "application/json", sent
