//! The explanation of a request that is over.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use trilane::config::Compiled;
use trilane::usage::{Call, Kind};

use super::bill::{self, ItemizedCharge};
use super::cause;
use super::line::LedgerLine;
use super::vendor_error;
use crate::explain::words::own_text;
use crate::language::translated;
use crate::timestamp;

/// The explanation of a request that is over.
#[derive(Debug, Serialize)]
pub struct PastRequest<'a> {
    /// The id that the gateway gave it.
    pub request_id: Option<&'a str>,
    /// The time at which the request began, as RFC 3339.
    pub timestamp: Option<&'a str>,
    /// The HTTP method.
    pub method: Option<&'a str>,
    /// The path, without the query.
    pub path: Option<&'a str>,
    /// The status of the response; 0: none was sent.
    pub status: u64,
    /// The parts of the explanation as text, in order.
    pub parts: Vec<ExplainedPart>,
    /// The charge by the document's prices, if a document is given and something was charged.
    pub bill: Option<ItemizedCharge>,
    /// The ledger line.
    pub line: &'a Map<String, Value>,
}

/// A part of the explanation.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ExplainedPart {
    /// The name of the part.
    pub part: &'static str,
    /// The explanation, in words.
    pub text: String,
}

impl<'a> PastRequest<'a> {
    /// Explains a line; with a document, also by its prices and its present state of the key.
    pub fn new(line: &'a LedgerLine, document: Option<&Compiled>) -> Self {
        let charged = line.text("trilane.charge").is_some();
        let bill = document
            .filter(|_| charged)
            .map(|document| bill::of(line, document));
        let cause = cause::of(line);
        let parts = [
            ("who", Some(who(line))),
            ("asked", asked(line)),
            ("decided", decided(line)),
            ("tried", tried(line)),
            ("ended", Some(ended(line))),
            ("why", cause.map(|cause| why(line, &translated(cause.why)))),
            ("used", used(line)),
            ("charged", charge(line, bill.as_ref())),
            ("spent", spent(line)),
            ("now", document.and_then(|document| now(line, document))),
            (
                "to do",
                cause.map(|cause| translated(cause.cure).into_owned()),
            ),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(part, text)| Some(ExplainedPart { part, text: text? }));
        Self {
            request_id: line.text("request_id"),
            timestamp: line.text("timestamp"),
            method: line.text("http.request.method"),
            path: line.text("url.path"),
            status: line.number("http.response.status_code").unwrap_or(0),
            parts: parts.collect(),
            bill: bill.and_then(Result::ok),
            line: line.members(),
        }
    }
}

fn who(line: &LedgerLine) -> String {
    let Some(key) = line.text("trilane.key.id") else {
        return "nobody that is known: the line names no key".to_owned();
    };
    let owner = line.text("trilane.key.owner");
    let owner = owner
        .map(|owner| format!(" of {owner}"))
        .unwrap_or_default();
    let team = line.text("trilane.key.team");
    let team = team
        .map(|team| format!(", of the team {team}"))
        .unwrap_or_default();
    let owner = format!("{owner}{team}");
    let place = line.text("trilane.key.found_in");
    let place = place
        .map(|place| format!(", sent in {place}"))
        .unwrap_or_default();
    match line.text("trilane.group") {
        Some(group) => format!("key {key}{owner}, of the group {group}{place}"),
        None => format!("key {key}{owner}{place}"),
    }
}

fn asked(line: &LedgerLine) -> Option<String> {
    let endpoint = line.text("trilane.endpoint")?;
    let protocol = line.text("trilane.protocol");
    let protocol = protocol
        .map(|protocol| t!(", of protocol {protocol}", protocol = protocol))
        .unwrap_or_default();
    let model = line.text("gen_ai.request.model");
    let model = model
        .map(|model| t!(", for the model {model}", model = model))
        .unwrap_or_default();
    let stream = line
        .members()
        .get("trilane.stream")
        .and_then(Value::as_bool);
    let stream = if stream == Some(true) {
        t!(", as a stream")
    } else {
        Cow::default()
    };
    let size = line.number("http.request.body.size");
    let size = size
        .map(|size| t!(", {size} bytes", size = size))
        .unwrap_or_default();
    Some(format!("{endpoint}{protocol}{model}{stream}{size}"))
}

