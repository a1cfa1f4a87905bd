//! Journal entries as JSON.

use hyper::Version;
use hyper::http::{HeaderMap, HeaderValue};
use serde::Serialize;
use std::time::Duration;

use crate::entry::JournalEntry;
use crate::tls::Handshake;
use crate::usage::SimulatedUsage;

/// An entry at one moment, ready to be written.
#[derive(Debug, Serialize)]
pub struct View<'a> {
    id: u64,
    state: &'static str,
    status: Option<u16>,
    events_sent: u64,
    issued: Option<SimulatedUsage>,
    listener: &'a str,
    tls: Option<&'a Handshake>,
    method: &'a str,
    path: String,
    authority: Option<&'a str>,
    version: &'static str,
    headers: Vec<(&'a str, HeaderText)>,
    trailers: Option<Vec<(String, HeaderText)>>,
    body_bytes: u64,
    body_sha256: Option<String>,
    body: Option<String>,
    chunks: u64,
    first_byte_ms: Option<f64>,
    last_byte_ms: Option<f64>,
}

/// A header value.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum HeaderText {
    Utf8(String),
    Bytes { hex: String },
}

impl<'a> View<'a> {
    /// The entry as it is now.
    pub fn of(entry: &'a JournalEntry) -> Self {
        let stand = entry.course.stand();
        let progress = entry.progress();
        Self {
            id: entry.id,
            state: stand.state.name(),
            status: stand.status.map(|status| status.as_u16()),
            events_sent: stand.events_sent,
            issued: stand.issued,
            listener: &entry.listener,
            tls: entry.tls.as_deref(),
            method: entry.method.as_str(),
            path: entry
                .uri
                .path_and_query()
                .map_or_else(|| entry.uri.to_string(), ToString::to_string),
            authority: entry.uri.authority().map(|authority| authority.as_str()),
            version: if entry.version == Version::HTTP_2 {
                "HTTP/2"
            } else {
                "HTTP/1.1"
            },
            headers: entry
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), text(value)))
                .collect(),
            trailers: progress.trailers.as_ref().map(owned),
            body_bytes: progress.body_bytes,
            body_sha256: progress.digest.map(hex::encode),
            body: progress
                .text
                .as_ref()
                .and_then(|text| String::from_utf8(text.clone()).ok()),
            chunks: progress.chunks,
            first_byte_ms: progress.first_byte.map(milliseconds),
            last_byte_ms: progress.last_byte.map(milliseconds),
        }
    }
}

fn owned(headers: &HeaderMap) -> Vec<(String, HeaderText)> {
    headers
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect()
}

fn text(value: &HeaderValue) -> HeaderText {
    match str::from_utf8(value.as_bytes()) {
        Ok(text) => HeaderText::Utf8(text.to_owned()),
        Err(_) => HeaderText::Bytes {
            hex: hex::encode(value.as_bytes()),
        },
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
