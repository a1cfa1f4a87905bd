//! A simulator of the upstreams behind the gateway, for tests and benchmarks.
//!
//! Every listener speaks all three protocols over HTTP/1.1 and HTTP/2 (prior knowledge), true enough for the official
//! SDKs. All listeners share one journal. A listener with TLS negotiates the version of HTTP; what is not TLS, or comes
//! to no agreement, leaves no trace in the journal.
//!
//! | protocol | endpoints |
//! |---|---|
//! | A | `POST /v1/chat/completions`, `/v1/responses`, `/v1/responses/compact`, `/v1/responses/input_tokens`, `/v1/embeddings`, `/v1/images/generations`, `/v1/images/edits` |
//! | B | `POST /v1/messages`, `/v1/messages/count_tokens`; without `anthropic-version`: 400 |
//! | C | `POST /v1beta/models/{m}:` `generateContent`, `streamGenerateContent` (`?alt=sse` or an array), `countTokens`, `embedContent`, `batchEmbedContents`; `/v1beta/*`: simple objects and lists |
//!
//! Anything else is a 404 in the protocol's shape with `x-sim: unknown-path`. Usage is the same in every answer, unless
//! the request asks for other numbers. Every response has `x-sim-upstream: NAME` and `x-request-id: sim-N` (B:
//! `request-id` too).
//!
//! # Request headers
//!
//! An unknown `x-sim-*` header, or a value that makes no sense, is a 400 with `x-sim: bad-instruction`; so is a
//! scenario that the answer has no way to play.
//!
//! | header | effect |
//! |---|---|
//! | `x-sim-echo: 1` | answers what was received, with the fields of a journal entry |
//! | `x-sim-marker: TEXT` | finds the request in the journal |
//! | `x-sim-at: NAME,…` | obeys the other headers (but `echo`) only on these listeners |
//! | `x-sim-status: N` | answers this status; from 400 on with the protocol's error body |
//! | `x-sim-retry-after: TEXT` | sends this `retry-after` |
//! | `x-sim-limits: 1` | sends the vendor's rate limit headers, and forged ones of the gateway's budgets |
//! | `x-sim-delay-ms: N` | waits before the response head (after the request body) |
//! | `x-sim-events: N` | number of deltas in a stream; 5 if absent |
//! | `x-sim-event-bytes: N` | size of the text of a delta |
//! | `x-sim-gap-ms: N` | pause after each event |
//! | `x-sim-drip: N` | writes the body in pieces of N bytes |
//! | `x-sim-body-bytes: N` | pads a JSON answer to this size |
//! | `x-sim-cut: head` `body` `after=N` | resets (HTTP/1: the connection, HTTP/2: the stream) before the head, in the middle of the first event, or after N events |
//! | `x-sim-stall: head` `body` `after=N` | hangs there instead |
//! | `x-sim-early: 1` or `close` | answers before reading the request body; then drains it, or never reads it |
//! | `x-sim-slow-read-ms: N` | pause after each frame of the request body |
//!
//! | `x-sim-usage: KIND=N,…` or `random` | reports these numbers, see [Usage](#usage) |
//! | `x-sim-scenario: NAME,…` | ends or writes the answer in another way, see [Scenarios](#scenarios) |
//!
//! All events count, the deltas and the ones around them; a body that is no stream is one event.
//!
//! # Usage
//!
//! The kinds are `input`, `input_image`, `cache_read`, `cache_write_5m`, `cache_write_1h`, `tool_use`, `output`,
//! `reasoning` and `images`. No token is of two kinds; what is not named is zero. Each answer writes them in its
//! vendor's words and sums, as far as those can tell them:
//!
//! | answer | tells | differently |
//! |---|---|---|
//! | chat, responses | `input`, `cache_read`, `cache_write_5m`, `output`, `reasoning` | `cache_write_1h` is told as `cache_write_5m`: the vendor has one number for both |
//! | images | `input`, `input_image`, `output`, `images` | `images` is the number of images in the answer; not named, it is the body's `n`, in a stream 1 |
//! | messages | `input`, `cache_read`, `cache_write_5m`, `cache_write_1h`, `output` | `reasoning` is told as `output`, which includes it |
//! | generated content | `input`, `cache_read`, `tool_use`, `output`, `reasoning` | |
//! | embeddings | `input`; in protocol C only when asked to | |
//!
//! Kinds that an answer cannot tell are left out of it. `random` draws modest numbers from the marker, or else from the
//! number of the request: the same marker always gets the same numbers.
//!
//! In a stream: chat tells usage in a chunk of its own before `[DONE]`, if the body has `include_usage`; responses in
//! `response.completed`; images in each `….completed` (the last has the whole); messages the input and
//! `output_tokens: 1` in `message_start`, and the output in `message_delta`; generated content in every chunk, where
//! the output grows in equal steps (without `x-sim-usage` it is 10 before the last chunk).
//!
//! # Scenarios
//!
//! At most one ending, one place for usage, and one line end; all of them can be combined.
//!
//! | ending | of | effect |
//! |---|---|---|
//! | `error` | streams | after the deltas comes the protocol's error event, and nothing more |
//! | `truncated` | streams | ends after the deltas |
//! | `torn` | all | ends in the middle of the event after the deltas; a JSON answer in the middle of its text, with a fitting length |
//! | `no-end` | streams | lacks its last event (`[DONE]`, `message_stop`, …) |
//! | `incomplete` | responses | ends with `response.incomplete`; a JSON answer has that status |
//! | `failed` | responses | after the deltas comes `response.failed` without usage; a JSON answer has that status |
//!
//! All of these are clean ends of the body; for resets see `x-sim-cut`.
//!
//! | place of usage | of | effect |
//! |---|---|---|
//! | `no-usage` | all | nowhere (embeddings of protocol C have none anyway) |
//! | `usage-on-last-choice` | chat streams | in the chunk with the finish reason, asked for or not |
//! | `usage-on-every-chunk` | chat streams | in every chunk but the first and `[DONE]`; the output grows |
//! | `cumulative` | messages streams | `message_start` has half the input and no cache read; three `message_delta` have all but `cache_creation`, and the output grows |
//! | `usage-at-end` | generated content, streamed | only in the last chunk |
//!
//! | writing | of | effect |
//! |---|---|---|
//! | `lf`, `crlf`, `cr` | server-sent events | ends lines so; else protocol C has CRLF and the others LF |
//! | `pings` | server-sent events | before each event a comment (`: ping`), in protocol B a `ping` event; they do not count as events |
//! | `multiline` | server-sent events | breaks data into a line per member |
//! | `big` | all | deltas and JSON answers of 1 MiB, unless `x-sim-event-bytes` or `x-sim-body-bytes` says otherwise |
//! | `decoy` | all but images and embeddings | the text looks like usage and like the end of a stream |
//! | `leak` | errors by `x-sim-status` | the message names the account behind the gateway: `sk-upstream-secret` |
//!
//! # Control paths
//!
//! They are on every listener, and not counted themselves.
//!
//! | path | answer |
//! |---|---|
//! | `GET /_sim/ready` | 200 |
//! | `GET /_sim/count` | `{"requests":N,"by_listener":{…}}`, counted when a head arrives |
//! | `GET /_sim/requests` | the last 4096 entries, oldest first; `?last=N`, `?marker=VALUE` (compared as it is written) |
//! | `DELETE /_sim/requests` | clears entries and counts |
//! | `GET /_sim/totals` | `{"requests":N,"by_state":{…},"most_at_once":N,"with_usage":N,"issued":{…}}`: sums over all requests, whatever the journal keeps, and how many were under way at the same time |
//! | `DELETE /_sim/totals` | begins new totals; requests that have begun already do not count in them |
//!
//! An entry has `id`, `state`, `status`, `events_sent`, `issued`, `listener`, `tls` (null, or its `sni` and `alpn`, each
//! null where there was none), `method`, `path`, `authority`, `version`, `headers` (names in lower case, repeated ones together), `trailers`, `body_bytes`, `body_sha256` (once complete),
//! `body` (text up to 64 KiB), `chunks`, `first_byte_ms`, `last_byte_ms` (since the head). `state` is one of
//! `receiving`, `request_complete`, `request_aborted`, `answering`, `answered`, `answer_aborted`; the last is also the
//! end of every cut.
//!
//! `issued` is the usage, by kind, in all events that were handed to the transport whole; null where there is none. It
//! is what a reader of the whole events knows: later numbers of an answer replace earlier ones, and images count even
//! without usage. A peer that leaves may have read less. Half of a JSON answer (`x-sim-cut: body`) issues nothing, but
//! can show some of its numbers.

pub mod certificate;
pub mod cli;
pub mod server;
pub mod tls;

mod answer;
mod body;
mod call;
mod control;
mod course;
mod draw;
mod dress;
mod entry;
mod error;
mod events;
mod exchange;
mod fields;
mod fixture;
mod form;
mod journal;
mod limits;
mod plan;
mod player;
mod receive;
mod report;
mod resource;
mod scenario;
mod socket;
mod steer;
mod template;
mod totals;
mod usage;
mod view;
