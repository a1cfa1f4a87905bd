//! Chat Completions: what stands where, and what it means.
//!
//! Every chunk of a stream may carry a `usage`, beside its choices, in one of them (Kimi) or in `x_groq` (Groq); it speaks
//! for the whole answer. `prompt_tokens` contains the cached, audio and image tokens, `completion_tokens` the reasoning,
//! audio and images, unless the total says otherwise. Many vendors speak this protocol, some with names of their own:
//! docs/vendors.md has the page for each of them.
//!
//! Text of the model stands in the `delta` of a chunk and in the `message` of a document. Some upstreams repeat in the
//! `message` of each chunk all that was written so far: that counts for nothing.

use super::Call;
use super::doubt::Terms;
use super::numbers::Slot;
use super::responses::{
    self, CACHE_CREATION, CACHE_WRITE, CACHED, CITATIONS, CLAUDE_1H, CLAUDE_5M, CREATED, CREATION,
    CREATION_1H, CREATION_5M, HITS, INPUT, INPUT_AUDIO, INPUT_IMAGE, METRIC_INPUT, METRIC_OUTPUT,
    METRIC_READ, METRIC_WRITTEN, MISSES, NUM_CACHED, OTHER_INPUT, OTHER_OUTPUT, OUTPUT,
    OUTPUT_AUDIO, OUTPUT_IMAGE, REASONING, SINGULAR_CACHED, TIMED_CACHED, TIMED_INPUT,
    TIMED_OUTPUT, TOP_CACHED, TOP_CREATION, TOP_READ, TOP_REASONING, TOTAL,
};
use super::table::{
    COST, ERROR, Ends, EventClass, FAILURE, Generated, Marker, Merge, Node, NodeMember, TICKS,
    TextField, WireTable, array, number, object, root, text,
};

const ACCEPTED: Slot = 10;
const REJECTED: Slot = 11;
const SEARCHES: Slot = 12;
const QUERIES: Slot = 13;
const SOURCES: Slot = 14;

pub(super) static TABLE: WireTable = WireTable {
    document: root(DOCUMENT, &DOCUMENT_ELEMENT),
    event: root(EVENT, &EVENT_ELEMENT),
    names: &[
        "prompt_tokens",
        "prompt_tokens_details.cached_tokens",
        "prompt_tokens_details.cache_write_tokens",
        "completion_tokens",
        "completion_tokens_details.reasoning_tokens",
        "prompt_tokens_details.audio_tokens",
        "prompt_tokens_details.image_tokens",
        "completion_tokens_details.audio_tokens",
        "completion_tokens_details.image_tokens",
        "total_tokens",
        "completion_tokens_details.accepted_prediction_tokens",
        "completion_tokens_details.rejected_prediction_tokens",
        "server_tool_use.web_search_requests",
        "num_search_queries",
        "num_sources_used",
        "",
        "cost_in_usd_ticks",
        "",
        "",
        "",
        "",
        "prompt_cache_hit_tokens",
        "prompt_cache_miss_tokens",
        "cached_tokens",
        "cache_read_input_tokens",
        "prompt_tokens_details.cache_creation_input_tokens",
        "cache_creation_input_tokens",
        "prompt_tokens_details.cache_creation.ephemeral_5m_input_tokens",
        "prompt_tokens_details.cache_creation.ephemeral_1h_input_tokens",
        "reasoning_tokens",
        "prompt_tokens_details.cached_creation_tokens",
        "prompt_tokens_details.cache_creation_tokens",
        "num_cached_tokens",
        "prompt_token_details.cached_tokens",
        "input_tokens",
        "output_tokens",
        "claude_cache_creation_5_m_tokens",
        "claude_cache_creation_1_h_tokens",
        "citation_tokens",
        "",
        "amazon-bedrock-invocationMetrics.inputTokenCount",
        "amazon-bedrock-invocationMetrics.outputTokenCount",
        "amazon-bedrock-invocationMetrics.cacheReadInputTokenCount",
        "amazon-bedrock-invocationMetrics.cacheWriteInputTokenCount",
        "timings.prompt_n",
        "timings.cache_n",
        "timings.predicted_n",
    ],
    merge: Merge::Replace,
    beside: responses::BESIDE_USAGE,
    event_of: |_| Some(EventClass::Plain),
    ends: Ends::Word,
    calls: &[
        (Call::WebSearch, SEARCHES),
        (Call::WebSearch, QUERIES),
        (Call::WebSearch, SOURCES),
    ],
    roles: responses::ROLES,
    terms: Terms {
        input: "prompt_tokens",
        output: "completion_tokens",
        total: "total_tokens",
        cached: "cached_tokens",
        written: "cache_write_tokens",
        reasoning: "reasoning_tokens",
    },
    reports_calls: true,
    images_made: None,
    usage: responses::usage,
};

