//! Limits that this Envoy counts: what a request reserves, what it has used, what the client learns of them.

use crate::exchange::charging::{expected_charge, unpriced};
use crate::exchange::edits::{Edits, HeaderEdit};
use crate::exchange::environment::{Clock, Quotas};
use crate::exchange::estimating;
use crate::exchange::request::AuthenticatedCaller;
use crate::exchange::several_accounts::OfAccounts;
use crate::exchange::upstream_request::UpstreamRequest;
use crate::failover::RequestAttempts;
use crate::ledger::{Record, UsageStatus};
use crate::limits::{AdmitError, Consumption, Count, Rate, Reservation, Subject};
use crate::money::Amount;
use crate::protocol::limits as headers;
use crate::protocol::{EndpointSpec, Protocol};
use crate::reply::{Rejection, Reply};
use crate::usage::{Reading, Usage};

/// Whether all of a request's body must be known to estimate what it uses of these limits.
pub(in crate::exchange) fn needs_body(subjects: &[Subject], spec: &EndpointSpec) -> bool {
    let counts_tokens = |subject: &Subject| {
        let mut rates = [Rate::InputTokens, Rate::OutputTokens].into_iter();
        rates.any(|rate| subject.limits.per_minute(rate).is_some())
    };
    // What is not metered uses no tokens.
    spec.usage.is_some()
        && subjects
            .iter()
            .any(|subject| counts_tokens(subject) || subject.may_have_budget())
}

/// Reserves what a request is estimated to use, and for budgets what it is expected to cost; `None` where nothing limits
/// it.
///
/// # Errors
/// The limit that it would exceed.
pub(in crate::exchange) fn reserve(
    caller: &AuthenticatedCaller,
    upstream: &mut UpstreamRequest,
    method: Option<&str>,
    environment: &(impl Quotas + Clock),
) -> Result<Option<Reservation>, Rejection> {
    let subjects = &*caller.subjects;
    if subjects.is_empty() {
        return Ok(None);
    }
    let UpstreamRequest { spec, body, .. } = upstream;
    let mut estimate = estimating::reservation(spec.operation, body, body.length());
    let mut lacking = None;
    if subjects.iter().any(Subject::may_have_budget) {
        estimate.charge = expected_charge(upstream, method, environment);
        lacking = unpriced(upstream);
        estimate.unpriced = lacking.is_some();
    }
    let grant = environment.admit(subjects, estimate);
    let model = lacking.as_deref().unwrap_or_default();
    let rejection = |error| rejection(error, model, caller);
    grant.map(Some).map_err(rejection)
}

/// Raises what is reserved of budgets, for a request whose head was released before all of its body was known.
///
/// # Errors
/// The budget that it would exceed, or that could not count it.
pub(in crate::exchange) fn extend(
    caller: &AuthenticatedCaller,
    upstream: &mut UpstreamRequest,
    method: Option<&str>,
    environment: &(impl Quotas + Clock),
) -> Result<(), Rejection> {
    if !caller.subjects.iter().any(Subject::may_have_budget) {
        return Ok(());
    }
    let (charge, lacking) = (
        expected_charge(upstream, method, environment),
        unpriced(upstream),
    );
    let Some(reservation) = &mut upstream.reservation else {
        return Ok(());
    };
    if let (Some(scope), Some(model)) = (reservation.budgeted(), lacking) {
        return Err(rejection(AdmitError::Unpriced(scope), &model, caller));
    }
    let extended = environment.extend(reservation, charge);
    extended.map_err(|error| rejection(error, "", caller))
}

/// `model`: the request's model without a price, where it names one.
fn rejection(error: AdmitError, model: &str, caller: &AuthenticatedCaller) -> Rejection {
    Rejection::of_limit(error, model, caller.group.contact.as_ref())
}