fn decided(line: &LedgerLine) -> Option<String> {
    let source = line.text("trilane.source")?;
    let entry = line.text("trilane.entry");
    let entry = entry
        .map(|entry| t!(", entry {entry}", entry = entry))
        .unwrap_or_default();
    let multiplier = line.text("trilane.multiplier");
    let multiplier = multiplier
        .map(|multiplier| t!(", multiplier {multiplier}", multiplier = multiplier))
        .unwrap_or_default();
    let model = line.text("trilane.model").map(|model| {
        let upstream = line.text("trilane.upstream_model");
        let upstream = upstream.filter(|upstream| *upstream != model);
        let upstream = upstream
            .map(|upstream| t!(", which is {upstream} there", upstream = upstream))
            .unwrap_or_default();
        t!("model {model}, ", model = format!("{model}{upstream}"))
    });
    let model = model.unwrap_or_default();
    let source = t!("source {source}", source = source);
    Some(format!("{model}{source}{entry}{multiplier}"))
}

fn tried(line: &LedgerLine) -> Option<String> {
    let last = line.text("trilane.account");
    let failed = line.list("trilane.tries.failed");
    let each = failed.iter().map(|failed| {
        let text = |name: &str| failed[name].as_str().unwrap_or_default();
        let status = failed["status"].as_u64().filter(|status| *status > 0);
        let status = status.map(|status| format!(" ({status})"));
        let reason = Some(text("reason")).filter(|reason| !reason.is_empty());
        let reason = reason
            .map(str::to_owned)
            .or_else(|| vendor_error::of_attempt(failed));
        let reason = reason
            .map(|reason| t!(": {reason}", reason = reason))
            .unwrap_or_default();
        let (account, why) = (text("account"), translated(cause::failure(text("kind"))));
        let source = match text("source") {
            "" => String::new(),
            source => format!("{source}/"),
        };
        format!(
            "{source}{account} {why}{}{reason}",
            status.unwrap_or_default()
        )
    });
    let mut tries: Vec<String> = each.collect();
    let count = line.number("trilane.tries").unwrap_or(0);
    let answered = usize::try_from(count).is_ok_and(|count| count > failed.len());
    if let (Some(last), true) = (last, answered) {
        tries.push(if line.number("http.response.status_code") == Some(0) {
            t!("{account} was asked last", account = last)
        } else {
            t!("{account} answered", account = last)
        });
    }
    if tries.is_empty() {
        let cluster = line.text("trilane.cluster")?;
        let upstream = line.text("upstream")?;
        return Some(t!(
            "cluster {cluster}, at {upstream}",
            cluster = cluster,
            upstream = upstream
        ));
    }
    Some(tries.join(&t!("; then ")))
}

fn ended(line: &LedgerLine) -> String {
    let outcome = line.text("trilane.outcome").unwrap_or("before the filter");
    let meaning = cause::ending(outcome).map(|text| t!(": {reason}", reason = translated(text)));
    let time = line.number("duration_ms");
    let time = time.map(|time| t!(", after {time} ms", time = time));
    let first = line.number("trilane.time_to_first_byte_us");
    let first = first.map(|us| t!(" (first byte after {time} ms)", time = us.div_euclid(1000)));
    let details =
        ["flags", "details"].map(|name| line.text(name).filter(|text| *text != "via_upstream"));
    let details: Vec<&str> = details.into_iter().flatten().collect();
    let details = if details.is_empty() {
        String::new()
    } else {
        t!("; Envoy says {details}", details = details.join(" "))
    };
    let [meaning, time, first] = [meaning, time, first].map(Option::unwrap_or_default);
    format!("{outcome}{meaning}{time}{first}{details}")
}

fn why(line: &LedgerLine, why: &str) -> String {
    let code = line.text("error.type");
    let code = code.map(|code| format!("{code}: ")).unwrap_or_default();
    let limit = line.text("trilane.limit").map(|limit| {
        let scope = line.text("trilane.limit.scope").unwrap_or("key");
        t!(" ({limit} of the {scope})", limit = limit, scope = scope)
    });
    let status = line.number("trilane.upstream_status");
    let status = status.map(|status| t!("; the upstream answered {status}", status = status));
    let failure = line.text("trilane.upstream_failure");
    let failure = failure.map(|failure| format!("; {failure}"));
    let error = vendor_error::of_line(line);
    let error = error.map(|error| t!("; the vendor names it {error}", error = error));
    let [limit, status, failure, error] =
        [limit, status, failure, error].map(Option::unwrap_or_default);
    format!("{code}{why}{limit}{status}{failure}{error}")
}

