"""What the clients do: a request drawn at random, and how it is to end."""

from __future__ import annotations

import json

from .documents import ACCOUNTS, B_MODELS, KEYS, SOURCES, source_of
from .limits import group_of
from .shapes import JSON, Plan, Shapes

#: Ending -> how often it is drawn, of the sum of all. The first word says whose doing it is.
ENDINGS = {
    "finished": 520,
    "client leaves in request": 30,
    "client leaves before answer": 40,
    "client leaves in answer": 80,
    "client leaves after end": 30,
    "source cuts before head": 20,
    "source cuts in answer": 60,
    "source stalls": 2,
    "source says error": 30,
    "source ends early": 60,
    "source tells nothing": 20,
    "source status": 60,
    "account fails": 110,
    "account hangs": 3,
    "refused": 80,
    "refused late": 15,
    "refused by Envoy": 5,
    "list": 20,
    "count": 15,
}
#: What shows that a stream has come to its protocol's end.
END_MARKS = {
    "chat": b"[DONE]",
    "responses": b"response.completed",
    "images": b".completed",
    "messages": b"message_stop",
    "generate": b"finishReason",
}
STATUSES = (400, 401, 402, 403, 404, 408, 429, 500, 503, 529)
#: How single accounts fail while others answer; 0 for a connection that breaks.
FAILURES = (0, 0, 401, 402, 403, 429, 429, 500, 502, 503, 504, 529)


