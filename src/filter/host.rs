//! Every host call. Total: whatever the host answers becomes a value, never a panic.
//!
//! The SDK panics on host statuses that it does not expect, and its `String` getters panic on header
//! bytes that are not UTF-8. So headers are read as bytes only, and each call stands here with the
//! phases in which the host allows it.

use core::cell::OnceCell;
use core::fmt;
use core::ops::Range;
use core::time::Duration;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use proxy_wasm::hostcalls;
use proxy_wasm::types::{BufferType, MapType, MetricType};
use trilane_abi::{HeaderBlock, header_block, steady_nanoseconds};

use crate::body::{Renaming, UsageEdit};
use crate::exchange::{
    BodyEdit, HeaderEdit, JUDGED_HEADER, ResponseHeaders, StreamEnd, is_withheld,
};
use crate::failover::attempt::AttemptHost;
use crate::failover::{AttemptReport, ToldFailure, told_wait};
use crate::head::Head;
use crate::held_body::COPY_BYTES;
use crate::host::{
    CallId, Clocks, Entropy, Fetch, FetchRequest, FetchResponse, Log, Peer, StatId, StatKind,
    Stats, Timer,
};
use crate::reply::Reply;
use crate::shared_data::{Conflict, SharedData};

const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
const CONTENT_LENGTH: &str = "content-length";

/// The `root_id` of the root being created.
pub(super) fn root_id() -> Option<Vec<u8>> {
    hostcalls::get_property(vec!["plugin_root_id"])
        .ok()
        .flatten()
}

/// The plugin configuration; legal in `on_configure`.
pub(super) fn plugin_configuration(size: usize) -> Vec<u8> {
    buffer(BufferType::PluginConfiguration, 0, size)
}

/// A number that no other VM draws.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Envoy, as the pure rooms know it. Its calls are legal in every callback, but for those of [`AttemptHost`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Host;

impl SharedData for Host {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        hostcalls::get_shared_data(name).unwrap_or((None, None))
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        hostcalls::set_shared_data(name, Some(value), version).map_err(|_| Conflict)
    }
}

impl Clocks for Host {
    fn wall_us(&self) -> u64 {
        let now = hostcalls::get_current_time().unwrap_or_else(|_| SystemTime::now());
        now.duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| u64::try_from(since.as_micros()).ok())
            .unwrap_or(0)
    }

    fn steady_us(&self) -> u64 {
        steady_nanoseconds().map_or_else(|| self.wall_us(), |nanoseconds| nanoseconds / 1000)
    }
}

impl Entropy for Host {
    fn random(&self) -> u64 {
        random()
    }
}

impl Timer for Host {
    fn tick_every(&self, period: Duration) {
        let _ = hostcalls::set_tick_period(period);
    }
}

impl Fetch for Host {
    fn fetch(&self, request: FetchRequest<'_>) -> Option<CallId> {
        let mut headers = vec![
            (":method", "GET"),
            (":path", request.path),
            (":authority", request.authority),
            ("accept", "application/json"),
        ];
        headers.extend(request.headers);
        let token =
            hostcalls::dispatch_http_call(request.cluster, headers, None, vec![], FETCH_TIMEOUT);
        token.ok().map(CallId)
    }
}

/// The call that `on_http_call_response` is about, and its response where there is one: a failed call has no headers,
/// and reading one would be fatal.
pub(super) fn fetched(token: u32, headers: usize, body: usize) -> (CallId, Option<Fetched>) {
    (CallId(token), (headers > 0).then_some(Fetched { body }))
}

/// A fetched response; legal in `on_http_call_response`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fetched {
    /// The length of the body, in bytes.
    body: usize,
}

impl FetchResponse for Fetched {
    fn header(&self, name: &str) -> Option<String> {
        let value = hostcalls::get_map_value_bytes(MapType::HttpCallResponseHeaders, name);
        String::from_utf8(value.ok()??).ok()
    }

    fn body_size(&self) -> usize {
        self.body
    }

    fn body(&self) -> Vec<u8> {
        buffer(BufferType::HttpCallResponseBody, 0, self.body)
    }
}

impl Stats for Host {
    fn define(&self, kind: StatKind, name: &str) -> StatId {
        let kind = match kind {
            StatKind::Counter => MetricType::Counter,
            StatKind::Gauge => MetricType::Gauge,
            StatKind::Histogram => MetricType::Histogram,
        };
        hostcalls::define_metric(kind, name).ok()
    }

