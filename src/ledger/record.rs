//! Facts about an exchange that is over.

use std::rc::Rc;

use smol_str::SmolStr;

use super::attempts::Attempts;
use super::ending::{Ending, UsageStatus};
use super::request_labels::RequestLabels;
use super::upstream_error::UpstreamError;
use crate::limits::Limit;
use crate::limits::service::ServiceTokens;
use crate::limits::{Settlement, SubjectKind};
use crate::money::{Charge, Multiplier, Uncovered};
use crate::protocol::{Entry, Protocol};
use crate::usage::{Estimated, Reading, Usage};

/// The facts about an exchange that is over.
#[derive(Debug, Clone)]
pub struct Record {
    /// The request's method.
    pub method: SmolStr,
    /// The request's path, without its query.
    pub path: SmolStr,
    /// The name of the endpoint asked for; see [`Endpoint::name`](crate::protocol::Endpoint::name). `None` for unknown paths.
    pub endpoint: Option<SmolStr>,
    /// The operation in OpenTelemetry's words, for calls of models.
    pub operation: Option<&'static str>,
    /// The protocol that the request spoke, where known.
    pub protocol: Option<Protocol>,
    /// The id of the account key.
    pub key: Option<SmolStr>,
    /// The place of a valid key that its group does not read there: the name of a header, or `query`.
    pub key_found_in: Option<&'static str>,
    /// The owner of the key, where that is known.
    pub owner: Option<SmolStr>,
    /// The team that it belongs to, where that is known.
    pub team: Option<SmolStr>,
    /// The client, session and labels that the request names.
    pub labels: Option<Box<RequestLabels>>,
    /// The id of the key in whose counters the key's limits count; `None` for its own.
    pub counts_as: Option<Rc<str>>,
    /// The id of the key's group.
    pub group: Option<SmolStr>,
    /// The way to the source.
    pub route: Option<RouteTaken>,
    /// The model as the client wrote it.
    pub requested_model: Option<SmolStr>,
    /// The model's canonical name, as the group's list has it.
    pub model: Option<SmolStr>,
    /// The model's name as it went upstream.
    pub upstream_model: Option<SmolStr>,
    /// Whether the client asked for a stream.
    pub stream: bool,
    /// The ending of the exchange.
    pub ending: Ending,
    /// The reliability of the numbers.
    pub status: UsageStatus,
    /// The code of our rejection, or the type of the upstream's error.
    pub error: Option<SmolStr>,
    /// The id that the upstream gave its answer; the client sees it as `x-request-id`.
    pub upstream_request_id: Option<String>,
    /// The error in the upstream's answer, where that was read.
    pub upstream_error: Option<UpstreamError>,
    /// The status of the upstream's answer, where ours took its place.
    pub replaced_status: Option<u16>,
    /// The reason why Envoy answered in the upstream's place, in Envoy's words.
    pub upstream_failure: Option<String>,
    /// The attempts at upstream accounts, where the source has accounts.
    pub attempts: Option<Attempts>,
    /// The reading of the meter.
    pub reading: Reading,
    /// The tokens in the reading that are estimated.
    pub estimated: Estimated,
    /// The cost, where the model has prices and the usage is known.
    pub charge: Option<Charge>,
    /// The cost of the response, by the factor of the account that gave it.
    pub cost: Option<AccountCost>,
    /// The usage that no price covers, so that the charge may be less than the cost.
    pub uncovered: Uncovered,
    /// The currency of the charge, where the document names one.
    pub currency: Option<Rc<str>>,
    /// The limit that refused the request, and whose it is.
    pub limit: Option<(SubjectKind, Limit)>,
    /// The settlement of the request with its limits.
    pub settled: Settlement,
    /// The tokens to report to the rate limit service, where it was asked and something was used.
    pub counted: Option<ServiceTokens>,
    /// Bytes of the request's body, inflated.
    pub request_bytes: u64,
    /// Bytes of the answer's body, where the upstream gave it.
    pub response_bytes: u64,
    /// From the request's head to the answer's first byte, in microseconds.
    pub first_byte_us: Option<u64>,
    /// From the answer's first byte to its end, in microseconds; streams only.
    pub streaming_us: Option<u64>,
}

/// The cost of a response at its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountCost {
    /// The account's factor on the list price.
    pub factor: Multiplier,
    /// The list price times the factor.
    pub amount: Charge,
}

/// The source that a request was sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTaken {
    /// The id of the source group.
    pub source: SmolStr,
    /// The entry of the request's protocol, whether or not the key's group is a Mixed one.
    pub entry: Entry,
    /// The Envoy cluster.
    pub cluster: SmolStr,
    /// The final multiplier.
    pub multiplier: Multiplier,
}

impl Record {
    /// Returns the usage, where the upstream reported it.
    pub fn usage(&self) -> Option<&Usage> {
        self.reading.usage.as_ref()
    }

    /// Returns the time until a stream began, in microseconds. An error is no stream.
    pub fn first_token_us(&self) -> Option<u64> {
        let began = self.status.is_of_an_answer();
        self.first_byte_us.filter(|_| self.stream && began)
    }

    /// The mean time from one token of a stream to the next, in microseconds.
    pub fn per_token_us(&self) -> Option<u64> {
        let intervals = self.usage()?.output_tokens().checked_sub(1)?;
        self.streaming_us?.checked_div(intervals)
    }
}
