//! The problems that need attention now.

use std::borrow::Cow;

use time::Duration;

use super::console_needs::left;
use crate::cases::envoys::{self, EnvoyView};
use crate::cases::keys::{self, KeyListParams};
use crate::cases::paging::PageParams;
use crate::cases::requests::{self, RequestParams};
use crate::cases::{Caller, ConsoleState, documents};
use crate::pages::overview::{
    account_needs, budget_needs, console_needs, uncovered_needs, unpriced_needs,
};
use crate::pages::{PageProblem, text};
use crate::timestamp;

/// The Envoys that are shown.
const ENVOYS: u16 = 100;
/// An agent reports within seconds: after this long it is away, in seconds.
const AWAY: i64 = 60;
/// Bytes of a ledger that wait: more than one part, which is what is sent at once.
const WAITING: u64 = 8 << 20;
/// The clock offset from which an Envoy needs attention; its alert has the same.
const CLOCK: Duration = Duration::seconds(30);

/// Something that needs somebody.
pub struct Need {
    /// `warn` or `bad`.
    pub kind: &'static str,
    /// The problem, in words.
    pub text: String,
    /// The path of the page on which it can be solved.
    pub path: String,
    /// The label of the link to that page.
    pub link: Cow<'static, str>,
}

/// An Envoy.
pub struct EnvoyToday {
    /// The name of the Envoy.
    pub name: String,
    /// `good`, `warn`, `bad` or `off`, and in words.
    pub state: (&'static str, Cow<'static, str>),
    /// Whether it has the document in force; `None`: it has said nothing.
    pub is_current: Option<bool>,
    /// The time of the agent's latest report, if that was not just now.
    pub seen_at: Option<String>,
}

/// The Envoys, and what needs somebody.
pub struct Fleet {
    /// The Envoys, without those that were revoked.
    pub envoys: Vec<EnvoyToday>,
    /// The problems that need attention.
    pub needs: Vec<Need>,
}

fn age(now: i64, seen_at: Option<&String>) -> Option<i64> {
    let seen = timestamp::parse(seen_at?)?.unix_timestamp();
    Some(now.saturating_sub(seen))
}

fn envoy(view: EnvoyView, in_force: Option<&String>, now: i64) -> EnvoyToday {
    let age = age(now, view.seen_at.as_ref());
    let troubled = view
        .report
        .as_ref()
        .is_some_and(|of| !of.troubles.is_empty());
    let state = match (view.state, age) {
        ("new", _) => ("off", t!("Not enrolled yet")),
        (_, Some(age)) if age > AWAY => ("bad", t!("Away")),
        (_, None) => ("warn", t!("Not seen yet")),
        _ if troubled => ("warn", t!("Has troubles")),
        _ => ("good", t!("Serves")),
    };
    let document = view.report.and_then(|report| report.document);
    EnvoyToday {
        name: view.name,
        is_current: document.map(|document| Some(&document) == in_force),
        seen_at: view.seen_at.filter(|_| state.0 == "bad"),
        state,
    }
}

fn needs_of(view: &EnvoyView, now: i64) -> Vec<Need> {
    let settings = |kind, text| Need {
        kind,
        text,
        path: "/settings".to_owned(),
        link: t!("Envoys"),
    };
    let mut needs = Vec::new();
    if view.state == "enrolled" && age(now, view.seen_at.as_ref()).is_some_and(|age| age > AWAY) {
        let text = t!(
            "The agent of {envoy} was not seen for more than a minute. Its Envoy goes on with what it has.",
            envoy = view.name
        );
        needs.push(settings("bad", text));
    }
    if let Some(report) = &view.report {
        let troubles = report.troubles.iter();
        needs.extend(troubles.map(|of| settings("warn", format!("{}: {of}", view.name))));
        if report.ledger_waiting > WAITING {
            let waiting = text::count(report.ledger_waiting);
            let text = t!(
                "{envoy} has {count} bytes of its ledger to send: what is shown here is behind.",
                envoy = view.name,
                count = waiting
            );
            needs.push(settings("warn", text));
        }
        let certificate = report.certificate_ends_at.as_deref();
        if let Some((ends_at, (left, kind))) = certificate.and_then(|at| Some((at, left(at, now)?)))
        {
            let (envoy, at) = (&view.name, timestamp::utc(ends_at));
            let text = if left < 0 {
                t!(
                    "The certificate of {envoy} has ended at {moment}: clients that use TLS cannot reach it.",
                    envoy = envoy,
                    moment = at
                )
            } else {
                t!(
                    "The certificate of {envoy} ends at {moment}: then clients that use TLS cannot reach it.",
                    envoy = envoy,
                    moment = at
                )
            };
            needs.push(settings(kind, text));
        }
        let offset = Duration::milliseconds(view.clock_offset_ms.unwrap_or_default());
        if offset.abs() > CLOCK {
            let by = text::count(offset.whole_seconds().unsigned_abs());
            let text = if offset.is_negative() {
                t!(
                    "The clock of {envoy} is {seconds} s behind: usage and budgets are counted by days.",
                    envoy = view.name,
                    seconds = by
                )
            } else {
                t!(
                    "The clock of {envoy} is {seconds} s ahead: usage and budgets are counted by days.",
                    envoy = view.name,
                    seconds = by
                )
            };
            needs.push(settings("warn", text));
        }
    }
    needs
}

