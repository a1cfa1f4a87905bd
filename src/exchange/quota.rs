//! Limits in the course of an exchange: whose they are, what it is taken to cost, what it has cost.

use super::edits::{Edits, HeaderEdit};
use super::estimating;
use super::facts::Facts;
use super::upload::Upload;
use crate::config::policy::Group;
use crate::keys::KeyRecord;
use crate::lane::Protocol;
use crate::ledger::{Record, UsageStatus};
use crate::limits::{
    Amount, Count, Estimate, Figures, Grant, Limits, Rate, Refused, Scope, Settled, Subject, Used,
};
use crate::protocol::limits as headers;
use crate::reply::{Rejection, Reply};
use crate::usage::{Reading, Usage};

/// Counts requests against the limits of those who make them.
pub trait Quotas {
    /// Lets a request through, or says which limit keeps it out.
    ///
    /// # Errors
    /// The limit.
    fn admit(&self, subjects: &[Subject], estimate: Estimate) -> Result<Grant, Refused>;
    /// Takes the leave back when the exchange is over.
    fn settle(&self, grant: Grant, used: Used) -> Settled;
    /// What is left.
    fn figures(&self, subjects: &[Subject]) -> Figures;
    /// Whether this Envoy asks the limits service at all, by its configuration.
    fn reach_service(&self) -> bool {
        false
    }
}

/// Whose limits a request with this key meets; nobody's, for most.
pub(super) fn subjects(key: &KeyRecord, group: &Group) -> Vec<Subject> {
    let own = key.limits.as_deref();
    let own = own.map(|limits| Subject::new(Scope::Key, &key.id, *limits));
    own.into_iter().chain(group.limits.clone()).collect()
}

/// What the estimate of a request needs to know before the request goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Needs {
    /// How long the body is.
    pub length: bool,
    /// The caps that it sets to the output.
    pub cap: bool,
}

/// What is needed to estimate a request with these limits.
pub(super) fn needs(facts: &Facts) -> Needs {
    let limited = |rate| {
        let mut limits = facts.subjects.iter().map(|subject| &subject.limits);
        limits.any(|limits| limits.per_minute(rate).is_some())
    };
    // What is not metered uses no tokens.
    if facts.wire().is_none() {
        return Needs::default();
    }
    Needs {
        length: limited(Rate::InputTokens),
        cap: limited(Rate::OutputTokens),
    }
}

/// Counts a request whose head is about to go upstream, unless a limit keeps it here.
pub(super) fn admit(
    upload: &Upload,
    facts: &mut Facts,
    quotas: &impl Quotas,
) -> Result<(), Rejection> {
    if facts.subjects.is_empty() {
        return Ok(());
    }
    let estimate = estimating::reservation(facts, upload.length());
    let grant = quotas.admit(&facts.subjects, estimate);
    facts.grant = Some(grant.map_err(Rejection::of_limit)?);
    Ok(())
}

/// Settles what an exchange has used, and notes in its record what is spent of its budgets.
pub(super) fn settle(grant: Option<Grant>, record: &mut Record, quotas: &impl Quotas) {
    if let Some(grant) = grant {
        record.settled = quotas.settle(grant, used(record));
    }
}

fn used(record: &Record) -> Used {
    let [input, output] = tokens(&record.reading, record.status);
    Used {
        input,
        output,
        charge: record.charge.and_then(Amount::of),
    }
}

/// How many tokens an exchange has used, input and output, as far as its answer told.
pub(super) fn tokens(reading: &Reading, status: UsageStatus) -> [Count; 2] {
    let input = reading.usage.as_ref().map(Usage::input_tokens);
    let output = reading.usage.as_ref().map(Usage::output_tokens);
    match status {
        // The upstream was at work. What it reported of its output is not what it has written since.
        UsageStatus::Partial => [
            input.map_or(Count::AtLeast(0), Count::Exactly),
            Count::AtLeast(output.unwrap_or_default()),
        ],
        _ => [input, output].map(|count| Count::Exactly(count.unwrap_or_default())),
    }
}

/// Adds to an answer of ours what is left.
pub(super) fn add_to_reply(reply: &mut Reply, facts: &Facts, quotas: &impl Quotas) {
    reply.headers.extend(told(facts, quotas));
}

/// Adds to an upstream's answer what is left.
pub(super) fn add_to_answer(edits: &mut Edits, facts: &Facts, quotas: &impl Quotas) {
    let headers = told(facts, quotas).into_iter();
    let edits_of = |(name, value): (_, String)| HeaderEdit::Set(name, value.into_bytes());
    edits.headers.extend(headers.map(edits_of));
}

/// What a client is told of what is left. The counters are looked at only where there is something to tell.
fn told(facts: &Facts, quotas: &impl Quotas) -> Vec<(&'static str, String)> {
    let Some(protocol) = facts.protocol else {
        return Vec::new();
    };
    let mut limits = facts.subjects.iter().map(|subject| &subject.limits);
    // Protocol C has no words for rates.
    let has =
        |limits: &Limits| limits.budget.is_set() || (protocol != Protocol::C && limits.has_rates());
    if !limits.any(has) {
        return Vec::new();
    }
    let figures = quotas.figures(&facts.subjects);
    headers::of(protocol, &figures, facts.currency.as_deref())
}
