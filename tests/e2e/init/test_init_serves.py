"""From an empty directory to real requests: `trilane init` with each vendor's stand-in, the gateway with what it wrote.

The SDKs are imported where they are used: each worker imports all modules before its first test, and they take seconds.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from e2e.init.initialising import CREDENTIAL, NOWHERE, credential_file, curl, init, key, trilane
from e2e.support import run_dir
from stack import SIMULATOR, Stack
from vendors import AnthropicVendor, DeepSeekVendor, GeminiVendor, LocalServer, OpenAIVendor, OpenRouterVendor

HELLO = [{"role": "user", "content": "Hello"}]


def test_three_vendors_one_key_and_a_budget_of_a_cent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    with OpenAIVendor(CREDENTIAL) as a, AnthropicVendor(CREDENTIAL) as b, GeminiVendor(CREDENTIAL) as c:
        vendors = [("openai", a), ("anthropic", b), ("gemini", c)]
        named = [argument for name, vendor in vendors for argument in ("--vendor", f"{name}={vendor.url}")]
        variables = {f"{name.upper()}_API_KEY": CREDENTIAL for name, _ in vendors}
        made = init(data, *named, "--budget-day", "0.01", **variables)
        assert made.returncode == 0, made.stderr
        assert [len(vendor.asked) for _, vendor in vendors] == [1, 1, 1], "one request each"
        trilane("check", "--strict", "--document", str(data / "gateway.json"))
        for variable in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            monkeypatch.delenv(variable, raising=False)
        stack = Stack(run_dir("init-three"), document=data / "gateway.json", upstream=NOWHERE, strict=True)
        with stack:
            by_curl(stack.base_url, key(data))
            by_sdk(stack.base_url, key(data))
            by_stream(stack.base_url, key(data))
            for _, vendor in vendors:
                assert key(data) not in str(vendor.asked), "a vendor gets its own credential and no other"
            runs_out(stack.base_url, key(data), b)
        used = json.loads(trilane("usage", "--format", "json", str(stack.access_log)))
        charges = {row["model"]: row["charge"] for row in used["rows"] if row["key"] == "first"}
        # 12 tokens of input and 56 of output at the catalogue's prices: once by curl, once by the SDK, and once for each stream;
        # of OpenAI's a compaction too, and 12 tokens of embeddings;
        # the dear one has 400.
        assert charges == {
            "gpt-6-luna": "0.0001472",
            "claude-haiku-4-5": "0.000584",
            "claude-opus-4-8": "0.01152",
            "gemini-3.6-flash": "0.001314",
        }


def by_curl(base: str, secret: str) -> None:
    chat = {"model": "gpt-6-luna", "messages": HELLO, "max_completion_tokens": 64}
    answer = curl(f"{base}/v1/chat/completions", chat, f"authorization: Bearer {secret}")
    assert answer["choices"][0]["message"]["content"] == "pong", answer
    message = {"model": "claude-haiku-4-5", "max_tokens": 64, "messages": HELLO}
    answer = curl(f"{base}/v1/messages", message, f"x-api-key: {secret}", "anthropic-version: 2023-06-01")
    assert (answer["content"][0]["text"], answer["model"]) == ("pong", "claude-haiku-4-5-20251001"), answer
    content = {"contents": [{"parts": [{"text": "Hello"}]}], "generationConfig": {"maxOutputTokens": 64}}
    url = f"{base}/v1beta/models/gemini-3.6-flash:generateContent"
    answer = curl(url, content, f"x-goog-api-key: {secret}")
    assert answer["candidates"][0]["content"]["parts"][0]["text"] == "pong", answer


def by_sdk(base: str, secret: str) -> None:
    import anthropic
    import openai
    from google import genai

    of_a = openai.OpenAI(base_url=f"{base}/v1", api_key=secret, max_retries=0)
    assert of_a.responses.create(model="gpt-6-luna", input="Hello", max_output_tokens=64).output_text == "pong"
    assert of_a.responses.input_tokens.count(model="gpt-6-luna", input="Hello").input_tokens == 12
    assert of_a.responses.compact(model="gpt-6-luna", input="Hello").output[-1].type == "compaction"
    assert of_a.embeddings.create(model="gpt-6-luna", input=["Hello"]).data[0].embedding == [0.25, -0.5]
    of_b = anthropic.Anthropic(base_url=base, api_key=secret, max_retries=0)
    message = of_b.messages.create(model="claude-opus-4-8", max_tokens=64, messages=HELLO)
    assert message.content[0].text == "pong"
    of_c = genai.Client(api_key=secret, http_options={"base_url": base})
    config = {"max_output_tokens": 64}
    assert of_c.models.generate_content(model="gemini-3.6-flash", contents="Hello", config=config).text == "pong"


def by_stream(base: str, secret: str) -> None:
    """Each protocol's stream, and both of OpenAI's."""
    import anthropic
    import openai
    from google import genai

    of_a = openai.OpenAI(base_url=f"{base}/v1", api_key=secret, max_retries=0)
    options = {"include_usage": True}
    chunks = list(of_a.chat.completions.create(model="gpt-6-luna", messages=HELLO, stream=True, stream_options=options, max_completion_tokens=64))
    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices) == "pong"
    with of_a.responses.stream(model="gpt-6-luna", input="Hello", max_output_tokens=64) as stream:
        assert stream.get_final_response().output_text == "pong"
    of_b = anthropic.Anthropic(base_url=base, api_key=secret, max_retries=0)
    with of_b.messages.stream(model="claude-haiku-4-5", max_tokens=64, messages=HELLO) as stream:
        assert stream.get_final_text() == "pong"
    of_c = genai.Client(api_key=secret, http_options={"base_url": base})
    pieces = of_c.models.generate_content_stream(model="gemini-3.6-flash", contents="Hello", config={"max_output_tokens": 64})
    assert [piece.text for piece in pieces] == ["po", "ng"]


def runs_out(base: str, secret: str, vendor: AnthropicVendor) -> None:
    """One dear response, and the cent is gone for all three."""
    import anthropic
    import openai
    from google import genai
    from google.genai import errors as genai_errors

    vendor.output_tokens = 400
    of_b = anthropic.Anthropic(base_url=base, api_key=secret, max_retries=0)
    assert of_b.messages.create(model="claude-opus-4-8", max_tokens=64, messages=HELLO).content[0].text == "pong"
    with pytest.raises(anthropic.RateLimitError):
        of_b.messages.create(model="claude-opus-4-8", max_tokens=64, messages=HELLO)
    of_a = openai.OpenAI(base_url=f"{base}/v1", api_key=secret, max_retries=0)
    with pytest.raises(openai.RateLimitError, match="budget"):
        of_a.chat.completions.create(model="gpt-6-luna", messages=HELLO)
    of_c = genai.Client(api_key=secret, http_options={"base_url": base})
    with pytest.raises(genai_errors.ClientError) as refused:
        of_c.models.generate_content(model="gemini-3.6-flash", contents="Hello")
    assert refused.value.code == 429


def test_openrouter_deepseek_and_a_server_of_ones_own_one_after_the_other(tmp_path: Path) -> None:
    import openai

    data, file = tmp_path / "data", credential_file(tmp_path)
    with OpenRouterVendor(CREDENTIAL) as router, DeepSeekVendor(CREDENTIAL) as deepseek, LocalServer("any") as local:
        steps = [
            ["--vendor", f"openrouter={router.url}", "--credential-file", file, "--budget-month", "1"],
            ["--vendor", f"deepseek={deepseek.url}", "--credential-file", file, "--add", "--key-id", "second"],
            ["--vendor", f"compatible={local.url}", "--group", "ollama", "--no-credential", "--free"]
            + ["--add", "--key-id", "third", "--budget-day", "1"],
        ]
        for step in steps:
            made = init(data, *step)
            assert made.returncode == 0, made.stderr
        trilane("check", "--strict", "--document", str(data / "gateway.json"))
        stack = Stack(run_dir("init-added"), document=data / "gateway.json", upstream=NOWHERE, strict=True)
        with stack:
            for name, model, vendor in [
                ("first", "openai/gpt-6-luna", router),
                ("second", "deepseek-v4-pro", deepseek),
                ("third", "llama3.2:3b", local),
            ]:
                asked = len(vendor.asked)
                chat = {"model": model, "messages": HELLO, "max_completion_tokens": 64}
                url = f"{stack.base_url}/v1/chat/completions"
                answer = curl(url, chat, f"authorization: Bearer {key(data, name)}")
                assert answer["choices"][0]["message"]["content"] == "pong", (name, answer)
                assert [request.path for request in vendor.asked[asked:]] == [vendor.chat_path], name
                of_a = openai.OpenAI(base_url=f"{stack.base_url}/v1", api_key=key(data, name), max_retries=0)
                options = {"include_usage": True}
                chunks = list(of_a.chat.completions.create(**chat, stream=True, stream_options=options))
                assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices) == "pong", name
                assert chunks[-1].usage and chunks[-1].usage.completion_tokens == 56, name


def test_an_authority_of_ones_own(tmp_path: Path) -> None:
    import anthropic

    data, file = tmp_path / "data", credential_file(tmp_path)
    certificate, own = tmp_path / "certificate", tmp_path / "self-signed"
    subprocess.run([str(SIMULATOR), "certificate", "--out", str(certificate)], check=True, capture_output=True)
    subprocess.run([str(SIMULATOR), "certificate", "--out", str(own), "--self-signed"], check=True, capture_output=True)
    with AnthropicVendor(CREDENTIAL, certificate=certificate) as vendor, LocalServer("any", certificate=own) as local:
        arguments = ["--vendor", f"anthropic={vendor.url}", "--credential-file", file]
        unknown = init(data, *arguments)
        assert unknown.returncode == 1
        assert "anthropic: TLS with localhost:" in unknown.stderr and "--ca FILE" in unknown.stderr, unknown.stderr
        assert not vendor.asked, "the credential never left"
        with AnthropicVendor(CREDENTIAL, certificate=certificate, host="127.0.0.2") as elsewhere:
            named = ["--vendor", f"anthropic={elsewhere.url}", *arguments[2:], "--ca", str(certificate / "ca.crt")]
            other = init(data, *named)
            assert other.returncode == 1 and "TLS with 127.0.0.2:" in other.stderr, other.stderr
            assert not elsewhere.asked, "its certificate names another host"
        known = init(data, *arguments, "--ca", str(certificate / "ca.crt"))
        assert known.returncode == 0, known.stderr
        arguments = ["--add", "--key-id", "second", "--vendor", f"compatible={local.url}", "--no-credential", "--free"]
        known = init(data, *arguments, "--ca", str(own / "server.crt"))
        assert known.returncode == 0, known.stderr
        stack = Stack(run_dir("init-tls"), document=data / "gateway.json", upstream=NOWHERE, strict=True)
        with stack:
            client = anthropic.Anthropic(base_url=stack.base_url, api_key=key(data), max_retries=0)
            message = client.messages.create(model="claude-sonnet-5", max_tokens=64, messages=HELLO)
            assert message.content[0].text == "pong"
            assert client.messages.count_tokens(model="claude-sonnet-5", messages=HELLO).input_tokens == 12
            chat = {"model": "llama3.2:3b", "messages": HELLO}
            answer = curl(f"{stack.base_url}/v1/chat/completions", chat, f"authorization: Bearer {key(data, 'second')}")
            assert answer["choices"][0]["message"]["content"] == "pong", answer


def test_what_a_certificate_lacks(tmp_path: Path) -> None:
    names = ["-addext", "subjectAltName=DNS:localhost"]
    for lacks, options, said in [
        ("as openssl makes it", names, "-addext basicConstraints=critical,CA:FALSE"),
        ("no name", ["-addext", "basicConstraints=critical,CA:FALSE"], "has the name as a subjectAltName"),
    ]:
        made = tmp_path / lacks
        made.mkdir()
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9", "-subj", "/CN=localhost"]
        files = ["-keyout", str(made / "server.key"), "-out", str(made / "server.crt")]
        subprocess.run([*command, *files, *options], check=True, capture_output=True)
        with LocalServer("any", certificate=made) as local:
            arguments = ["--vendor", f"compatible={local.url}", "--no-credential", "--free", "--ca", str(made / "server.crt")]
            refused = init(tmp_path / "data", *arguments)
            assert refused.returncode == 1 and said in refused.stderr, (lacks, refused.stderr)
            assert not local.asked, lacks


def test_a_wrong_credential_writes_nothing(tmp_path: Path) -> None:
    for name, kind in [("openai", OpenAIVendor), ("anthropic", AnthropicVendor), ("gemini", GeminiVendor)]:
        file = credential_file(tmp_path, "sk-of-somebody-else")
        with kind(CREDENTIAL) as vendor:
            made = init(tmp_path / "data", "--vendor", f"{name}={vendor.url}", "--credential-file", file)
        assert made.returncode == 1
        assert "refused the credential" in made.stderr and "somebody-else" not in made.stderr, made.stderr
        assert not (tmp_path / "data").exists()
