//! A simulator of the upstreams behind the gateway, for tests and benchmarks.
//!
//! Every listener speaks all three protocols over HTTP/1.1 and HTTP/2 (prior knowledge), true enough for the official
//! SDKs. All listeners share one journal.
//!
//! | protocol | endpoints |
//! |---|---|
//! | A | `POST /v1/chat/completions`, `/v1/responses`, `/v1/images/generations`, `/v1/images/edits` |
//! | B | `POST /v1/messages`, `/v1/messages/count_tokens`; without `anthropic-version`: 400 |
//! | C | `POST /v1beta/models/{m}:` `generateContent`, `streamGenerateContent` (`?alt=sse` or an array), `countTokens`, `embedContent`, `batchEmbedContents`; `/v1beta/*`: simple objects and lists |
//!
//! Anything else is a 404 in the protocol's shape with `x-sim: unknown-path`. Usage is the same in every answer; the
//! numbers stand in `fixtures/`. Every response has `x-sim-upstream: NAME` and `x-request-id: sim-N` (B: `request-id`
//! too).
//!
//! # Request headers
//!
//! An unknown `x-sim-*` header, or a value that makes no sense, is a 400 with `x-sim: bad-instruction`.
//!
//! | header | effect |
//! |---|---|
//! | `x-sim-echo: 1` | answers what was received, with the fields of a journal entry |
//! | `x-sim-marker: TEXT` | finds the request in the journal |
//! | `x-sim-at: NAME,…` | obeys the other headers (but `echo`) only on these listeners |
//! | `x-sim-status: N` | answers this status; from 400 on with the protocol's error body |
//! | `x-sim-retry-after: TEXT` | sends this `retry-after` |
//! | `x-sim-limits: 1` | sends the vendor's rate limit headers |
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
//! All events count, the deltas and the ones around them; a body that is no stream is one event.
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
//!
//! An entry has `id`, `state`, `status`, `events_sent`, `listener`, `method`, `path`, `authority`, `version`, `headers`
//! (names in lower case, repeated ones together), `trailers`, `body_bytes`, `body_sha256` (once complete), `body` (text
//! up to 64 KiB), `chunks`, `first_byte_ms`, `last_byte_ms` (since the head). `state` is one of `receiving`,
//! `request_complete`, `request_aborted`, `answering`, `answered`, `answer_aborted`; the last is also the end of every
//! cut.

pub mod certificate;
pub mod cli;
pub mod server;

mod answer;
mod body;
mod call;
mod control;
mod entry;
mod error;
mod events;
mod exchange;
mod fields;
mod fixture;
mod journal;
mod limits;
mod receive;
mod resource;
mod socket;
mod steer;
mod template;
mod view;