/// Settles a reservation by what the exchange has used, and puts into its record what is spent of its budgets.
pub(in crate::exchange) fn settle(
    reservation: Option<Reservation>,
    record: &mut Record,
    quotas: &impl Quotas,
) {
    if let Some(reservation) = reservation {
        record.settled = quotas.settle(reservation, used(record));
    }
}

/// Reserves what a request is estimated to use of the limits of its source's only account.
///
/// # Errors
/// The limit of the account that it would exceed.
pub(in crate::exchange) fn reserve_account(
    upstream: &mut UpstreamRequest,
    quotas: &impl Quotas,
) -> Result<(), Rejection> {
    let accounts = upstream.route.source.accounts.as_ref();
    let only = accounts.filter(|accounts| !accounts.are_alternatives());
    let Some(subject) = only.and_then(|accounts| accounts.subject(0)) else {
        return Ok(());
    };
    let body = &upstream.body;
    let estimate = estimating::reservation(upstream.spec.operation, body, body.length());
    let reserved = quotas.admit(core::slice::from_ref(subject), estimate);
    let reserved = reserved.map_err(|error| match error {
        AdmitError::Violation(violation) => Rejection::AccountsLimited {
            retry_after_s: violation.wait_us.div_ceil(1_000_000),
        },
        _ => Rejection::NotCounted,
    });
    upstream.account_reservation = Some(Box::new(reserved?));
    Ok(())
}

/// Settles the shares of the limits of accounts, `several` or an `only` one, by what the exchange has used.
pub(in crate::exchange) fn settle_accounts(
    several: Option<&RequestAttempts>,
    only: Option<Box<Reservation>>,
    record: &Record,
    quotas: &impl Quotas,
) {
    if let Some(attempts) = several {
        attempts.settle(used(record), &OfAccounts(quotas));
    }
    if let Some(reservation) = only {
        quotas.settle(*reservation, used(record));
    }
}

fn used(record: &Record) -> Consumption {
    let [input, output] = tokens(&record.reading, record.status);
    Consumption {
        input,
        output,
        charge: record.charge.and_then(Amount::of),
    }
}

/// Returns the input and output tokens that an exchange has used, as far as its response reported them.
pub(in crate::exchange) fn tokens(reading: &Reading, status: UsageStatus) -> [Count; 2] {
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

/// Adds to a local reply what is left of the caller's limits; `reservation` is what the request holds of them.
pub(in crate::exchange) fn add_to_reply(
    reply: &mut Reply,
    caller: Option<&AuthenticatedCaller>,
    reservation: Option<&Reservation>,
    quotas: &impl Quotas,
) {
    let left = |it| left(it, reservation, quotas);
    reply.headers.extend(caller.into_iter().flat_map(left));
}

/// Adds to an upstream's response what is left of the caller's limits; `reservation` is what the request holds of them.
pub(in crate::exchange) fn add_to_response(
    edits: &mut Edits,
    caller: &AuthenticatedCaller,
    reservation: Option<&Reservation>,
    quotas: &impl Quotas,
) {
    let headers = left(caller, reservation, quotas).into_iter();
    let edits_of = |(name, value): (_, String)| HeaderEdit::Set(name, value.into_bytes());
    edits.headers.extend(headers.map(edits_of));
}

/// The headers that say what is left. The counters are read only where there is something to say, and where the admission
/// has not read them.
fn left(
    caller: &AuthenticatedCaller,
    reservation: Option<&Reservation>,
    quotas: &impl Quotas,
) -> Vec<(&'static str, String)> {
    let protocol = caller.protocol;
    // Protocol C has no words for rates.
    let has = |subject: &Subject| {
        subject.may_have_budget() || (protocol != Protocol::C && subject.limits.has_rates())
    };
    if !caller.subjects.iter().any(has) {
        return Vec::new();
    }
    let figures = reservation.map_or_else(
        || quotas.figures(&caller.subjects),
        |reservation| quotas.figures_after(reservation),
    );
    headers::of(protocol, &figures, caller.currency.as_deref())
}