fn used(line: &LedgerLine) -> Option<String> {
    // Unused needs no text.
    let status = line
        .text("trilane.usage.status")
        .filter(|status| *status != "none")?;
    let usage = line.usage();
    let tokens = Kind::ALL.map(|kind| (kind.name(), usage.tokens(kind)));
    let calls = Call::ALL.map(|call| (call.name(), usage.calls(call)));
    let all = tokens.into_iter().chain([("images", usage.images)]);
    let some: Vec<String> = all
        .chain(calls)
        .filter(|(_, amount)| *amount > 0)
        .map(|(what, amount)| format!("{what} {amount}"))
        .collect();
    let numbers = cause::numbers(status);
    let doubt = line.text("trilane.usage.doubt");
    let doubt = doubt
        .map(|doubt| format!("; in doubt: {doubt}"))
        .unwrap_or_default();
    if some.is_empty() {
        return Some(format!("{status}: {numbers}{doubt}"));
    }
    let estimated = ["input_tokens", "output_tokens", "images"].map(|what| {
        let number = line.number(&format!("trilane.estimated.{what}"))?;
        Some(format!("{number} {}", what.replace('_', " ")))
    });
    let estimated: Vec<String> = estimated.into_iter().flatten().collect();
    let estimated = if estimated.is_empty() {
        String::new()
    } else {
        format!(", {} of it estimated", estimated.join(" and "))
    };
    Some(format!(
        "{} ({status}: {numbers}{estimated}){doubt}",
        some.join(", ")
    ))
}

fn charge(
    line: &LedgerLine,
    bill: Option<&Result<ItemizedCharge, &'static str>>,
) -> Option<String> {
    let Some(charge) = line.text("trilane.charge") else {
        let nothing = matches!(line.text("trilane.usage.status")?, "none" | "failed");
        let why = if nothing {
            "nothing"
        } else {
            "nothing: the model has no prices, or what it used is not known"
        };
        return Some(why.to_owned());
    };
    let currency = line.text("trilane.currency");
    let currency = currency.map(|code| format!(" {code}")).unwrap_or_default();
    let uncovered = line.list("trilane.uncovered");
    let uncovered: Vec<&str> = uncovered.iter().filter_map(Value::as_str).collect();
    let uncovered = if uncovered.is_empty() {
        String::new()
    } else {
        format!(", and no price covers {}", uncovered.join(", "))
    };
    let by = match bill {
        None => "; --document shows from which prices".to_owned(),
        Some(Err(why)) => format!("; {why}, so from which prices cannot be told"),
        Some(Ok(bill)) if bill.as_charged => ", which is".to_owned(),
        Some(Ok(_)) => {
            "; by the document as it is now it would be another amount (its prices have changed since, or several models \
             were at work)"
                .to_owned()
        }
    };
    let reported = line.text("trilane.usage.reported_cost");
    let reported = reported
        .map(|cost| format!(", the vendor says {cost}"))
        .unwrap_or_default();
    let cost = line.text("trilane.cost").map(|cost| {
        let factor = line.text("trilane.cost_factor").unwrap_or("a factor");
        format!(", the account takes {cost}{currency} ({factor} of the list price)")
    });
    let cost = cost.unwrap_or_default();
    Some(format!("{charge}{currency}{cost}{reported}{uncovered}{by}"))
}

fn spent(line: &LedgerLine) -> Option<String> {
    let mut all = Vec::new();
    for scope in ["key", "group"] {
        for window in ["day", "month"] {
            if let Some(amount) = line.text(&format!("trilane.spent.{scope}.{window}")) {
                all.push(match (scope, window) {
                    ("key", "day") => t!("{amount} of the key's day", amount = amount),
                    ("key", _) => t!("{amount} of the key's month", amount = amount),
                    (_, "day") => t!("{amount} of the group's day", amount = amount),
                    _ => t!("{amount} of the group's month", amount = amount),
                });
            }
        }
    }
    (!all.is_empty()).then(|| {
        t!(
            "{amounts} by then, this request included",
            amounts = all.join(", ")
        )
    })
}

/// The key's present state in the document.
fn now(line: &LedgerLine, document: &Compiled) -> Option<String> {
    let id = line.text("trilane.key.id")?;
    let mut records = document.keys.iter().map(|(_, record)| record);
    let Some(record) = records.find(|record| record.id == id) else {
        let feed = if document.policy.keys_feed.is_some() {
            ", but its feed may"
        } else {
            ""
        };
        return Some(format!("the document does not have the key {id}{feed}"));
    };
    let end = record
        .expires_at
        .and_then(|end| Some((end, timestamp::unix_text(end)?)));
    let standing = match end {
        _ if record.disabled => "disabled".to_owned(),
        Some((end, text)) if end <= OffsetDateTime::now_utc().unix_timestamp() => {
            format!("at its end since {text}")
        }
        Some((_, text)) => format!("good until {text}"),
        None => "good".to_owned(),
    };
    let own = record.access.as_deref();
    let own = own.map(own_text).unwrap_or_default();
    Some(format!(
        "the key {id} is {standing}, in the group {}{own}",
        record.group
    ))
}
