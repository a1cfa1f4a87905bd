//! The output of the generator.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::latency::Summary;
use crate::timeline::TimelineStep;

/// One run.
#[derive(Debug, Serialize)]
pub struct LoadReport {
    /// `closed` or `open`.
    pub mode: &'static str,
    /// The length of the counted time, in seconds.
    pub seconds: f64,
    /// Exchanges that ended as they should.
    pub requests: u64,
    /// By the second: closed loop, until the last one ended; open loop, those that ended within the time.
    pub per_second: f64,
    /// Open loop: requests due, by the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Answers by their status, warm-up included.
    pub statuses: BTreeMap<u16, u64>,
    /// Exchanges that failed, warm-up included.
    pub failed: u64,
    /// The number of failed exchanges, by failure.
    pub failures: BTreeMap<String, u64>,
    /// Open loop: due within the time, and not answered even a while after it. The gateway cannot keep up.
    pub unfinished: u64,
    /// Connections made.
    pub connects: u64,
    /// Kept connections that were found closed before anything was sent: nothing was lost.
    pub stale: u64,
    /// The exchanges step by step, if a timeline was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<TimelineStep>>,
    /// From when a request was due (open) or sent (closed) to the last byte of its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<Summary>,
    /// Events that came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// The delay of events on the way from the mock to the generator, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_delay_us: Option<Summary>,
    /// Processor time, in microseconds: of the processes asked for, and of the generator, `load`.
    pub cpu_us: BTreeMap<String, f64>,
    /// The time for which processor time was counted, in seconds: until the last exchange ended.
    pub cpu_seconds: f64,
}

impl LoadReport {
    /// One line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
