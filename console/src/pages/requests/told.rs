//! The outcome of a request, and the one it would have now, in the page's own words: with the names for people, amounts in
//! their currency, and the style of an API. `trilane explain` and the API have the words of documents instead.

use std::borrow::Cow;

use serde_json::Value;
use trilane::exchange::Step;
use trilane::limits::SubjectKind;
use trilane::money::Amount;

use super::row::limit;
use crate::cases::names::{Names, WantedNames};
use crate::cases::one_request::RequestDetail;
use crate::explain::{
    Cause, DecisionStep, Explanation, LedgerLine, StepResult, cause_of, ending, vendor_error,
};
use crate::language::{self, translated};
use crate::pages::{ShownAmount, ledger_words, text};
use crate::vendors::api_style;

/// A part of the explanation: its title and its text.
pub type ExplanationPart = (Cow<'static, str>, String);

/// Adds what an explanation names: the source, and the key and the groups of the decision that would be made now.
pub fn add_named(wanted: &mut WantedNames, line: &LedgerLine, detail: &RequestDetail) {
    wanted.all(SubjectKind::Group, line.text("trilane.source"));
    if let Some(now) = &detail.now {
        wanted.all(SubjectKind::Key, now.found.key.as_deref());
        wanted.all(SubjectKind::Group, now.found.group.as_deref());
        wanted.all(SubjectKind::Group, now.found.source.as_deref());
    }
}

/// The outcome. Of a failure its reason comes first, and what helps.
pub fn parts(line: &LedgerLine, names: &Names) -> Vec<ExplanationPart> {
    let cause = cause_of(line);
    let code = line.text("error.type").filter(|_| cause.is_some());
    let all = [
        (t!("Why"), cause.map(|cause| why(line, cause))),
        (
            t!("What helps"),
            cause.map(|cause| translated(cause.cure).into_owned()),
        ),
        (t!("Error code"), code.map(str::to_owned)),
        (t!("Asked for"), asked(line)),
        (t!("Routed to"), routed(line, names)),
        (t!("Ended"), ended(line)),
        (t!("Spent"), spent(line)),
    ];
    all.into_iter()
        .filter_map(|(title, text)| Some((title, text?)))
        .collect()
}

fn why(line: &LedgerLine, cause: Cause) -> String {
    let reason = translated(cause.why);
    let reason = match limit(line) {
        Some(limit) => t!("{reason} ({limit})", reason = reason, limit = limit),
        None => reason.into_owned(),
    };
    let status = line.number("trilane.upstream_status");
    let failure = line.text("trilane.upstream_failure");
    let error = vendor_error::of_line(line);
    let all = [
        Some(reason),
        status.map(|status| t!("the upstream answered {status}", status = status)),
        failure.map(|reason| ledger_words::detail(reason).into_owned()),
        error.map(|error| t!("the vendor names it {error}", error = error)),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    all.join(&*t!("; "))
}

/// An endpoint with the style of its API.
fn endpoint_text(endpoint: &str, protocol: Option<&str>) -> Vec<String> {
    let style = protocol.map(|protocol| translated(api_style(protocol)).into_owned());
    let endpoint = endpoint.replace('_', " ");
    [Some(endpoint), style].into_iter().flatten().collect()
}

fn asked(line: &LedgerLine) -> Option<String> {
    let endpoint = line.text("trilane.endpoint")?;
    let mut all = endpoint_text(endpoint, line.text("trilane.protocol"));
    let named = line.text("gen_ai.request.model");
    let named = named.filter(|named| Some(*named) != line.text("trilane.model"));
    all.extend(named.map(|named| t!("model {model}", model = named)));
    let members = line.members();
    if members.get("trilane.stream").and_then(Value::as_bool) == Some(true) {
        all.push(t!("as a stream").into_owned());
    }
    let size = line.number("http.request.body.size");
    let size = size.and_then(|size| i64::try_from(size).ok());
    all.extend(size.map(text::bytes));
    Some(language::list(&all))
}

/// A source, the name of its model where that is another one, and the multiplier.
fn route_texts(
    source: &str,
    model: Option<&str>,
    upstream: Option<&str>,
    multiplier: Option<&str>,
    names: &Names,
) -> Vec<String> {
    let upstream = upstream.filter(|upstream| Some(*upstream) != model);
    let all = [
        Some(t!("source {source}", source = names.group(source).text)),
        upstream.map(|upstream| t!("called {model} there", model = upstream)),
        multiplier.map(|multiplier| {
            t!(
                "multiplier {multiplier}",
                multiplier = without_zeros(multiplier)
            )
        }),
    ];
    all.into_iter().flatten().collect()
}

/// A decimal number without the zeros behind its last digit.
fn without_zeros(number: &str) -> String {
    Amount::read(number).map_or_else(|_| number.to_owned(), |exact| exact.to_string())
}

fn routed(line: &LedgerLine, names: &Names) -> Option<String> {
    let all = route_texts(
        line.text("trilane.source")?,
        line.text("trilane.model"),
        line.text("trilane.upstream_model"),
        line.text("trilane.multiplier"),
        names,
    );
    Some(language::list(&all))
}

fn ended(line: &LedgerLine) -> Option<String> {
    let meaning = line.text("trilane.outcome").and_then(ending);
    let details =
        ["flags", "details"].map(|name| line.text(name).filter(|text| *text != "via_upstream"));
    let details: Vec<&str> = details.into_iter().flatten().collect();
    let details =
        (!details.is_empty()).then(|| t!("Envoy says {details}", details = details.join(" ")));
    let all = [
        meaning.map(|meaning| translated(meaning).into_owned()),
        details,
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(&*t!("; ")))
}

/// Returns the amounts that key and group had spent when the request was over.
fn spent(line: &LedgerLine) -> Option<String> {
    let currency = line.text("trilane.currency").unwrap_or_default();
    let amount = |scope: &str, window: &str| {
        let exact = line.text(&format!("trilane.spent.{scope}.{window}"))?;
        Some(text::amount(currency, exact))
    };
    let all = [
        amount("key", "day").map(|of| t!("{amount} of the key's day", amount = of)),
        amount("key", "month").map(|of| t!("{amount} of the key's month", amount = of)),
        amount("group", "day").map(|of| t!("{amount} of the group's day", amount = of)),
        amount("group", "month").map(|of| t!("{amount} of the group's month", amount = of)),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    let amounts = language::list(&all);
    (!all.is_empty()).then(|| {
        t!(
            "{amounts} by then, this request included",
            amounts = amounts
        )
    })
}

/// The reason of a step of the decision as it would be now.
pub fn step_reason(of: &DecisionStep, now: &Explanation, currency: &str, names: &Names) -> String {
    let said = match of.result {
        StepResult::Good => good_step(of.step, now, currency, names),
        StepResult::Refused | StepResult::NotReached => None,
    };
    said.unwrap_or_else(|| of.reason.clone())
}

/// Words the finding of a step that lets the request go on; `None` where the words of the explanation are good.
fn good_step(step: Step, now: &Explanation, currency: &str, names: &Names) -> Option<String> {
    let found = &now.found;
    let group = || {
        let id = found.group.as_deref()?;
        Some(t!("group {group}", group = names.group(id).text))
    };
    Some(match step {
        Step::Endpoint => {
            let protocol = found.protocol.as_deref()?;
            language::list(&endpoint_text(found.endpoint.as_deref()?, Some(protocol)))
        }
        Step::Key => t!("{key} is good", key = names.key(found.key.as_deref()?).text),
        Step::List => group()?,
        Step::Route => {
            let multiplier = found.multiplier.as_deref();
            let source = found.source.as_deref()?;
            let mut all = vec![group()?];
            all.extend(route_texts(source, None, None, multiplier, names));
            language::list(&all)
        }
        Step::Version => t!("the group accepts it").into_owned(),
        Step::Body => t!("not kept: only the model is checked").into_owned(),
        Step::Model => {
            let model = found.model.as_deref()?;
            let named = found.named_model.as_deref();
            let upstream = found.upstream_model.as_deref();
            // Without a name of its own the source gets the client's.
            let upstream = upstream.filter(|upstream| Some(*upstream) != named);
            let all = [
                Some(model.to_owned()),
                upstream
                    .filter(|upstream| *upstream != model)
                    .map(|upstream| t!("called {model} there", model = upstream)),
            ];
            let all: Vec<String> = all.into_iter().flatten().collect();
            language::list(&all)
        }
        Step::Limits => {
            let each = found.limits.iter().map(|(whose, limits)| {
                let whose = match whose.as_str() {
                    "group" => t!("group"),
                    _ => t!("key"),
                };
                let limits = limits.as_object().into_iter().flatten();
                let limits: Vec<String> = limits
                    .map(|(name, value)| limit_text(name, value, currency))
                    .collect();
                t!(
                    "{title}: {value}",
                    title = whose,
                    value = language::list(&limits)
                )
            });
            let each: Vec<String> = each.collect();
            if each.is_empty() {
                return None;
            }
            each.join(&*t!("; "))
        }
        Step::Credential | Step::Rights => return None,
    })
}

/// A limit as an explanation has it, `budget_per_month` with an amount, in words.
fn limit_text(name: &str, value: &Value, currency: &str) -> String {
    let amount = |exact: &str| ShownAmount::of(currency, exact).exact;
    let count = value.as_i64().map(|count| text::number(&count));
    match (name, value.as_str(), count) {
        ("budget_per_day", Some(exact), _) => t!("{amount} a day", amount = amount(exact)),
        ("budget_per_month", Some(exact), _) => t!("{amount} a month", amount = amount(exact)),
        ("requests_per_minute", _, Some(count)) => t!("{count} requests a minute", count = count),
        ("input_tokens_per_minute", _, Some(count)) => {
            t!("{count} input tokens a minute", count = count)
        }
        ("output_tokens_per_minute", _, Some(count)) => {
            t!("{count} output tokens a minute", count = count)
        }
        ("concurrent_requests", _, Some(count)) => t!("{count} requests at once", count = count),
        _ => format!("{} {value}", name.replace('_', " ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(line: &Value) -> Vec<(String, String)> {
        let line = LedgerLine::of(line.as_object().expect("an object").clone());
        let parts = parts(&line, &Names::default());
        let owned = parts.into_iter();
        owned
            .map(|(title, text)| (title.into_owned(), text))
            .collect()
    }

    #[test]
    fn what_happened_is_told_without_words_of_documents() {
        let answered = json!({"trilane.endpoint": "messages", "trilane.protocol": "B", "trilane.stream": true,
            "trilane.model": "m", "gen_ai.request.model": "m", "trilane.source": "s", "trilane.entry": "vb_messages",
            "trilane.upstream_model": "m-1", "trilane.multiplier": "1.5000", "trilane.outcome": "finished",
            "duration_ms": 1830, "trilane.currency": "USD", "trilane.spent.key.day": "1.5"});
        let of = |title: &str, text: &str| (title.to_owned(), text.to_owned());
        let want = [
            of("Asked for", "messages, Anthropic-style, as a stream"),
            of("Routed to", "source s, called m-1 there, multiplier 1.5"),
            of("Ended", "the answer was relayed whole"),
            of(
                "Spent",
                "$1.50 of the key's day by then, this request included",
            ),
        ];
        assert_eq!(told(&answered), want);
    }

    #[test]
    fn why_it_failed_comes_first() {
        let refused = json!({"http.response.status_code": 429, "trilane.outcome": "refused",
            "error.type": "rate_limit_exceeded", "trilane.limit": "requests", "trilane.limit.scope": "key"});
        let told = told(&refused);
        let titles: Vec<&str> = told.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(titles, ["Why", "What helps", "Error code", "Ended"]);
        let why = "the limit was used up when the request came (requests of the key)";
        assert_eq!(told[0].1, why);
        assert_eq!(told[2].1, "rate_limit_exceeded");
    }

    #[test]
    fn numbers_have_no_zeros_behind() {
        for (number, want) in [("2.0000", "2"), ("1.2500", "1.25"), ("10", "10"), ("", "")] {
            assert_eq!(without_zeros(number), want, "{number}");
        }
    }
}