    fn add(&self, id: StatId, count: u64) {
        // The host takes a signed number.
        if let (Some(id), Ok(count)) = (id, i64::try_from(count)) {
            let _ = hostcalls::increment_metric(id, count);
        }
    }

    fn record(&self, id: StatId, value: u64) {
        if let Some(id) = id {
            let _ = hostcalls::record_metric(id, value);
        }
    }
}

/// Legal in every callback of a stream.
impl Peer for Host {
    fn peer(&self) -> Option<Vec<u8>> {
        hostcalls::get_property(vec!["source", "address"])
            .ok()
            .flatten()
    }
}

impl Log for Host {
    fn log(&self, level: log::Level, line: fmt::Arguments<'_>) {
        log::log!(level, "{line}");
    }
}

/// Legal in the callbacks of an attempt.
impl AttemptHost for Host {
    fn request_id(&self) -> Option<Vec<u8>> {
        request_header("x-request-id")
    }

    fn status(&self) -> u16 {
        response_status()
    }

    fn judged(&self) -> Option<ToldFailure> {
        judged()
    }

    fn told_wait(&self) -> Option<u64> {
        told_wait(response_header, self.wall_us())
    }

    fn take_hop_report(&self) -> String {
        const NAME: &str = "x-trilane-hop";
        let report = response_header(NAME);
        if report.is_some() {
            let _ = hostcalls::set_map_value_bytes(MapType::HttpResponseHeaders, NAME, None);
        }
        report.unwrap_or_default()
    }

    fn response_body(&self, most: usize) -> Vec<u8> {
        response_body(0, most)
    }
}

/// An attempt as Envoy logs it; legal in a root's `on_log`.
pub(super) fn attempt_report() -> AttemptReport {
    let text = |path: Vec<&str>| {
        let bytes = hostcalls::get_property(path).ok().flatten();
        bytes
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .unwrap_or_default()
    };
    let flags = hostcalls::get_property(vec!["response", "flags"]);
    let status = Some(response_status()).filter(|status| *status > 0);
    let is_limit = status == Some(429);
    AttemptReport {
        request_id: request_header("x-request-id").unwrap_or_default(),
        cluster: text(vec!["xds", "cluster_name"]),
        status,
        told_wait: is_limit.then(|| AttemptHost::told_wait(&Host)).flatten(),
        judged: judged(),
        flags: flags
            .ok()
            .flatten()
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u64::from_le_bytes),
        transport_failure: text(vec!["upstream", "transport_failure_reason"]),
    }
}

/// The failure that an answer was judged to be, while its marker is there; legal where the response's headers are.
fn judged() -> Option<ToldFailure> {
    ToldFailure::of_header(&response_header(JUDGED_HEADER)?)
}

/// The response's status; legal where its headers are.
pub(super) fn response_status() -> u16 {
    let status = response_header(":status");
    status.and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// A request header as bytes; legal where the request's headers are.
fn request_header(name: &str) -> Option<Vec<u8>> {
    hostcalls::get_map_value_bytes(MapType::HttpRequestHeaders, name)
        .ok()
        .flatten()
}

/// The request's head; legal in `on_http_request_headers`.
pub(super) fn request_head() -> Head {
    Head::handed_over(header_block(HeaderBlock::Request).unwrap_or_default())
}

/// The response's head, read whole when it is first used; legal in `on_http_response_headers`, and while the head is held.
#[derive(Debug, Default)]
pub(super) struct ResponseHead(OnceCell<Head>);

impl ResponseHead {
    fn head(&self) -> &Head {
        self.0.get_or_init(|| {
            Head::handed_over(header_block(HeaderBlock::Response).unwrap_or_default())
        })
    }
}

/// The first value of a response header, where it is text; legal in `on_http_response_headers`.
fn response_header(name: &str) -> Option<String> {
    let value = hostcalls::get_map_value_bytes(MapType::HttpResponseHeaders, name);
    String::from_utf8(value.ok()??).ok()
}

impl ResponseHeaders for ResponseHead {
    fn status(&self) -> u16 {
        let status = self.header(":status");
        status.and_then(|s| s.parse().ok()).unwrap_or(0)
    }

    fn details(&self) -> Vec<u8> {
        response_details()
    }

    fn header(&self, name: &'static str) -> Option<String> {
        let value = self.head().get(name)?;
        core::str::from_utf8(value).ok().map(str::to_owned)
    }

    fn withheld_headers(&self) -> Vec<String> {
        let names = self.head().names().filter(|name| is_withheld(name));
        names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }
}

/// Takes the trailers out that are not relayed as headers either; legal in `on_http_response_trailers`.
pub(super) fn withhold_response_trailers() {
    let block = header_block(HeaderBlock::ResponseTrailers).unwrap_or_default();
    let trailers = Head::handed_over(block);
    for name in trailers.names().filter(|name| is_withheld(name)) {
        let name = String::from_utf8_lossy(name);
        let _ = hostcalls::set_map_value_bytes(MapType::HttpResponseTrailers, &name, None);
    }
}

/// Envoy's knowledge of a stream; legal in `on_log`.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamOver;

impl StreamEnd for StreamOver {
    fn details(&self) -> Vec<u8> {
        response_details()
    }

    fn attempts(&self) -> u64 {
        let count = hostcalls::get_property(vec!["upstream", "request_attempt_count"]);
        count
            .ok()
            .flatten()
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u64::from_le_bytes)
    }
}