impl Fleet {
    /// Reads it.
    ///
    /// # Errors
    /// Those of the use case.
    pub async fn read(state: &ConsoleState, caller: &Caller) -> Result<Self, PageProblem> {
        let place = PageParams::first(ENVOYS);
        let found = envoys::list(state, caller, place).await?;
        let in_force = documents::in_force(state, caller).await?.map(|of| of.etag);
        let now = state.now().div_euclid(1_000_000);
        let known = found.items.into_iter();
        let known: Vec<EnvoyView> = known.filter(|view| view.state != "revoked").collect();
        let mut needs = Vec::new();
        let start = |text: Cow<'static, str>| Need {
            kind: "warn",
            text: text.into_owned(),
            path: "/start".to_owned(),
            link: t!("Get started"),
        };
        if in_force.is_none() {
            needs.push(start(t!(
                "No document is in force: gateways refuse every request."
            )));
        }
        if in_force.is_some() {
            needs.extend(first_run_need(state, caller).await?.map(start));
        }
        if known.is_empty() {
            needs.push(start(t!(
                "No Envoy is known here: no gateway takes this document, and no usage comes in."
            )));
        }
        for view in &known {
            needs.extend(needs_of(view, now));
        }
        needs.extend(account_needs::read(state, caller).await?);
        needs.extend(budget_needs::read(state, caller).await?);
        needs.extend(unpriced_needs::read(state, caller).await?);
        needs.extend(uncovered_needs::read(state, caller).await?);
        needs.extend(console_needs::read(state, caller).await?);
        // What fails stands before what is going to.
        needs.sort_by_key(|need| need.kind != "bad");
        let envoys = known.into_iter();
        let envoys = envoys.map(|view| envoy(view, in_force.as_ref(), now));
        Ok(Self {
            envoys: envoys.collect(),
            needs,
        })
    }
}

/// Names the step of the first run that is left once something is published.
async fn first_run_need(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<Option<Cow<'static, str>>, PageProblem> {
    let one = || PageParams::first(1);
    let keys = keys::list(state, caller, KeyListParams::default(), one()).await?;
    if keys.items.is_empty() {
        return Ok(Some(t!("There is no key yet: nobody can send a request.")));
    }
    let latest = requests::list(state, caller, RequestParams::default(), one()).await?;
    let is_used = !latest.items.is_empty();
    Ok((!is_used).then(|| t!("No request has arrived lately.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::EnvoyReport;

    fn view(state: &'static str, seen: Option<i64>, report: Option<EnvoyReport>) -> EnvoyView {
        EnvoyView {
            id: "edge-1".to_owned(),
            name: "Edge".to_owned(),
            state,
            enrol_until: None,
            enrolled_at: None,
            fingerprint: None,
            approved: true,
            seen_at: seen.and_then(timestamp::unix_text),
            report,
            clock_offset_ms: None,
            created_at: String::new(),
        }
    }

    #[test]
    fn what_is_said_of_an_envoy() {
        let now = 1_764_000_000;
        let report = |waiting, trouble: &str| EnvoyReport {
            document: Some("d".to_owned()),
            ledger_waiting: waiting,
            troubles: if trouble.is_empty() {
                Vec::new()
            } else {
                vec![trouble.to_owned()]
            },
            ..EnvoyReport::default()
        };
        let off = |milliseconds| EnvoyView {
            clock_offset_ms: Some(milliseconds),
            ..view("enrolled", Some(now), Some(report(0, "")))
        };
        let until = |days: i64| {
            let ends_at = timestamp::unix_text(now + days * 24 * 60 * 60);
            let report = EnvoyReport {
                certificate_ends_at: ends_at,
                ..report(0, "")
            };
            view("enrolled", Some(now), Some(report))
        };
        for (case, view, state, current, needs) in [
            ("its certificate is new", until(22), "good", Some(true), 0),
            ("its certificate ends", until(20), "good", Some(true), 1),
            (
                "its certificate has ended",
                until(-1),
                "good",
                Some(true),
                1,
            ),
            (
                "its clock is a little off",
                off(-30_000),
                "good",
                Some(true),
                0,
            ),
            ("its clock is off", off(-31_000), "good", Some(true), 1),
            ("new", view("new", None, None), "off", None, 0),
            ("silent", view("enrolled", None, None), "warn", None, 0),
            (
                "serves",
                view("enrolled", Some(now - 60), Some(report(0, ""))),
                "good",
                Some(true),
                0,
            ),
            (
                "away",
                view("enrolled", Some(now - 61), Some(report(0, ""))),
                "bad",
                Some(true),
                1,
            ),
            (
                "troubled and behind",
                view(
                    "enrolled",
                    Some(now),
                    Some(report(WAITING + 1, "disk full")),
                ),
                "warn",
                Some(true),
                2,
            ),
        ] {
            assert_eq!(needs_of(&view, now).len(), needs, "{case}");
            let shown = envoy(view, Some(&"d".to_owned()), now);
            assert_eq!(
                (shown.state.0, shown.is_current),
                (state, current),
                "{case}"
            );
        }
    }
}
