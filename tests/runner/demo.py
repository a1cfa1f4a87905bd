"""The keys of the sample document and requests that work with them.

The document has only the keys' digests. Their values are public: use them for nothing but examples.
"""

from __future__ import annotations

#: Id of the key in `gateway.json` -> its value.
DEMO_KEYS = {
    "key_a": "trilane-demo-a",
    "key_b": "trilane-demo-b",
    "key_b_low": "trilane-demo-b-low",
    "key_mixed": "trilane-demo-mixed",
    "key_c": "trilane-demo-c",
    "key_expired": "trilane-demo-expired",
    "key_disabled": "trilane-demo-disabled",
}


def curl_lines(base_url: str, simulated: bool) -> list[str]:
    """One request for each protocol. The second one streams, slowly enough to watch if the simulator answers."""
    pace = " -H 'x-sim-gap-ms: 200'" if simulated else ""
    hello = '[{"role":"user","content":"Hello"}]'
    return [
        f"curl {base_url}/v1/chat/completions -H 'authorization: Bearer {DEMO_KEYS['key_a']}'"
        " -H 'content-type: application/json'"
        f' -d \'{{"model":"gpt-5.1","messages":{hello}}}\'',
        f"curl -N {base_url}/v1/messages -H 'x-api-key: {DEMO_KEYS['key_b']}' -H 'anthropic-version: 2023-06-01'"
        f" -H 'content-type: application/json'{pace}"
        f' -d \'{{"model":"claude-opus-4-5","max_tokens":256,"stream":true,"messages":{hello}}}\'',
        f"curl {base_url}/v1beta/models/gemini-2.5-flash:generateContent -H 'x-goog-api-key: {DEMO_KEYS['key_c']}'"
        " -H 'content-type: application/json'"
        ' -d \'{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}\'',
    ]