class Planner(Shapes):
    """Draws plans. The same seed and name always draw the same ones."""

    def __init__(self, seed: int, name: str) -> None:
        super().__init__(seed, name)
        self._prefix = f"{seed}-{name}"
        self._count = 0

    def next(self) -> Plan:
        """The next request."""
        self._count += 1
        draw = self._random
        ending = draw.choices(list(ENDINGS), list(ENDINGS.values()))[0]
        marker = f"{self._prefix}-{self._count}"
        if ending in ("refused", "refused by Envoy", "list"):
            plan = getattr(self, "_" + ending.lower().replace(" ", "_"))(marker)
        elif ending == "count":
            plan = self._counting(marker)
        else:
            plan = self._call(marker, ending)
        plan.inflated = plan.inflated or len(plan.body)
        return plan

    def probe(self, key: str) -> Plan:
        """A request that finds a free slot, if nothing else limits this key."""
        self._count += 1
        marker = f"{self._prefix}-{self._count}"
        plan = Plan(marker, "slot is free", "POST", "", self._credential("B", KEYS[key]), b"", key, group_of(key), "B")
        plan.headers += [("x-sim-marker", marker), ("x-sim-usage", "random"), ("x-sim-delay-ms", "300")]
        self._shape_b(plan)
        plan.inflated = plan.inflated or len(plan.body)
        return plan

    # ---- Calls of models

    def _call(self, marker: str, ending: str) -> Plan:
        draw = self._random
        streams = ending in ("client leaves after end", "source says error")
        while True:
            plan = self._request(marker, ending)
            others = len(ACCOUNTS.get(source_of(plan.group, plan.protocol), ())) > 1
            if (plan.events or not streams) and (others or not ending.startswith("account")):
                break
        plan.headers.append(("x-sim-usage", "random"))
        if plan.events and ending != "client leaves after end" and draw.random() < 0.5:
            plan.headers.append(("x-sim-events", str(draw.randint(3, 12))))
        getattr(self, "_" + ending.replace(" ", "_"))(plan)
        return plan

    # ---- Endings

    def _sse(self, plan: Plan) -> bool:
        return plan.events and (plan.protocol != "C" or "alt=sse" in plan.path)

    def _scenario(self, plan: Plan, *names: str) -> None:
        plan.headers.append(("x-sim-scenario", ",".join(names)))
        plan.detail = ",".join(names)

    def _finished(self, plan: Plan) -> None:
        draw = self._random
        names = []
        if self._sse(plan) and draw.random() < 0.4:
            names.append(draw.choice(("lf", "crlf", "cr")))
            names += [name for name in ("pings", "multiline") if draw.random() < 0.3]
        if plan.form not in ("images", "embed") and draw.random() < 0.15:
            names.append("decoy")
        place = {
            "chat": ("usage-on-last-choice", "usage-on-every-chunk"),
            "messages": ("cumulative",),
            "generate": ("usage-at-end",),
        }.get(plan.form)
        if plan.events and place and draw.random() < 0.25:
            names.append(draw.choice(place))
            plan.told = None if plan.form == "chat" else True
        if plan.form == "responses" and draw.random() < 0.15:
            names.append("incomplete")
        if names:
            self._scenario(plan, *names)
        if draw.random() < 0.1:
            plan.headers.append(("x-sim-drip", str(draw.randint(7, 300))))
        if draw.random() < 0.01:
            plan.headers.append(("x-sim-event-bytes" if plan.events else "x-sim-body-bytes", "200000"))

    def _client_leaves_in_request(self, plan: Plan) -> None:
        plan.leaves, plan.leaves_at = "request", self._random.randrange(len(plan.body))

    def _client_leaves_before_answer(self, plan: Plan) -> None:
        plan.headers.append(("x-sim-delay-ms", "1500"))
        plan.leaves, plan.leaves_at = "wait", self._random.random() * 0.08

    def _client_leaves_in_answer(self, plan: Plan) -> None:
        if plan.events:
            plan.headers.append(("x-sim-gap-ms", str(self._random.randint(2, 15))))
        else:
            plan.headers.append(("x-sim-body-bytes", "300000"))
        plan.leaves, plan.leaves_at = "body", self._random.randint(0, 2000)
        plan.resets = self._random.random() < 0.5

    def _client_leaves_after_end(self, plan: Plan) -> None:
        plan.headers.append(("x-sim-gap-ms", "25"))
        plan.leaves, plan.leaves_at = "mark", END_MARKS[plan.form]
        plan.resets = self._random.random() < 0.5

    def _source_cuts_before_head(self, plan: Plan) -> None:
        plan.headers.append(("x-sim-cut", "head"))

    def _source_cuts_in_answer(self, plan: Plan) -> None:
        where = self._random.choice(("body", "after=1", "after=2", "after=3") if plan.events else ("body",))
        plan.headers.append(("x-sim-cut", where))
        plan.detail = where

    def _source_stalls(self, plan: Plan) -> None:
        where = self._random.choice(("head", "body", "after=1") if plan.events else ("head", "body"))
        plan.headers.append(("x-sim-stall", where))
        plan.detail = where

    def _source_says_error(self, plan: Plan) -> None:
        failed = plan.form == "responses" and self._random.random() < 0.5
        self._scenario(plan, "failed" if failed else "error")

    def _source_ends_early(self, plan: Plan) -> None:
        self._scenario(plan, self._random.choice(("truncated", "torn", "no-end") if plan.events else ("torn",)))

    def _source_tells_nothing(self, plan: Plan) -> None:
        self._scenario(plan, "no-usage")
        plan.told = plan.form == "images"

    def _source_status(self, plan: Plan) -> None:
        plan.detail = str(self._random.choice(STATUSES))
        plan.headers.append(("x-sim-status", plan.detail))

    def _account_fails(self, plan: Plan) -> None:
        """Others answer, and so does the gateway."""
        status = self._random.choice(FAILURES)
        plan.headers.append(("x-sim-status", str(status)) if status else ("x-sim-cut", "head"))
        if status == 429:
            plan.headers.append(("x-sim-retry-after", "7"))
        self._only_at(plan, self._random.choice((1, 1, 2)))
        plan.detail += f" {status or 'cut'}"

    def _account_hangs(self, plan: Plan) -> None:
        plan.headers.append(("x-sim-stall", "head"))
        self._only_at(plan, 1)

    def _only_at(self, plan: Plan, number: int) -> None:
        listed = ACCOUNTS[source_of(plan.group, plan.protocol)]
        failing = self._random.sample(sorted(listed), number)
        plan.headers.append(("x-sim-at", ",".join(listed[name].listener for name in failing)))
        plan.detail = ", ".join(failing)
        if plan.form == "embed":
            plan.told = None  # the accounts that answer are not told to tell usage

    def _refused_late(self, plan: Plan) -> None:
        """Whole but for its end, which spoils it."""
        draw = self._random
        plan.group, plan.protocol, plan.model = draw.choice(("b-one", "b-low", "mixed-one")), "B", B_MODELS[0]
        plan.key = plan.group
        plan.path, plan.endpoint, plan.form, plan.inflated = "/v1/messages", "messages", "messages", 0
        messages = [{"role": "user", "content": self._text()}]
        body = json.dumps({"model": plan.model, "max_tokens": 5, "messages": messages}).encode()
        plan.body = body[:-1] + draw.choice((b',"model":"other"}', b"}}", b"] ", b""))
        plan.headers = [*self._credential("B", KEYS[plan.group]), ("x-sim-marker", plan.marker), JSON]

    # ---- What calls no model

    def _refused(self, marker: str) -> Plan:
        plan = self._request(marker, "refused")
        draw = self._random
        plan.detail = draw.choice(("key", "no key", "model", "body", "group", "path", "method"))
        others = {"A": "b-one", "B": "c-one", "C": "a-asks"}
        head = [pair for pair in plan.headers if pair[0] in ("x-sim-marker", "content-type", "anthropic-version")]
        marked = ("x-sim-marker", marker)
        if plan.detail == "key":
            plan.headers = [*self._credential(plan.protocol, "soak-nobody"), *head]
        elif plan.detail == "no key":
            plan.headers = head
        elif plan.detail == "group":
            plan.headers = [*self._credential(plan.protocol, KEYS[others[plan.protocol]]), *head]
        elif plan.detail == "path":
            plan.path = "/v9/none"
        elif plan.detail == "method":
            plan.path, plan.method = "/v1/messages", "PUT"
        elif plan.detail == "model":
            plan.path, plan.body = "/v1/messages", b'{"model":"soak-no-such-model","max_tokens":5,"messages":[]}'
            plan.headers = [*self._credential("B", KEYS["b-one"]), marked, JSON]
        else:
            plan.path, plan.body = "/v1/messages", b'{"model" "claude-opus-4-5"}'
            plan.headers = [*self._credential("B", KEYS["b-one"]), marked, JSON]
        if not any(name == "content-encoding" for name, _ in plan.headers):
            plan.inflated = len(plan.body)
        plan.form = plan.model = ""
        return plan

    def _refused_by_envoy(self, marker: str) -> Plan:
        headers = [*self._credential("A", KEYS["a-asks"]), ("x-sim-marker", marker)]
        return Plan(marker, "refused by Envoy", "GET", "/v1%2Fmodels", headers, b"")

    def _list(self, marker: str) -> Plan:
        draw = self._random
        key = draw.choice(list(KEYS))
        group = group_of(key)
        protocol = SOURCES[group].protocol if group in SOURCES else draw.choice("ABC")
        path = "/v1beta/models" if protocol == "C" else "/v1/models"
        if draw.random() < 0.2:
            return Plan(marker, "list", "GET", "/healthz", [], b"")
        headers = [*self._credential(protocol, KEYS[key]), ("x-sim-marker", marker)]
        return Plan(marker, "list", "GET", path, headers, b"", key, group, protocol)

    def _counting(self, marker: str) -> Plan:
        plan = self._request(marker, "count")
        while plan.protocol == "A":
            plan = self._request(marker, "count")
        plan.form, plan.told, plan.stream = "", None, False
        if plan.protocol == "B":
            plan.path, plan.endpoint = "/v1/messages/count_tokens", "count_tokens"
        else:
            plan.path, plan.endpoint = f"/v1beta/models/{plan.model}:countTokens", "countTokens"
        return plan
