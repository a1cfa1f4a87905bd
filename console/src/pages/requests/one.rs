//! One request.

use std::borrow::Cow;

use askama::Template;
use axum::extract::Path;

use serde_json::Value;
use trilane::exchange::Step;
use trilane::limits::SubjectKind;
use trilane::money::Amount;
use trilane::usage::{Call, Kind};

use super::row::{RequestRow, limit, line};
use super::told::{self, ExplanationPart};
use crate::cases::names::WantedNames;
use crate::cases::one_request;
use crate::cases::{ApiProblem, Caller};
use crate::explain::{DecisionStep, ItemizedCharge, LedgerLine, StepResult, failure, vendor_error};
use crate::language::translated;
use crate::ledger::Sum;
use crate::markup::Markup;
use crate::pages::{PageResult, PageShell, Visit, ledger_words, nearly_spent, page, people, text};

/// An attempt at an upstream account.
struct AttemptShown {
    account: String,
    state: (&'static str, String),
    status: String,
    reason: String,
}

/// An item of the charge.
struct BillItem {
    what: String,
    amount: String,
    price: String,
    cost: String,
}

/// The charge and how it is computed.
struct BillShown {
    items: Vec<BillItem>,
    /// The sum of the items.
    sum: String,
    /// The multiplier, and what it is made of.
    multiplier: String,
    factors: Option<String>,
    charge: String,
    /// The version whose prices these are, and the set of the model's prices where they are not its own.
    prices: String,
    as_charged: bool,
}

/// A step of the decision as it would be now.
struct DecisionStepShown {
    name: String,
    state: (&'static str, Cow<'static, str>),
    reason: String,
}

#[derive(Template)]
#[template(path = "request.html")]
struct RequestPage {
    shell: PageShell,
    row: RequestRow,
    utc: String,
    title: String,
    id: String,
    envoy: String,
    parts: Vec<ExplanationPart>,
    attempts: Vec<AttemptShown>,
    tokens: Vec<(String, String)>,
    estimated: bool,
    /// The limit that refused the request, in words, and the page that has its number and what is left.
    limit: Option<(String, String)>,
    bill: Option<BillShown>,
    /// The decision that the gateway would make now: good or bad, in words, and the steps.
    now: Option<((&'static str, String), Vec<DecisionStepShown>)>,
    not_now: Option<Cow<'static, str>>,
    /// The place of the request that had the key.
    key_in: Option<String>,
    /// The session, which leads to its requests.
    session: Option<Markup>,
    /// The labels that the document lists, with what the request has for them.
    labels: Vec<(String, String)>,
    line: String,
}

/// One request.
pub async fn one(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    let detail = one_request::get(&state, &signed_in.caller, &id).await?;
    let line = line(&detail.request);
    let words = ["http.request.method", "url.path"].map(|name| line.text(name));
    let words: Vec<&str> = words.into_iter().flatten().collect();
    let title = if words.is_empty() {
        t!("A request").into_owned()
    } else {
        words.join(" ")
    };
    let asked = core::slice::from_ref(&detail.request);
    let mut rows = RequestRow::all(&state, &signed_in.caller, asked).await?;
    let row = rows.pop().ok_or_else(ApiProblem::not_found)?;
    let mut wanted = WantedNames::default();
    told::add_named(&mut wanted, &line, &detail);
    let names = wanted.find(&state, &signed_in.caller).await?;
    let currency = line.text("trilane.currency").unwrap_or_default();
    page(&RequestPage {
        shell: signed_in.shell(t!("Request")),
        utc: row.at.replace('T', " ").replace('Z', " UTC"),
        row,
        title,
        id: line.text("request_id").unwrap_or_default().to_owned(),
        envoy: detail.request.envoy.clone(),
        parts: told::parts(&line, &names),
        attempts: attempts(&line),
        tokens: tokens(&line),
        estimated: line.text("trilane.usage.status") == Some("estimated"),
        limit: limit(&line).map(|text| (text, limit_path(&line, &signed_in.caller))),
        bill: detail
            .bill
            .as_ref()
            .map(|bill| bill_shown(bill, &line, detail.bill_by.unwrap_or_default())),
        now: detail.now.as_ref().map(|now| {
            let code = now
                .answer
                .as_ref()
                .and_then(|answer| answer.code.as_deref());
            let (kind, text) = match (now.decision, &now.answer) {
                ("refused", Some(answer)) => (
                    "bad",
                    t!(
                        "Refused: {answer}",
                        answer = format!("{} {}", answer.status, code.unwrap_or_default())
                    ),
                ),
                ("answered", _) => ("good", t!("Answered by the gateway itself").into_owned()),
                _ => ("good", t!("Forwarded").into_owned()),
            };
            let steps = now.steps.iter();
            let steps = steps.map(|of| step(of, told::step_reason(of, now, currency, &names)));
            ((kind, text), steps.collect())
        }),
        not_now: detail.not_now.map(translated),
        key_in: line.text("trilane.key.found_in").map(str::to_owned),
        session: line.text("trilane.session").map(|id| {
            let path = text::path_with("/search", &[("text", id)]);
            Markup::link_to(&path, &Markup::code(id))
        }),
        labels: labels(&detail.request.line),
        line: serde_json::to_string_pretty(&detail.request.line).unwrap_or_default(),
    })
}

/// The labels in a line of the ledger.
fn labels(line: &Value) -> Vec<(String, String)> {
    let labels = line.get("trilane.labels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let texts = labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    texts.collect()
}

/// The page of the limit that refused a request: of its key, owner, team or group, or one's own.
fn limit_path(line: &LedgerLine, caller: &Caller) -> String {
    let of = |name| line.text(name).unwrap_or_default();
    let scope = line.text("trilane.limit.scope");
    let kind = scope
        .and_then(SubjectKind::named)
        .unwrap_or(SubjectKind::Key);
    if caller.only_owner().is_some() {
        return "/me".to_owned();
    }
    match kind {
        SubjectKind::Key => nearly_spent::path_of(kind, of("trilane.key.id")),
        SubjectKind::Owner => people::page_of(of("trilane.key.owner")),
        SubjectKind::Group => nearly_spent::path_of(kind, of("trilane.group")),
        SubjectKind::Team | SubjectKind::Member => {
            format!("/teams/{}", text::in_path(of("trilane.key.team")))
        }
    }
}

fn attempts(line: &LedgerLine) -> Vec<AttemptShown> {
    let failed = line.list("trilane.tries.failed");
    let status = |number: u64| match number {
        0 => String::new(),
        number => number.to_string(),
    };
    let each = failed.iter().map(|of| {
        let member = |name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = of.get("status").and_then(Value::as_u64);
        AttemptShown {
            account: match member("source") {
                "" => member("account").to_owned(),
                source => format!("{source}/{}", member("account")),
            },
            state: ("bad", translated(failure(member("kind"))).into_owned()),
            status: status(number.unwrap_or_default()),
            reason: vendor_error::of_attempt(of)
                .unwrap_or_else(|| ledger_words::detail(member("reason")).into_owned()),
        }
    });
    let mut all: Vec<AttemptShown> = each.collect();
    let tries = line.number("trilane.tries").unwrap_or_default();
    let is_answered = usize::try_from(tries).is_ok_and(|tries| tries > failed.len());
    if let (Some(account), true) = (line.text("trilane.account"), is_answered) {
        let number = line.number("http.response.status_code").unwrap_or_default();
        all.push(AttemptShown {
            account: account.to_owned(),
            state: match number {
                0 => (
                    "warn",
                    t!("was asked last; the client left before it answered").into_owned(),
                ),
                1..=399 => ("good", t!("answered").into_owned()),
                _ => ("warn", t!("answered with an error").into_owned()),
            },
            status: status(number),
            reason: vendor_error::of_line(line).unwrap_or_default(),
        });
    }
    all
}

/// Tokens, images and calls by kind.
fn tokens(line: &LedgerLine) -> Vec<(String, String)> {
    let usage = line.usage();
    let tokens = Kind::ALL.map(|kind| (kind.name(), usage.tokens(kind)));
    let calls = Call::ALL.map(|call| (call.name(), usage.calls(call)));
    let all = tokens.into_iter().chain([("images", usage.images)]);
    let used = all.chain(calls).filter(|(_, amount)| *amount > 0);
    used.map(|(name, amount)| (kind_name(name), text::count(amount)))
        .collect()
}

/// `cache_write_5m` as people read it.
fn kind_name(name: &str) -> String {
    let name = match name {
        "input" => t!("input"),
        "cache_read" => t!("cache read"),
        "cache_write_5m" => t!("cache write, 5 min"),
        "cache_write_1h" => t!("cache write, 1 h"),
        "output" => t!("output"),
        "reasoning" => t!("reasoning"),
        "input_image" => t!("input image"),
        "output_image" => t!("output image"),
        "input_audio" => t!("input audio"),
        "output_audio" => t!("output audio"),
        "tool_use" => t!("tool use"),
        "image" => t!("image"),
        "images" => t!("images"),
        "web_search" => t!("web search"),
        "code_execution" => t!("code execution"),
        "file_search" => t!("file search"),
        "maps_search" => t!("maps search"),
        "per_call" => t!("the call"),
        name => name.replace('_', " ").into(),
    };
    name.into_owned()
}

fn bill_shown(bill: &ItemizedCharge, line: &LedgerLine, version: i64) -> BillShown {
    let currency = line.text("trilane.currency").unwrap_or_default();
    let mut sum = Sum::default();
    let mut is_exact = true;
    for item in &bill.items {
        match Amount::read(&item.cost) {
            Ok(cost) => sum.add(cost),
            Err(_) => is_exact = false,
        }
    }
    let items = bill.items.iter().map(|item| {
        let is_of_tokens = Kind::ALL.iter().any(|kind| kind.name() == item.what);
        BillItem {
            what: kind_name(item.what),
            amount: text::count(item.amount),
            price: item.price.as_ref().map_or_else(
                || t!("free").into_owned(),
                |price| {
                    let price = text::amount(currency, price);
                    if is_of_tokens {
                        t!("{price} per million tokens", price = price)
                    } else {
                        t!("{price} each", price = price)
                    }
                },
            ),
            cost: text::amount(currency, &item.cost),
        }
    });
    let factors = bill.factors.iter().map(|factor| match factor.of {
        "source" => t!("the source’s {factor}", factor = factor.value),
        _ => t!("the entry’s {factor}", factor = factor.value),
    });
    let factors: Vec<String> = factors.collect();
    BillShown {
        items: items.collect(),
        sum: if is_exact {
            text::amount(currency, &sum.text())
        } else {
            String::new()
        },
        multiplier: bill.multiplier.clone(),
        factors: (!factors.is_empty()).then(|| factors.join(" × ")),
        charge: text::amount(currency, &bill.charge),
        prices: match bill.basis() {
            Some(set) => t!(
                "prices of version {version}, those {set}",
                version = version,
                set = set
            ),
            None => t!("prices of version {version}", version = version),
        },
        as_charged: bill.as_charged,
    }
}

/// The name of a step.
fn step_name(step: Step) -> Cow<'static, str> {
    match step {
        Step::Endpoint => t!("endpoint"),
        Step::Credential => t!("credential"),
        Step::Key => t!("key"),
        Step::List => t!("list"),
        Step::Route => t!("route"),
        Step::Version => t!("version"),
        Step::Rights => t!("rights"),
        Step::Body => t!("body"),
        Step::Model => t!("model"),
        Step::Limits => t!("limits"),
    }
}

fn step(of: &DecisionStep, reason: String) -> DecisionStepShown {
    let name = step_name(of.step);
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    DecisionStepShown {
        name: first.into_iter().chain(letters).collect(),
        state: match of.result {
            StepResult::Good => ("good", t!("passed")),
            StepResult::Refused => ("bad", t!("refused")),
            StepResult::NotReached => ("off", t!("not reached")),
        },
        reason,
    }
}
