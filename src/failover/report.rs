//! What Envoy's log of an attempt that did not go well means.

use super::registry::Registry;
use super::request::RequestAttempts;
use super::states::{self, Event};
use crate::config::account::HOP_CLUSTER;
use crate::host::{Clocks, Stats};
use crate::ledger::{AttemptFailure, FailedAttempt};
use crate::shared_data::SharedData;

/// An attempt in the words of Envoy's log of upstream requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptReport {
    /// The id that Envoy gave the request.
    pub request_id: Vec<u8>,
    /// The cluster that was asked.
    pub cluster: String,
    /// The status of the response; `None` where none came.
    pub status: Option<u16>,
    /// Envoy's response flags.
    pub flags: u64,
    /// Why the connection failed; empty where Envoy says nothing.
    pub transport_failure: String,
}

/// The flag of an attempt that took too long (`UT`).
const TIMEOUT: u64 = 0x4;
/// The flag of an attempt that the client ended (`DC`).
const CLIENT_GONE: u64 = 0x4000;

impl AttemptReport {
    /// Whether the attempt went by way of the account hop.
    pub fn is_by_hop(&self) -> bool {
        self.cluster == HOP_CLUSTER
    }
}

/// Notes what became of an attempt: of its account for all requests, and for the record of its own.
pub fn note_report(
    report: &AttemptReport,
    registry: &Registry,
    host: &(impl SharedData + Clocks + Stats),
) {
    // Sources with one account have no other to turn to.
    let Some(attempts) = registry.find(&report.request_id) else {
        return;
    };
    let Some((index, failed)) = judge(report, &attempts) else {
        return;
    };
    if let Some(failed) = failed {
        attempts.record(failed);
    }
    if let Some(accounts) = attempts.accounts() {
        let source = &attempts.source().group;
        states::note(Event::Failed, source, accounts, index, host);
    }
}

/// What became of an attempt that failed: the index of its account, and the failure for the request's record, where there is to be one.
fn judge(
    report: &AttemptReport,
    attempts: &RequestAttempts,
) -> Option<(usize, Option<FailedAttempt>)> {
    let (index, account) = attempts.last()?;
    // Of an attempt by way of the hop the filter there has judged the response; not what came after it.
    let is_failed = match report.status {
        Some(status) if status >= 400 => {
            !report.is_by_hop() && AttemptFailure::of_status(status) != AttemptFailure::Request
        }
        _ => report.flags != 0 && report.flags & CLIENT_GONE == 0,
    };
    if !is_failed || report.is_by_hop() != attempts.by_hop() {
        return None;
    }
    let id = account.id.clone();
    let failed = match report.status {
        Some(status) if status < 400 => None,
        Some(status) => Some(FailedAttempt::answered(id, status, "")),
        None if report.is_by_hop() => None,
        None if report.flags & TIMEOUT != 0 => Some(FailedAttempt::unanswered(id)),
        None => Some(FailedAttempt::broken(id, &report.transport_failure)),
    };
    Some((index, failed))
}
