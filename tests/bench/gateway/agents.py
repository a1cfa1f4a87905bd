"""Requests as coding agents send them, written by code: tools with schemas, a history of calls and their results, languages
other than English, escapes, images. Sizes and proportions are those of captured requests; no text is."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from bodies import MODEL

#: How many tools an agent brings along.
TOOLS = 18
#: Bytes of the image of a request that has one.
IMAGE = 768 * 1024

_INSTRUCTIONS = (
    "You are a coding agent in the user's terminal. Read before you edit, keep changes small, and run the tests.\n"
    '- Quote paths: `cat "a file"`. Never print secrets.\n- Prefer `rg` over `grep`; say what you did in two sentences.\n\n'
)
_SOURCE = (
    'fn parse(line: &str) -> Result<Entry, Error> {\n\tlet (name, rest) = line.split_once("=").ok_or(Error::NoName)?;\n'
    '\tOk(Entry { name: name.trim().to_owned(), value: rest.trim_matches(\'"\').to_owned() })\n}\n\n'
)
_LANGUAGES = (
    "这个函数会读取整个文件，然后逐行解析配置项。如果某一行没有等号，就返回错误。\n"
    "設定ファイルを読み込むとき、空行とコメントは無視してください。テストも追加してください。\n"
    "이 함수는 파일 전체를 읽고 한 줄씩 구문 분석합니다. 오류가 있으면 알려 주세요.\n"
    "Функция читает файл целиком и разбирает его построчно; пустые строки и комментарии пропускаются.\n"
)


def agent(size: int) -> bytes:
    """A turn of an agent: instructions, tools, and calls with their results, until it is at least `size` bytes."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _INSTRUCTIONS * 24},
        {"role": "user", "content": "The parser drops values that hold an equals sign. Find out why and fix it."},
    ]
    request = {"model": MODEL, "messages": messages, "tools": [_tool(number) for number in range(TOOLS)], "tool_choice": "auto"}
    turn = 0
    while len(_written(request)) < size:
        call = f"call_{hashlib.sha256(str(turn).encode()).hexdigest()[:24]}"
        arguments = json.dumps({"command": ["bash", "-lc", f'sed -n "{turn},{turn + 60}p" src/entry.rs'], "timeout_ms": 10000})
        function = {"name": f"tool_{turn % TOOLS}", "arguments": arguments}
        messages.append({"role": "assistant", "content": None, "tool_calls": [{"id": call, "type": "function", "function": function}]})
        # What a tool printed is JSON within JSON.
        printed = json.dumps({"output": _SOURCE * 8, "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
        messages.append({"role": "tool", "tool_call_id": call, "content": printed})
        turn += 1
    return _written(request)


def languages(size: int, *, escaped: bool = False) -> bytes:
    """A chat in Chinese, Japanese, Korean and Russian of about `size` bytes, as UTF-8 or all of it in escapes."""
    text = _LANGUAGES
    per_text = len(json.dumps(text, ensure_ascii=escaped).encode())
    messages = [{"role": "user", "content": text * 8} for _ in range(max(1, size // (8 * per_text)))]
    return _written({"model": MODEL, "messages": messages}, escaped=escaped)


def image() -> bytes:
    """A question about a picture, which is in it as base64."""
    # Noise, as compressed pictures are.
    noise = b"".join(hashlib.sha512(number.to_bytes(4, "big")).digest() for number in range(IMAGE // 64))
    url = f"data:image/png;base64,{base64.b64encode(noise).decode()}"
    content = [{"type": "text", "text": "What is wrong in this picture?"}, {"type": "image_url", "image_url": {"url": url, "detail": "high"}}]
    return _written({"model": MODEL, "messages": [{"role": "user", "content": content}]})


def _tool(number: int) -> dict[str, Any]:
    described = f"Runs step {number} and returns what it printed.\nUse it only if no other tool fits; quote \"paths with spaces\".\n"
    words = {"type": "array", "items": {"type": "string"}, "description": described, "minItems": 1}
    nested = {"type": "object", "properties": {"path": {"type": "string", "pattern": "^[\\w./-]+$"}, "lines": words}, "required": ["path"]}
    properties = {"command": words, "edits": {"type": "array", "items": nested}, "timeout_ms": {"type": "integer", "minimum": 0}}
    schema = {"type": "object", "properties": properties, "required": ["command"], "additionalProperties": False}
    return {"type": "function", "function": {"name": f"tool_{number}", "description": described * 4, "strict": False, "parameters": schema}}


def _written(request: dict[str, Any], *, escaped: bool = False) -> bytes:
    return json.dumps(request, separators=(",", ":"), ensure_ascii=escaped).encode()