const DOCUMENT_ELEMENT: Node = object(DOCUMENT).marked(Marker::Element);
const EVENT_ELEMENT: Node = object(EVENT).marked(Marker::Element);

const DOCUMENT: &[NodeMember] = &members(&MESSAGE_CHOICE);
const EVENT: &[NodeMember] = &members(&DELTA_CHOICE);

const fn members(choice: &'static Node) -> [NodeMember; 10] {
    [
        ("id", text(TextField::Id)),
        ("model", text(TextField::Model)),
        ("choices", array(choice)),
        ("usage", USAGE),
        ("x_groq", object(&[("usage", USAGE)])),
        ("service_tier", text(TextField::Tier)),
        ("error", ERROR),
        ("timings", object(TIMINGS)),
        ("amazon-bedrock-invocationMetrics", object(INVOCATION)),
        ("base_resp", object(BASE_RESPONSE)),
    ]
}

/// Of MiniMax, which says 200 to everything.
const BASE_RESPONSE: &[NodeMember] = &[("status_code", number(FAILURE))];

/// Of llama.cpp: its prompt has nothing of what came from the cache.
const TIMINGS: &[NodeMember] = &[
    ("prompt_n", number(TIMED_INPUT)),
    ("cache_n", number(TIMED_CACHED)),
    ("predicted_n", number(TIMED_OUTPUT)),
];

/// Of Bedrock: its input has nothing of a cache.
const INVOCATION: &[NodeMember] = &[
    ("inputTokenCount", number(METRIC_INPUT)),
    ("outputTokenCount", number(METRIC_OUTPUT)),
    ("cacheReadInputTokenCount", number(METRIC_READ)),
    ("cacheWriteInputTokenCount", number(METRIC_WRITTEN)),
];

const MESSAGE_CHOICE: Node = object(&[
    ("message", object(WRITTEN).marked(Marker::Written)),
    ("finish_reason", text(TextField::Finish)),
    ("usage", USAGE),
    ("error", ERROR),
]);

const DELTA_CHOICE: Node = object(&[
    ("delta", object(WRITTEN).marked(Marker::Written)),
    ("finish_reason", text(TextField::Finish)),
    ("usage", USAGE),
    ("error", ERROR),
]);

/// Text of the model: some upstreams have `content` in parts, the reasoning under a name of their own or under several,
/// and pictures beside the content.
const WRITTEN: &[NodeMember] = &[
    ("content", CONTENT),
    ("reasoning_content", Node::REASONING),
    ("reasoning", Node::REASONING),
    ("reasoning_details", REASONING_DETAILS),
    ("refusal", Node::TEXT),
    ("tool_calls", array(&TOOL_CALL)),
    ("function_call", object(FUNCTION)),
    (
        "audio",
        object(&[("transcript", Node::TEXT), ("data", Node::DATA)]).marked(Marker::Sound),
    ),
    ("images", array(&PICTURE)),
];

const REASONING_DETAILS: Node = array(&object(&[
    ("text", Node::REASONING_PART),
    ("summary", Node::REASONING_PART),
]))
.marked(Marker::ReasoningParts);