/// Envoy's response code details: who made the response, or what ended the stream. Legal from
/// `on_http_response_headers` on; empty where there are none.
fn response_details() -> Vec<u8> {
    hostcalls::get_property(vec!["response", "code_details"])
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// Bytes of the response chunk at hand; legal in `on_http_response_body`.
pub(super) fn response_body(start: usize, size: usize) -> Vec<u8> {
    buffer(BufferType::HttpResponseBody, start, size)
}

/// Replaces the `size` bytes of the response chunk at hand; legal in `on_http_response_body`.
pub(super) fn replace_response_body(size: usize, bytes: &[u8]) {
    let _ = hostcalls::set_buffer(BufferType::HttpResponseBody, 0, size, bytes);
}

/// Leaves the record for the access log, where it is `%FILTER_STATE(wasm.ledger:PLAIN)%`; legal in
/// `on_log`, which comes before the access log is written.
pub(super) fn publish_record(members: &[u8]) {
    let _ = hostcalls::set_property(vec!["ledger"], Some(members));
}

/// Leaves an object in the stream's filter state, where its name begins with `wasm.`. The rate limit
/// filters read those of a request when its head goes on, and those of its tokens after `on_log`.
pub(super) fn publish_state(name: &'static str, value: &str) {
    let _ = hostcalls::set_property(vec![name], Some(value.as_bytes()));
}

/// Bytes of the request body now held; legal in `on_http_request_body`.
pub(super) fn request_body(range: Range<usize>) -> Vec<u8> {
    buffer(BufferType::HttpRequestBody, range.start, range.len())
}

/// Changes the request's head; legal until it is forwarded.
pub(super) fn edit_request_head(edits: &[HeaderEdit]) {
    edit_head(MapType::HttpRequestHeaders, edits);
}

/// Changes the response's head; legal in `on_http_response_headers`, and while the head is held.
pub(super) fn edit_response_head(edits: &[HeaderEdit]) {
    edit_head(MapType::HttpResponseHeaders, edits);
}

fn edit_head(map: MapType, edits: &[HeaderEdit]) {
    for edit in edits {
        let (name, value) = match edit {
            HeaderEdit::Set(name, value) => (*name, Some(value.as_slice())),
            HeaderEdit::Remove(name) => (name.as_ref(), None),
        };
        let _ = hostcalls::set_map_value_bytes(map, name, value);
    }
}

/// Changes bytes of the request body now held; legal in `on_http_request_body`.
///
/// The host replaces from the start of what it holds only, so the bytes before the change are
/// written anew as they are.
pub(super) fn edit_request_body(edit: &BodyEdit) {
    let mut bytes = request_body(0..edit.span.start);
    bytes.extend_from_slice(&edit.bytes);
    let _ = hostcalls::set_buffer(BufferType::HttpRequestBody, 0, edit.span.end, &bytes);
}

/// Changes a held JSON body of `size` bytes, and the length that the request's head names: the name of the model, and the part
/// that `usage` changes. Whether the body has such a name. Legal in `on_http_request_body`, and with the trailers, while head and
/// body are held.
pub(super) fn change_held_body(
    size: usize,
    model: Option<&str>,
    usage: Option<&UsageEdit>,
) -> bool {
    let mut changes = Vec::new();
    if let Some(name) = model {
        let Some(change) = renaming(size, name) else {
            return false;
        };
        changes.push(change);
    }
    if let Some(UsageEdit { span, bytes }) = usage {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(size);
        changes.push((place(span.start)..place(span.end), bytes.to_vec()));
    }
    changes.sort_by_key(|(span, _)| span.start);
    // Envoy changes bytes at the front only: those before a change go to the end, the change is made, and the rest follows them.
    let (mut changed, mut at, mut put_in) = (size, 0_usize, 0_usize);
    for (span, bytes) in changes {
        let before = span.start.saturating_sub(at);
        turn_request_body(changed, put_in.saturating_add(before), COPY_BYTES);
        let _ = hostcalls::set_buffer(BufferType::HttpRequestBody, 0, span.len(), &bytes);
        changed = changed
            .saturating_sub(span.len())
            .saturating_add(bytes.len());
        (at, put_in) = (span.end, bytes.len());
    }
    if at > 0 {
        let rest = size.saturating_sub(at).saturating_add(put_in);
        turn_request_body(changed, rest, COPY_BYTES);
    }
    set_length(changed);
    true
}

/// The change of the model's name in a held JSON body of `size` bytes.
fn renaming(size: usize, name: &str) -> Option<(Range<usize>, Vec<u8>)> {
    let mut renaming = Renaming::new(name);
    let mut at = 0_usize;
    while at < size {
        let end = at.saturating_add(COPY_BYTES).min(size);
        renaming.read(&request_body(at..end));
        at = end;
    }
    renaming.change()
}

/// Changes the length that the request's head names, where it names one. Legal while head and body are held.
fn set_length(size: usize) {
    if request_header(CONTENT_LENGTH).is_some() {
        set_request_header(CONTENT_LENGTH, size.to_string().as_bytes());
    }
}

/// Packs the `size` bytes of a held body into as little memory as they need; legal in `on_http_request_body`.
///
/// Each `piece` is taken from the front and put to the end, until the first is the first again.
pub(super) fn pack_request_body(size: usize, piece: usize) {
    turn_request_body(size, size, piece);
}

/// Takes the last `count` of the `size` bytes of a request body out of it; legal in `on_http_request_body`.
pub(super) fn take_request_body_end(size: usize, count: usize) -> Vec<u8> {
    if count == 0 {
        return Vec::new();
    }
    let rest = size.saturating_sub(count);
    let end = request_body(rest..size);
    // Envoy takes bytes out at the front only.
    turn_request_body(size, rest, COPY_BYTES);
    let _ = hostcalls::set_buffer(BufferType::HttpRequestBody, 0, end.len(), &[]);
    end
}

/// Puts `bytes` before a request body; legal in `on_http_request_body`.
pub(super) fn put_before_request_body(bytes: &[u8]) {
    if !bytes.is_empty() {
        let _ = hostcalls::set_buffer(BufferType::HttpRequestBody, 0, 0, bytes);
    }
}

/// Takes the first `count` of the `size` bytes of a request body from the front and puts them to its end, `piece` by `piece`.
fn turn_request_body(size: usize, count: usize, piece: usize) {
    let mut left = count;
    while left > 0 {
        let bytes = request_body(0..piece.min(left));
        if bytes.is_empty() {
            return;
        }
        let _ = hostcalls::set_buffer(BufferType::HttpRequestBody, 0, bytes.len(), &[]);
        let _ = hostcalls::set_buffer(BufferType::HttpRequestBody, size, 0, &bytes);
        left = left.saturating_sub(bytes.len());
    }
}

/// Sends a local reply; legal in every request callback, in `on_http_response_headers`, and while the head is held.
pub(super) fn send(reply: &Reply) {
    let headers = reply
        .headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let _ = hostcalls::send_http_response(u32::from(reply.status), headers, Some(&reply.body));
}

/// Sends a local reply of a status and nothing else; legal in every request callback.
pub(super) fn send_status(status: u16) {
    let _ = hostcalls::send_http_response(u32::from(status), vec![], None);
}

/// Sets a header of the request; legal until its head goes on.
pub(super) fn set_request_header(name: &str, value: &[u8]) {
    let _ = hostcalls::set_map_value_bytes(MapType::HttpRequestHeaders, name, Some(value));
}

/// Sets a header of the response; legal in `on_http_response_headers`, and while the head is held.
pub(super) fn set_response_header(name: &str, value: &str) {
    let value = Some(value.as_bytes());
    let _ = hostcalls::set_map_value_bytes(MapType::HttpResponseHeaders, name, value);
}

fn buffer(kind: BufferType, start: usize, size: usize) -> Vec<u8> {
    if size == 0 {
        return Vec::new();
    }
    hostcalls::get_buffer(kind, start, size)
        .ok()
        .flatten()
        .unwrap_or_default()
}
