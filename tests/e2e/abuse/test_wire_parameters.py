"""Protocol C: which query parameters, methods and resources an upstream is ever asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional

import pytest
from e2e.abuse.abuse_desk import GENERATE, MESSAGES, RESPONSES, STREAM_GENERATE, Desk, Sent, forwarded, refused
from e2e.abuse.abuse_document import EMBEDDING, MODELS, _keys, source
from e2e.abuse.recorder import Recorder
from e2e.support import run_dir

CONTENTS = {"contents": [{"parts": [{"text": "hi"}]}]}
MODEL_PATH = f"/v1beta/models/{MODELS['C']}"
COUNT = f"{MODEL_PATH}:countTokens"
EMBED = f"/v1beta/models/{EMBEDDING}:embedContent"
EMBED_BODY = {"content": {"parts": [{"text": "hi"}]}}
MESSAGE = {"model": MODELS["B"], "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
RESPONSE = {"model": MODELS["A"], "input": "hi"}
SECRET = "s3cret-value"
#: The credential on paths that do not tell their protocol.
GOOG = (("x-goog-api-key", "{key}"),)


@pytest.fixture(scope="module")
def own_desk(recorder: Recorder) -> Iterator[Desk]:
    """A group that prices a method, and keys from the query."""
    groups = [source("a", "A"), source("c-methods", "C", methods={"predict": {"per_call": "0.04"}})]
    document = {"currency": "USD", "query_key": True, "groups": groups, "keys": _keys(groups)}
    with Desk(run_dir("abuse-wire"), document, recorder) as running:
        yield running


# ---- Parameters

#: Google's system parameters, those of its older clients, and others that are none of generation.
SYSTEM = [
    *("fields", "$fields", "$alt", "$callback", "callback", "$ct", "$key", "access_token", "oauth_token", "bearer_token"),
    *("$httpHeaders", "$httpMethod", "$outputDefaults", "$outputIntEnums", "$prettyPrint", "prettyPrint", "pp"),
    *("$apiVersion", "$.xgafv", "quotaUser", "$quotaUser", "userProject", "$userProject", "userIp", "$req", "$unique"),
    *("passwd", "password", "trace", "uploadType", "upload_protocol", "upload_id", "pageSize", "pageToken", "x"),
]
#: What else a query may look like.
ODD = [
    *("alt=proto", "alt=media", "alt=SSE", "alt=", "alt", "alt=s%73e", "alt=sse;fields=usage", "alt=sse&alt=sse"),
    *("alt=sse&alt=proto", "alt=json&alt=sse", "%61lt=sse", "%24fields=candidates", "%66ields=candidates", "ALT=sse"),
    *("alt=sse&", "&alt=sse", "alt=sse&&", "=x", "&", "alt[]=sse", "alt%00=sse", "alt+=sse", "+alt=sse"),
]


@pytest.mark.parametrize("path", [GENERATE, f"{MODEL_PATH}:streamGenerateContent", COUNT, EMBED])
@pytest.mark.parametrize("parameter", [f"{name}={SECRET}" for name in SYSTEM] + ODD)
def test_parameters_of_calls(desk: Desk, path: str, parameter: str) -> None:
    """Refused in protocol C's shape, by the parameter's name alone."""
    body = EMBED_BODY if path == EMBED else CONTENTS
    sent = desk.send("c", f"{path}?{parameter}", body, name=parameter)
    refused(400, "invalid_parameter")(sent)
    assert sent.answer
    assert b'"INVALID_ARGUMENT"' in sent.answer.body, sent
    assert SECRET.encode() not in sent.answer.body, sent


@pytest.mark.parametrize("query", ["fields=usage", "%24fields=usage", "alt=proto", "$key=x"])
def test_parameters_under_v1_and_of_mixed_keys(desk: Desk, query: str) -> None:
    for group in ("c", "mixed"):
        for path in (GENERATE, GENERATE.replace("/v1beta/", "/v1/")):
            sent = desk.send(group, f"{path}?{query}", CONTENTS, name=f"{group} {path}", own=GOOG)
            refused(400, "invalid_parameter")(sent)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (GENERATE, ""),
        (GENERATE, "?"),
        (GENERATE, "?alt=json"),
        (GENERATE, "?alt=sse"),
        (STREAM_GENERATE, ""),
        (f"{MODEL_PATH}:streamGenerateContent", ""),
        (f"{MODEL_PATH}:streamGenerateContent", "?alt=json"),
        (COUNT, "?alt=json"),
    ],
)
def test_parameters_of_real_clients(desk: Desk, path: str, query: str) -> None:
    forwarded()(desk.send("c", f"{path}{query}", CONTENTS, name=query))


def test_the_key_in_the_query(desk: Desk, own_desk: Desk) -> None:
    """It authenticates where the document says so, and never goes on."""
    sent = own_desk.send("c-methods", f"{GENERATE}?key={{key}}&alt=sse", CONTENTS, own=())
    forwarded(target=f"{GENERATE}?alt=sse")(sent)
    sent = own_desk.send("c-methods", f"{GENERATE}?%6bey={{key}}", CONTENTS, own=())
    refused(400, "invalid_parameter")(sent)
    sent = desk.send("c", f"{GENERATE}?key={{key}}", CONTENTS, own=())
    assert sent.status == 401 and not sent.arrived(), sent
    forwarded(target=GENERATE)(desk.send("c", f"{GENERATE}?key={{key}}", CONTENTS))


#: Parameters that other gateways and clouds take credentials in.
CREDENTIALS = [
    *("key", "api_key", "api-key", "apiKey", "apikey", "access_token", "oauth_token", "$key", "%24key", "token"),
    *("auth", "client_secret", "password", "sig", "subscription-key", "code", "KEY", "X-Amz-Signature", "%61pi_key"),
]


@pytest.mark.parametrize("name", CREDENTIALS)
def test_credentials_in_queries_of_other_protocols(desk: Desk, name: str) -> None:
    """They stay here; what is known beside them goes on as it is."""
    for group, path, body in (("b", MESSAGES, MESSAGE), ("a", RESPONSES, RESPONSE)):
        sent = desk.send(group, f"{path}?beta=true&{name}={SECRET}&api-version=%2f", body, name=name)
        forwarded(target=f"{path}?beta=true&api-version=%2f")(sent)


# ---- Methods

#: All that Google's API has or had beside the five, and other spellings of those.
METHODS = [
    *("predict", "predictLongRunning", "batchGenerateContent", "asyncBatchEmbedContent", "bidiGenerateContent"),
    *("generateAnswer", "generateMessage", "generateText", "countMessageTokens", "countTextTokens", "embedText"),
    *("batchEmbedText", "computeTokens", "rawPredict", "streamRawPredict", "serverStreamingPredict", "tune"),
    *("transferOwnership", "GenerateContent", "generatecontent", "streamgeneratecontent", "x"),
]


@pytest.mark.parametrize("method", METHODS)
def test_methods(desk: Desk, method: str) -> None:
    for group, path in (
        ("c", f"{MODEL_PATH}:{method}"),
        ("c", f"{MODEL_PATH}%3A{method}"),
        ("mixed", f"{MODEL_PATH}:{method}?alt=sse"),
        ("c-resources", f"{MODEL_PATH}:{method}"),
        ("c", f"{MODEL_PATH.replace('/v1beta/', '/v1/')}:{method}"),
    ):
        sent = desk.send(group, path, CONTENTS, name=f"{group} {path}", own=GOOG)
        refused(404, "not_found", "generateContent, streamGenerateContent, countTokens")(sent)


def test_a_method_with_a_price(own_desk: Desk) -> None:
    """Served where the group prices it; all others are not."""
    body = {"instances": [{"prompt": "hi"}]}
    forwarded()(own_desk.send("c-methods", f"{MODEL_PATH}:predict", body))
    refused(404, "not_found", "predict.")(own_desk.send("c-methods", f"{MODEL_PATH}:predictLongRunning", body))
    refused(400, "invalid_parameter")(own_desk.send("c-methods", f"{MODEL_PATH}:predict?fields=x", body))


# ---- Resources

#: (path below /v1beta/, methods that it takes)
RESOURCES = [
    ("files", ("GET", "POST")),
    ("files/abc-1", ("GET", "DELETE")),
    ("files/abc-1:download", ("GET",)),
    ("cachedContents", ("GET", "POST")),
    ("cachedContents/x", ("GET", "PATCH", "DELETE")),
    ("operations", ("GET",)),
    ("operations/x", ("GET", "DELETE")),
    ("operations/x:cancel", ("POST",)),
    ("fileSearchStores", ("GET", "POST")),
    ("fileSearchStores/x", ("GET", "DELETE")),
    ("fileSearchStores/x/documents", ("GET",)),
    ("fileSearchStores/x/documents/y", ("GET", "DELETE")),
    ("fileSearchStores/x/operations/y", ("GET",)),
    ("fileSearchStores/x/upload/operations/y", ("GET",)),
]
#: Below /v1beta/, and none of them: each runs a model or trains one, or is another spelling of such.
NO_RESOURCES = [
    *("tunedModels", "tunedModels/x", "tunedModels/x:generateContent", "tunedModels/x:streamGenerateContent"),
    *("tunedModels/x%3AgenerateContent", "dynamic/x:generateContent", "batches", "batches/x", "interactions"),
    *("agents", "openai/chat/completions", "openai/v1/chat/completions", "openai/embeddings", "openai/models"),
    *("corpora/x:query", "corpora/x/documents/y:query", "generatedFiles", "videos", "auth_tokens"),
    *("projects/p/locations/l/publishers/google/models/m:generateContent", "publishers/google/models/m:predict"),
    *("files/x:generateContent", "files/x%3AgenerateContent", "files/x%3agenerateContent", "files/x:y:generateContent"),
    *("files/x:generateContent:download", "cachedContents/x:generateContent", "operations/x:generateContent"),
    *("files:register", "files/x:predict", "files/models/m:generateContent", "fileSearchStores/x:importFile"),
    *("fileSearchStores/x:uploadToFileSearchStore", "fileSearchStores/x/documents:query", "Files", "files/"),
    *("files/x/", "files/x/y", "files/x;y", "files/x@y", "files/x%3Fy", "files/%2e%2e%2e", "operations/x:wait"),
]


def call(desk: Desk, group: str, method: str, path: str, query: str = "") -> Sent:
    body: Optional[Any] = {"ttl": "9s"} if method in ("POST", "PATCH", "PUT") else None
    if path == "cachedContents" and body:
        # A model reads what is to be kept.
        body["model"] = f"models/{MODELS['C']}"
    return desk.send(group, f"/v1beta/{path}{query}", body, method=method, name=f"{method} {path}")


@pytest.mark.parametrize(("path", "methods"), RESOURCES)
def test_resources(desk: Desk, path: str, methods: tuple[str, ...]) -> None:
    """Only by the methods that they have, and only for groups that open them."""
    for method in ("GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"):
        sent = call(desk, "c-resources", method, path)
        if method in methods:
            forwarded()(sent)
            closed = call(desk, "c", method, path)
            refused(404, "not_found")(closed)
        else:
            assert (sent.status, sent.code) == (405, "method_not_allowed"), sent
            assert sent.answer and sent.answer.header("allow") == ", ".join(methods), sent
            assert not sent.arrived(), sent


@pytest.mark.parametrize("path", NO_RESOURCES)
def test_what_is_no_resource(desk: Desk, path: str) -> None:
    for method in ("GET", "POST"):
        sent = call(desk, "c-resources", method, path)
        assert (sent.status, sent.code) == (404, "not_found"), sent
        assert sent.answer and b'"NOT_FOUND"' in sent.answer.body, sent
        assert not sent.arrived(), sent


@pytest.mark.parametrize(
    ("path", "query", "target"),
    [
        ("files", "?pageSize=2&pageToken=a%2Bb", None),
        ("files/x:download", "?alt=media", None),
        ("fileSearchStores", "?key=x&pageSize=1", "?pageSize=1"),
        ("cachedContents", "?alt=json&uploadType=multipart&upload_protocol=raw&upload_id=1", None),
    ],
)
def test_parameters_of_resources(desk: Desk, path: str, query: str, target: Optional[str]) -> None:
    want = None if target is None else f"/v1beta/{path}{target}"
    forwarded(target=want)(call(desk, "c-resources", "GET", path, query))


@pytest.mark.parametrize(
    "query",
    [
        *("?fields=name", "?alt=media", "?alt=sse", "?alt=proto", "?$fields=x", "?%24fields=x", "?access_token=x"),
        *("?pageSize=-1", "?pageSize=1&pageSize=2", "?pageToken=x;fields=y", "?x=1", "?$httpMethod=POST", "?callback=f"),
    ],
)
def test_other_parameters_of_resources(desk: Desk, query: str) -> None:
    refused(400, "invalid_parameter")(call(desk, "c-resources", "GET", "files", query))