/// A picture, as a part of the content or in a list of its own.
const PICTURE: Node = object(&[
    ("image_url", IMAGE_URL),
    ("url", Node::DATA),
    ("b64_json", Node::DATA),
])
.marked(Marker::Media);

const IMAGE_URL: Node = Node {
    generated: Generated::Data,
    ..object(&[("url", Node::DATA)])
};

const CONTENT: Node = Node {
    generated: Generated::Text,
    ..array(&object(&[
        ("text", Node::TEXT),
        ("thinking", Node::WRITTEN),
        ("refusal", Node::TEXT),
        (
            "image_url",
            object(&[("url", Node::DATA)]).marked(Marker::Media),
        ),
    ]))
};

const TOOL_CALL: Node = object(&[("function", object(FUNCTION)), ("custom", object(FUNCTION))]);

const FUNCTION: &[NodeMember] = &[
    ("name", Node::TEXT),
    ("arguments", Node::WRITTEN),
    ("input", Node::TEXT),
];

const USAGE: Node = object(&[
    ("prompt_tokens", number(INPUT)),
    ("completion_tokens", number(OUTPUT)),
    ("total_tokens", number(TOTAL)),
    ("prompt_tokens_details", object(PROMPT_DETAILS)),
    ("completion_tokens_details", object(COMPLETION_DETAILS)),
    ("cached_tokens", number(TOP_CACHED)),
    ("prompt_cache_hit_tokens", number(HITS)),
    ("prompt_cache_miss_tokens", number(MISSES)),
    ("cache_read_input_tokens", number(TOP_READ)),
    ("cache_creation_input_tokens", number(TOP_CREATION)),
    ("reasoning_tokens", number(TOP_REASONING)),
    (
        "server_tool_use",
        object(&[("web_search_requests", number(SEARCHES))]),
    ),
    ("extra_properties", responses::VERTEX),
    ("cost_in_usd_ticks", number(TICKS)),
    (
        "cost",
        // Perplexity tells its parts beside the sum.
        Node {
            number: Some(COST),
            ..object(&[("total_cost", number(COST))])
        },
    ),
    ("input_tokens", number(OTHER_INPUT)),
    ("output_tokens", number(OTHER_OUTPUT)),
    ("num_cached_tokens", number(NUM_CACHED)),
    (
        "prompt_token_details",
        object(&[("cached_tokens", number(SINGULAR_CACHED))]),
    ),
    ("claude_cache_creation_5_m_tokens", number(CLAUDE_5M)),
    ("claude_cache_creation_1_h_tokens", number(CLAUDE_1H)),
    ("citation_tokens", number(CITATIONS)),
    ("num_search_queries", number(QUERIES)),
    ("num_sources_used", number(SOURCES)),
])
.marked(Marker::Usage);

const PROMPT_DETAILS: &[NodeMember] = &[
    ("cached_tokens", number(CACHED)),
    ("cache_write_tokens", number(CACHE_WRITE)),
    ("cache_creation_input_tokens", number(CREATION)),
    ("cached_creation_tokens", number(CREATED)),
    ("cache_creation_tokens", number(CACHE_CREATION)),
    (
        "cache_creation",
        object(&[
            ("ephemeral_5m_input_tokens", number(CREATION_5M)),
            ("ephemeral_1h_input_tokens", number(CREATION_1H)),
        ]),
    ),
    ("audio_tokens", number(INPUT_AUDIO)),
    ("image_tokens", number(INPUT_IMAGE)),
];

const COMPLETION_DETAILS: &[NodeMember] = &[
    ("reasoning_tokens", number(REASONING)),
    ("audio_tokens", number(OUTPUT_AUDIO)),
    ("image_tokens", number(OUTPUT_IMAGE)),
    ("accepted_prediction_tokens", number(ACCEPTED)),
    ("rejected_prediction_tokens", number(REJECTED)),
];
