"""What reached an upstream and reports no final usage is paid for, however the client arranges that."""

from __future__ import annotations

import re
import threading
from decimal import Decimal
from typing import Any

import pytest
from e2e.abuse.abuse_answers import (
    EVENTS,
    KINDS,
    LEAST_PER_TOKEN,
    MOST_PER_TOKEN,
    PROMPT,
    STREAMS,
    TEXT,
    answered,
    chat,
    chat_chunk,
    chat_events,
    event,
    generate,
    in_events,
    in_one,
    kind_usage,
    message,
    message_events,
    prompt,
    protocol_of_kind,
    response,
    text,
)
from e2e.abuse.abuse_desk import (
    CHAT,
    MESSAGES,
    RESPONSES,
    STREAM_GENERATE,
    Desk,
    Sent,
    amount,
    charged,
    cost,
    forwarded,
    leave_after,
    leave_when_sent,
    post,
    recorded,
    uncharged,
)
from e2e.abuse.abuse_document import IMAGE_MODEL, IMAGE_PRICES, MODELS, PER_CALL, PRICES
from e2e.abuse.recorder import Pause, Reset, Script, head, stream, whole
from e2e.raw import Http1
from e2e.vitals import counters

WAIT = threading.Event


def bounds(kind: str, *, told: int = PROMPT, said: int = TEXT) -> dict[str, str]:
    """The least and the most that so many characters of a prompt and of an answer may cost."""
    protocol = protocol_of_kind(kind)
    # What stands around the text counts as well: at most half as much again, and a hundred tokens.
    most_in, most_out = told * 3 // (2 * LEAST_PER_TOKEN) + 100, said * 3 // (2 * LEAST_PER_TOKEN) + 100
    return {
        "least": cost(protocol, input=told // MOST_PER_TOKEN, output=said // MOST_PER_TOKEN),
        "most": cost(protocol, input=most_in, output=most_out if said else 0),
    }


# ---- Answers that report nothing


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_without_usage(desk: Desk, kind: str) -> None:
    group, path, body = STREAMS[kind]
    sent = desk.send(group, path, body(prompt), name=kind, answer=in_events(kind))
    assert sent.status == 200 and sent.answer and sent.answer.complete, sent
    charged("estimated", **bounds(kind))(sent)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_without_usage(desk: Desk, kind: str) -> None:
    group, path, body = KINDS[kind]
    sent = desk.send(group, path, body(prompt), name=kind, answer=in_one(kind))
    assert sent.status == 200, sent
    charged("estimated", least=bounds(kind)["least"])(sent)


@pytest.mark.parametrize("option", [None, {}, {"include_usage": False}, {"include_usage": True}])
def test_chat_whatever_is_asked_for(desk: Desk, option: Any) -> None:
    """The upstream ignores the option, as some do."""
    more = {} if option is None else {"stream_options": option}
    sent = desk.send("a", CHAT, chat(prompt, stream=True, **more), name=str(option), answer=in_events("chat"))
    charged("estimated", **bounds("chat"))(sent)


@pytest.mark.parametrize("option", [None, {"include_usage": False}])
def test_a_group_that_asks_for_no_usage(desk: Desk, option: Any) -> None:
    more = {} if option is None else {"stream_options": option}
    sent = desk.send("a-silent", CHAT, chat(prompt, stream=True, **more), name=str(option), answer=in_events("chat"))
    forwarded()(sent)
    charged("estimated", **bounds("chat"))(sent)


@pytest.mark.parametrize("kind", STREAMS)
def test_a_mixed_key(desk: Desk, kind: str) -> None:
    _, path, body = STREAMS[kind]
    sent = desk.send("mixed", path, body(prompt), name=kind, answer=in_events(kind))
    charged("estimated", **bounds(kind))(sent)


# ---- Clients that leave


@pytest.mark.parametrize("kind", STREAMS)
def test_leaving_before_the_last_event(desk: Desk, kind: str) -> None:
    """Usage comes in the last event; all of the text has come by then."""
    group, path, body = STREAMS[kind]
    # The last event that says anything, and what follows it, is never sent.
    cut = {"chat": 2, "responses": 1, "messages": 2, "generate": 1}[kind]
    events = EVENTS[kind](usage=kind_usage(kind))[:-cut]
    seen = text[-100:].encode() if kind != "generate" else text[TEXT * 6 // 8 : TEXT * 6 // 8 + 100].encode()
    said = TEXT if kind != "generate" else TEXT * 7 // 8
    script = stream(*events, WAIT(), end=False)
    sent = desk.send(group, path, body(prompt), name=kind, answer=script, act=leave_after(seen))
    assert sent.record()["trilane.outcome"] == "client_abort", sent
    charged("estimated", **bounds(kind, said=said))(sent)


@pytest.mark.parametrize("kind", STREAMS)
def test_leaving_a_stream_before_its_head(desk: Desk, kind: str) -> None:
    """Nothing was seen of an output: the input is paid for."""
    group, path, body = STREAMS[kind]
    sent = desk.send(group, path, body(prompt), name=kind, act=leave_when_sent)
    charged("estimated", **bounds(kind, said=0))(sent)
    recorded(http__response__status_code=0)(sent)


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_before_the_answer(desk: Desk, kind: str) -> None:
    group, path, body = KINDS[kind]
    sent = desk.send(group, path, body(prompt), name=kind, act=leave_when_sent)
    charged("estimated", least=bounds(kind, said=0)["least"])(sent)


def test_output_of_an_answer_left_early_grows_with_time(desk: Desk) -> None:
    """And no further than what was reserved for it."""

    def after(seconds: float) -> Any:
        def act(sent: Sent, client: Http1) -> None:
            desk.recorder.teach(sent.marker, [WAIT()])
            post(sent, client)
            desk.recorder.wait(sent.marker, complete=True)
            WAIT().wait(seconds)
            client.reset()

        return act

    at_once = desk.send("a", CHAT, chat(prompt), name="at once", act=after(0))
    later = desk.send("a", CHAT, chat(prompt), name="later", act=after(2))
    capped = desk.send("a", CHAT, chat(prompt, max_tokens=10), name="capped", act=after(2))
    first, then, most = (amount(sent.record()) for sent in (at_once, later, capped))
    assert then > first > 0, (first, then)
    # The cap itself is a few bytes of the body.
    assert most <= first + Decimal(cost("A", input=20, output=10)), (first, most)


def test_leaving_an_answer_in_its_middle(desk: Desk) -> None:
    body = answered("chat", kind_usage("chat"))
    data = whole(body)
    script: Script = [data[: len(data) // 2], WAIT()]
    sent = desk.send("a", CHAT, chat(prompt), name="middle", answer=script, act=leave_after(text[:50].encode()))
    charged("estimated", least=bounds("chat", said=0)["least"])(sent)


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_before_the_body_was_sent(desk: Desk, kind: str) -> None:
    """The upstream cannot have begun."""
    group, path, body = KINDS[kind]

    def act(sent: Sent, client: Http1) -> None:
        data = sent.body or b""
        client.head(sent.method, sent.path, [*sent.headers, ("content-length", str(len(data)))])
        client.send(data[:-10])
        client.reset()

    sent = desk.send(group, path, body(prompt), name=kind, act=act)
    uncharged("none")(sent)


# ---- Upstreams that fail


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", ["400 Bad Request", "429 Too Many Requests", "500 Internal Server Error", "529 x"])
def test_errors_cost_nothing(desk: Desk, kind: str, status: str) -> None:
    group, path, body = KINDS[kind]
    error = {"error": {"type": "server_error", "message": text, "code": 500, "status": "INTERNAL"}}
    sent = desk.send(group, path, body(prompt), name=f"{kind} {status}", answer=[whole(error, status)])
    uncharged("failed")(sent)


@pytest.mark.parametrize("kind", STREAMS)
def test_a_reset_before_an_answer_costs_nothing(desk: Desk, kind: str) -> None:
    group, path, body = STREAMS[kind]
    sent = desk.send(group, path, body(prompt), name=kind, answer=[Reset()])
    assert sent.status == 502, sent
    uncharged("failed")(sent)


@pytest.mark.parametrize("kind", STREAMS)
def test_a_reset_in_a_stream(desk: Desk, kind: str) -> None:
    """What had passed is paid for."""
    group, path, body = STREAMS[kind]
    events = EVENTS[kind]()[:-4]
    sent = desk.send(group, path, body(prompt), name=kind, answer=stream(*events, Reset(), end=False))
    assert sent.answer and not sent.answer.complete, sent
    charged("estimated", least=bounds(kind, said=0)["least"], most=bounds(kind)["most"])(sent)


def test_an_error_in_a_stream(desk: Desk) -> None:
    error = event({"error": {"message": "no more", "type": "server_error"}})
    sent = desk.send("a", CHAT, chat(prompt, stream=True), name="error", answer=stream(*chat_events()[:-2], error))
    charged("estimated", **bounds("chat"))(sent)


# ---- What is reported, and what is estimated


@pytest.mark.parametrize("kind", STREAMS)
def test_a_final_report_is_charged_as_it_is(desk: Desk, kind: str) -> None:
    """Less than would be estimated: the upstream knows."""
    group, path, body = STREAMS[kind]
    sent = desk.send(group, path, body(prompt), name=kind, answer=in_events(kind, kind_usage(kind)))
    charged("complete", exactly=cost(protocol_of_kind(kind), input=1000, output=500))(sent)


@pytest.mark.parametrize("reported", [5, 100_000])
def test_of_each_kind_the_greater(desk: Desk, reported: int) -> None:
    """The input was reported by the first event, and the output only to its first token."""
    start = {"input_tokens": reported, "output_tokens": 1}
    events = message_events(start=start, final={"output_tokens": 500})[:-2]
    script = stream(*events, WAIT(), end=False)
    group, path, body = STREAMS["messages"]
    sent = desk.send(group, path, body(prompt), name=str(reported), answer=script, act=leave_after(text[-100:].encode()))
    least = max(reported, PROMPT // MOST_PER_TOKEN)
    charged("estimated", least=cost("B", input=least, output=TEXT // MOST_PER_TOKEN))(sent)
    if reported > PROMPT:
        charged("estimated", most=cost("B", input=reported, output=TEXT))(sent)


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("way", ["whole", "leaves"])
def test_a_group_where_it_is_free(classes_desk: Desk, kind: str, way: str) -> None:
    group, path, body = STREAMS[kind]
    how: dict[str, Any] = {"act": leave_when_sent} if way == "leaves" else {"answer": in_events(kind)}
    sent = classes_desk.send(f"{group}-free", path, body(prompt), name=f"{kind} {way}", **how)
    uncharged()(sent)
    reported = in_events(kind, kind_usage(kind))
    sent = classes_desk.send(f"{group}-free", path, body(prompt), name=kind, answer=reported)
    charged("complete", exactly=cost(protocol_of_kind(kind), input=1000, output=500))(sent)


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 20_000}}


def test_images_are_no_text(desk: Desk) -> None:
    """160 000 characters of base64 are one image: by a documented constant, not by their length."""
    content: Any = [{"type": "text", "text": "what is this?"}, IMAGE]
    sent = desk.send("a", CHAT, chat(content, stream=True), name="image", answer=in_events("chat", content="x" * 8))
    charged("estimated", least=cost("A", input=50), most=cost("A", input=10_000, output=100))(sent)


# ---- Pictures, sound, searches and reasoning in a stream that is left


#: The line between two chunks, which may stand anywhere in an event.
CHUNK_HEAD = re.compile(rb"\r\n[0-9a-f]+\r\n")


def left_in(
    desk: Desk, group: str, path: str, body: Any, events: list[bytes], name: str, *, seconds: float = 0
) -> Sent:
    """The client has seen the last of these events, and leaves so many seconds later."""
    last = b"".join(events).count(b"LAST")

    def act(sent: Sent, client: Http1) -> None:
        post(sent, client)
        client.next_head()
        while CHUNK_HEAD.sub(b"", client._pending).count(b"LAST") < last:
            assert client._fill(), f"{sent}: ended before the last event"
        WAIT().wait(seconds)
        client.reset()

    sent = desk.send(group, path, body, name=name, answer=stream(*events, WAIT(), end=False), act=act)
    assert sent.record()["trilane.outcome"] == "client_abort", sent
    return sent


DATA = "A" * 40_000


def of_tokens(price: str, tokens: int) -> Decimal:
    return Decimal(price) * tokens / 1_000_000


def partial(number: int, kind: str = "response.image_generation_call", member: str = "partial_image_b64") -> bytes:
    return event({"type": f"{kind}.partial_image", "partial_image_index": number, member: DATA, "x": "LAST"})


def image_tool(**more: Any) -> dict[str, Any]:
    tool = {"type": "image_generation", "model": IMAGE_MODEL, "partial_images": 3, **more}
    return response("draw a cat", stream=True, tools=[tool])


def image_item(kind: str, status: str) -> bytes:
    item = {"type": "image_generation_call", "status": status, "result": DATA, "x": "LAST"}
    return event({"type": f"response.output_item.{kind}", "item": item})


def blob(media: str) -> bytes:
    part = {"inlineData": {"mimeType": media, "data": DATA}}
    return event({"candidates": [{"content": {"parts": [part]}}], "x": "LAST"})


DRAWN = chat_chunk(choices=[{"delta": {"images": [{"image_url": {"url": f"data:image/png;base64,{DATA}"}}]}}], x="LAST")
SPOKEN = chat_chunk(choices=[{"delta": {"audio": {"data": DATA, "transcript": "hello"}}}], x="LAST")
IMAGES = "/v1/images/generations"
_image, _a, _c = IMAGE_PRICES["output"], PRICES["A"]["output"], PRICES["C"]["output"]
#: What was asked, what passed, and what that costs at least: of pictures and sound alone.
NO_TEXT: dict[str, Any] = {
    "the last partial picture": ("a-images", RESPONSES, image_tool(), [partial(2)], of_tokens(_image, 4160)),
    "a small picture of a low quality": (
        "a-images",
        RESPONSES,
        image_tool(quality="low", size="1024x1024"),
        [partial(0)],
        of_tokens(_image, 272),
    ),
    "the picture itself": ("a-images", RESPONSES, image_tool(), [image_item("done", "completed")], of_tokens(_image, 4160)),
    "a picture that is being made": (
        "a-images",
        RESPONSES,
        image_tool(),
        [image_item("added", "in_progress")],
        of_tokens(_image, 4160),
    ),
    "a partial picture of the images endpoint": (
        "a-images",
        IMAGES,
        {"model": IMAGE_MODEL, "prompt": "a cat", "stream": True},
        [partial(0, "image_generation", "b64_json")],
        of_tokens(_image, 4160) + Decimal(IMAGE_PRICES["image"]),
    ),
    "two pictures of generate-content": ("c", STREAM_GENERATE, generate("draw"), [blob("image/png")] * 2, of_tokens(_c, 2580)),
    "sound of generate-content": ("c", STREAM_GENERATE, generate("say"), [blob("audio/L16;rate=24000")] * 4, of_tokens(_c, 60)),
    "a picture of Chat Completions": ("a", CHAT, chat("draw", stream=True), [DRAWN], of_tokens(_a, 1290)),
    "sound of Chat Completions": (
        "a",
        CHAT,
        chat("say", stream=True, modalities=["text", "audio"]),
        [SPOKEN] * 9,
        of_tokens(_a, 560),
    ),
}


@pytest.mark.parametrize("name", NO_TEXT)
def test_pictures_and_sound_that_passed(desk: Desk, name: str) -> None:
    """By documented constants, and what little text there is."""
    group, path, body, events, least = NO_TEXT[name]
    sent = left_in(desk, group, path, body, events, name)
    charged("estimated", least=str(least), most=str(least * Decimal("1.5") + Decimal("0.005")))(sent)
    assert not sent.record().get("trilane.uncovered"), sent


def test_nearly_all_of_a_picture(desk: Desk) -> None:
    """A picture without its last bytes is a picture, though its event has not ended."""
    cut = blob("image/png").replace(b'"}}', b"LAST", 1)[: -len(b'}], "x": "LAST"}\n\n')]
    sent = left_in(desk, "c", STREAM_GENERATE, generate("draw"), [cut.partition(b"LAST")[0] + b"LAST"], "cut")
    charged("estimated", least=str(of_tokens(_c, 1290)))(sent)


def server_tool(number: int, name: str = "web_search") -> bytes:
    block = {"type": "server_tool_use", "id": f"s{number}", "name": name, "input": {}}
    return event({"type": "content_block_start", "index": number, "content_block": block})


def search_item(kind: str, status: str) -> bytes:
    return event({"type": f"response.output_item.{kind}", "item": {"type": "web_search_call", "status": status}})


_start = {"id": "m", "model": MODELS["B"], "usage": {"input_tokens": 100, "server_tool_use": {"web_search_requests": 0}}}
START = event({"type": "message_start", "message": _start})
LAST_WORD = event({"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "LAST"}})
LAST_DELTA = event({"type": "response.output_text.delta", "delta": "LAST"})
SEARCHES: dict[str, Any] = {
    "Messages": ("b-classes", MESSAGES, message("search", stream=True), [START, *map(server_tool, range(5)), LAST_WORD], 5),
    "Responses, done": (
        "a-classes",
        RESPONSES,
        response("search", stream=True),
        [search_item("added", "in_progress"), search_item("done", "completed")] * 3 + [LAST_DELTA],
        3,
    ),
    "Responses, not done": (
        "a-classes",
        RESPONSES,
        response("search", stream=True),
        [search_item("added", "in_progress")] * 4 + [LAST_DELTA],
        4,
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_that_passed(classes_desk: Desk, name: str) -> None:
    group, path, body, events, searches = SEARCHES[name]
    sent = left_in(classes_desk, group, path, body, events, name)
    least = Decimal(PER_CALL["web_search"]) * searches
    charged("estimated", least=str(least), most=str(least + Decimal("0.009")))(sent)


_created = {"type": "response.created", "response": {"id": "r", "model": MODELS["A"], "status": "in_progress"}}
#: A first event without text, and how a request asks for reasoning.
FIRST: dict[str, tuple[bytes, dict[str, Any], str]] = {
    "chat": (chat_chunk("", x="LAST"), {"reasoning_effort": "high"}, "reasoning"),
    "responses": (event({**_created, "x": "LAST"}), {"reasoning": {"effort": "high"}}, "reasoning"),
    "messages": (
        event({"type": "message_start", "message": {"id": "m", "model": MODELS["B"]}, "x": "LAST"}),
        {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        "output",
    ),
    "generate": (
        event({"candidates": [{"content": {"parts": []}}], "modelVersion": MODELS["C"], "x": "LAST"}),
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "high"}}},
        "reasoning",
    ),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_reasoning_that_nobody_saw(desk: Desk, kind: str) -> None:
    """The model reasons for two seconds: a hundred tokens each."""
    group, path, body = STREAMS[kind]
    first, asks, price = FIRST[kind]
    sent = left_in(desk, group, path, body("hi", **asks), [first], kind, seconds=2)
    protocol = protocol_of_kind(kind)
    charged("estimated", least=cost(protocol, **{price: 190}), most=cost(protocol, input=100, **{price: 600}))(sent)


@pytest.mark.parametrize("kind", STREAMS)
def test_silence_that_is_no_reasoning(desk: Desk, kind: str) -> None:
    """Nobody asked for any; or nothing had begun but comments; or it was the source that went."""
    group, path, body = STREAMS[kind]
    first, asks, _ = FIRST[kind]
    most = cost(protocol_of_kind(kind), input=150)
    unasked = left_in(desk, group, path, body("hi"), [first], f"{kind}, unasked", seconds=1)
    charged("estimated", most=most)(unasked)
    comment = left_in(desk, group, path, body("hi", **asks), [b": LAST\n\n"], f"{kind}, a comment", seconds=1)
    charged("estimated", most=most)(comment)
    script = stream(first, Pause(1), Reset(), end=False)
    broken = desk.send(group, path, body("hi", **asks), name=f"{kind}, broken off", answer=script)
    # Nothing had been made.
    uncharged("failed")(broken)


@pytest.mark.parametrize("kind", ["chat", "messages"])
def test_an_estimate_keeps_to_the_cap(desk: Desk, kind: str) -> None:
    """And to none that the endpoint does not know."""
    group, path, body = STREAMS[kind]
    first, asks, price = FIRST[kind]
    protocol = protocol_of_kind(kind)
    known = left_in(desk, group, path, body("hi", **{**asks, "max_tokens": 10}), [first], "known", seconds=1)
    charged("estimated", most=cost(protocol, input=100, **{price: 10}))(known)
    other = body("hi", **{**asks, "max_output_tokens": 10})
    unknown = left_in(desk, group, path, other, [first], "unknown", seconds=1)
    charged("estimated", least=cost(protocol, **{price: 90}))(unknown)


# ---- Bodies whose end never comes


@pytest.mark.parametrize("length", [True, False], ids=["by length", "chunked"])
@pytest.mark.parametrize("kind", KINDS)
def test_complete_json_was_sent(desk: Desk, kind: str, length: bool) -> None:
    """An upstream that reads on its own may be at work on it, whether or not the end of the body comes."""
    group, path, body = KINDS[kind]

    def act(sent: Sent, client: Http1) -> None:
        data = sent.body or b""
        how = ("content-length", str(len(data) + 2)) if length else ("transfer-encoding", "chunked")
        client.head(sent.method, sent.path, [*sent.headers, how])
        (client.send if length else client.chunk)(data)
        desk.recorder.wait(sent.marker, size=len(data))
        client.reset()

    sent = desk.send(group, path, body(prompt), name=kind, act=act)
    charged("estimated", least=bounds(kind, said=0)["least"])(sent)


@pytest.mark.parametrize("kind", KINDS)
def test_complete_json_with_something_behind_it(desk: Desk, kind: str) -> None:
    """It is refused, and paid for: it had been there."""
    group, path, body = KINDS[kind]

    def act(sent: Sent, client: Http1) -> Any:
        data = sent.body or b""
        client.head(sent.method, sent.path, [*sent.headers, ("transfer-encoding", "chunked")])
        client.chunk(data)
        desk.recorder.wait(sent.marker, size=len(data))
        client.chunk(b"x")
        return client.answer()

    sent = desk.send(group, path, body(prompt), name=kind, act=act, answer=[WAIT()])
    assert sent.status == 400, sent
    charged("estimated", least=bounds(kind, said=0)["least"])(sent)
    recorded(trilane__outcome="refused")(sent)


# ---- Numbers beyond all measure


@pytest.mark.parametrize("kind", STREAMS)
def test_a_count_that_no_answer_comes_to(desk: Desk, kind: str) -> None:
    """It is not believed: charged is what is estimated, and the line says so."""
    group, path, body = STREAMS[kind]
    usage = {name: value * 10**9 if "output" in name or "c" == name[0] else value for name, value in kind_usage(kind).items()}
    usage = {name: value for name, value in usage.items() if "otal" not in name}
    sent = desk.send(group, path, body(prompt), name=kind, answer=in_events(kind, usage))
    charged("estimated", most=bounds(kind)["most"])(sent)
    assert "more than any answer comes to" in sent.record()["trilane.usage.doubt"], sent


# ---- Answers that the meter cannot read


def unread(desk: Desk) -> int:
    return sum(counters(desk.stack, desk.ledger, r"trilane_unread_answers_total").values())


GZIP = ("content-encoding: gzip",)
UNREADABLE: dict[str, Script] = {
    "compressed": [head("200 OK", "application/json", *GZIP, length=60) + b"\x1f\x8b\x08\x00" + b"\x99" * 56],
    "a compressed stream": stream(b"\x1f\x8b\x08\x00" + b"\x99" * 500, more=GZIP),
    "JSONP": [whole(b"call(" + b'{"usage":null}' + b");", "200 OK", "text/javascript")],
    "JSONP with a comment": [whole(b"// API callback\ncall({});", "200 OK", "text/javascript")],
    "XML": [whole(b"<?xml version='1.0'?><x/>", "200 OK", "application/xml")],
    "protocol buffers": [whole(b"\x0a\x05hello\x12\x03abc", "200 OK", "application/x-protobuf")],
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("kind", KINDS)
def test_answers_that_nobody_reads(desk: Desk, kind: str, name: str) -> None:
    group, path, body = STREAMS[kind] if "stream" in name else KINDS[kind]
    before = unread(desk)
    sent = desk.send(group, path, body(prompt), name=f"{kind}: {name}", answer=UNREADABLE[name])
    charged("estimated", least=bounds(kind, said=0)["least"])(sent)
    assert unread(desk) == before + 1, sent


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n", b"\n: "], ids=repr)
@pytest.mark.parametrize("kind", STREAMS)
def test_a_last_event_without_its_blank_line(desk: Desk, kind: str, end: bytes) -> None:
    group, path, body = STREAMS[kind]
    events = EVENTS[kind](usage=kind_usage(kind))
    if kind == "chat":
        events = [*events[:-2], chat_chunk(usage=kind_usage(kind))]
    if kind == "messages":
        events = events[:-1]
    events[-1] = events[-1].rstrip(b"\r\n") + end
    sent = desk.send(group, path, body(prompt), name=f"{kind} {end!r}", answer=stream(*events))
    record = sent.record()
    # Read: the very usage. Or not: estimated, and never less.
    usage = cost(protocol_of_kind(kind), input=1000, output=500)
    assert record["trilane.usage.status"] in ("complete", "estimated", "partial"), record
    assert amount(record) >= Decimal(usage), record


# ---- Budgets and limits


@pytest.mark.parametrize("kind", STREAMS)
def test_a_budget_ends(desk: Desk, kind: str) -> None:
    """Neither streams without usage nor leaving early goes on for ever."""
    group, path, body = STREAMS[kind]
    for way, how in {"no usage": {"answer": in_events(kind)}, "leaves": {"act": leave_when_sent}}.items():
        key = desk.new_key(group, "budget")
        first = desk.send(group, path, body(prompt), name=f"{kind}: {way}", key=key, **how)
        charged("estimated")(first)
        assert Decimal(first.record()["trilane.spent.key.day"]) == amount(first.record()), first
        second = desk.send(group, path, body(prompt), name=f"{kind}: {way}, again", key=key)
        assert (second.status, second.code) == (429, "insufficient_quota"), second
        assert not second.arrived(), second


def test_a_limit_of_output_counts_what_is_estimated(desk: Desk) -> None:
    """And not what was reserved: the upstream ignored the cap, so much passed."""
    key = desk.new_key("a", "output")
    said = text * 3
    codes = []
    for _ in range(6):
        script = in_events("chat", content=said)
        sent = desk.send("a", CHAT, chat(stream=True, max_tokens=50), name="again", key=key, answer=script)
        codes.append(sent.status)
    assert codes[0] == 200 and codes[-1] == 429, codes
