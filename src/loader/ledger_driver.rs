//! Asking the program beside this Envoy whether the ledger can be written, where the document wants no request without a line.

use crate::config::policy::Policy;
use crate::host::{CallId, FetchRequest, FetchResponse};
use crate::ledger::Writability;
use crate::ledger::writability::{CLUSTER, PATH, is_unwritable};
use crate::metrics::LedgerStats;

use super::LoaderHost;

/// The longest answer that is read, in bytes.
const LONGEST: usize = 4096;

/// The ledger's side of a loader.
#[derive(Debug, Default)]
pub(super) struct LedgerDriver {
    /// The call whose response is awaited.
    call: Option<CallId>,
    /// `None` where the document does not ask for it, or nothing is known of that.
    following: Option<Following>,
}

/// The state of a driver that asks.
#[derive(Debug)]
struct Following {
    stats: LedgerStats,
    /// The time of the last answer, or of the first question, in milliseconds of the steady clock.
    answered_ms: u64,
    /// Whether a failure has been logged since the last answer.
    failure_logged: bool,
    /// Whether it was logged last that the ledger cannot be written.
    unwritable_logged: bool,
}

impl LedgerDriver {
    /// Another VM loads, or has loaded since.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Asks from now on, where a policy wants it.
    pub(super) fn follow(&mut self, policy: &Policy, host: &impl LoaderHost) {
        let now_ms = host.steady_ms();
        if !policy.requires_ledger {
            if let Some(former) = self.following.take() {
                Writability { writable: true }.publish(now_ms, host);
                former.stats.stands(false, 0, host);
            }
            self.call = None;
        } else if self.following.is_none() {
            self.following = Some(Following {
                stats: LedgerStats::define(host),
                answered_ms: now_ms,
                failure_logged: false,
                unwritable_logged: false,
            });
            self.poll(host);
        }
    }

    /// Asks, with a poll of the document, unless an answer is awaited.
    pub(super) fn poll(&mut self, host: &impl LoaderHost) {
        let Some(following) = &mut self.following else {
            return;
        };
        following.show(host);
        if self.call.is_some() {
            return;
        }
        self.call = host.fetch(FetchRequest {
            cluster: CLUSTER,
            authority: CLUSTER,
            path: PATH,
            headers: &[("cache-control", "no-cache")],
        });
        if self.call.is_none() {
            following.fail("its cluster is unknown or has no host", host);
        }
    }

    /// Whether this call is the one awaited; it is not any more then.
    pub(super) fn take_call(&mut self, call: CallId) -> bool {
        self.call.take_if(|awaited| *awaited == call).is_some()
    }

    /// The response awaited has come; `None` for a call that failed.
    pub(super) fn on_response(
        &mut self,
        response: Option<&impl FetchResponse>,
        host: &impl LoaderHost,
    ) {
        let Some(following) = &mut self.following else {
            return;
        };
        match read(response) {
            Ok(answer) => following.take(answer, host),
            Err(why) => following.fail(&why, host),
        }
        following.show(host);
    }
}

impl Following {
    fn take(&mut self, answer: Writability, host: &impl LoaderHost) {
        self.answered_ms = host.steady_ms();
        self.failure_logged = false;
        answer.publish(self.answered_ms, host);
        let unwritable = !answer.writable;
        if core::mem::replace(&mut self.unwritable_logged, unwritable) == unwritable {
            return;
        }
        if unwritable {
            let line = "the ledger cannot be written: requests that would be charged are refused";
            host.log(log::Level::Error, format_args!("{line}"));
        } else {
            let line = "the ledger can be written again: requests are served";
            host.log(log::Level::Warn, format_args!("{line}"));
        }
    }

    /// Logs the first of failures in a row. What is known stays, for a while.
    fn fail(&mut self, why: &str, host: &impl LoaderHost) {
        if !core::mem::replace(&mut self.failure_logged, true) {
            let line = format_args!("nobody says whether the ledger can be written: {why}");
            host.log(log::Level::Error, line);
        }
    }

    fn show(&self, host: &impl LoaderHost) {
        let now_ms = host.steady_ms();
        let age_ms = now_ms.saturating_sub(self.answered_ms);
        self.stats.stands(is_unwritable(now_ms, host), age_ms, host);
    }
}

/// The answer in a response, or why there is none.
fn read(response: Option<&impl FetchResponse>) -> Result<Writability, String> {
    let response = response.ok_or("no answer")?;
    let status = response.header(":status").unwrap_or_default();
    if status != "200" {
        return Err(format!("status {status}"));
    }
    if response.body_size() > LONGEST {
        return Err(format!("it has {} bytes", response.body_size()));
    }
    serde_json::from_slice(&response.body()).map_err(|_| "it is no answer".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Document;
    use crate::host::Clocks as _;
    use crate::host::fake::{FakeHost, FakeProcess, FakeResponse};
    use crate::ledger::writability::HOLDS_MS;

    fn policy(rest: &str) -> Policy {
        let group = r#"{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}"#;
        let text = format!(r#"{{"groups": [{group}], "keys": []{rest}}}"#);
        let document = Document::parse(text.as_bytes()).unwrap();
        crate::config::compile(&document).unwrap().policy
    }

    const REFUSE: &str = r#", "ledger_unwritable": "refuse""#;
    const FULL: &str = r#"{"writable": false}"#;
    const ROOM: &str = r#"{"writable": true}"#;

    fn answer(driver: &mut LedgerDriver, host: &FakeHost, response: Option<FakeResponse>) {
        let call = host.take_calls().remove(0);
        assert_eq!((&*call.cluster, &*call.path), ("trilane_agent", "/ledger"));
        assert!(driver.take_call(call.id));
        assert!(!driver.take_call(call.id), "once");
        driver.on_response(response.as_ref(), host);
    }

    #[test]
    fn nobody_is_asked_without_the_setting() {
        let host = FakeHost::of(&FakeProcess::start());
        let mut driver = LedgerDriver::default();
        for rest in ["", r#", "ledger_unwritable": "serve""#] {
            driver.follow(&policy(rest), &host);
            driver.poll(&host);
            assert!(host.take_calls().is_empty(), "{rest}");
            assert!(host.process.shared.written.take().is_empty(), "{rest}");
            assert_eq!(host.stat("trilane_ledger_unwritable"), None, "{rest}");
        }
    }

    #[test]
    fn answers_are_published_and_failures_change_nothing() {
        let host = FakeHost::of(&FakeProcess::start());
        let mut driver = LedgerDriver::default();
        driver.follow(&policy(REFUSE), &host);
        driver.poll(&host);
        driver.follow(&policy(REFUSE), &host);
        assert_eq!(host.calls.borrow().len(), 1, "one is awaited");
        let ok = |text: &str| Some(FakeResponse::ok(text));
        // (case, the response, whether requests are refused then, whether a line is logged)
        let steps = [
            ("away at the start", None, false, true),
            ("still away", None, false, false),
            ("room", ok(ROOM), false, false),
            ("full", ok(FULL), true, true),
            ("still full", ok(FULL), true, false),
            ("away", None, true, true),
            (
                "not found",
                Some(FakeResponse::status("404", ROOM)),
                true,
                false,
            ),
            ("no answer", ok("{}"), true, false),
            (
                "long",
                ok(&format!("{ROOM}{}", " ".repeat(LONGEST))),
                true,
                false,
            ),
            ("room again", ok(ROOM), false, true),
        ];
        for (case, response, refused, logged) in steps {
            answer(&mut driver, &host, response);
            assert_eq!(is_unwritable(host.steady_ms(), &host), refused, "{case}");
            let gauge = host.stat("trilane_ledger_unwritable");
            assert_eq!(gauge, Some(u64::from(refused)), "{case}");
            assert_eq!(host.take_lines().len(), usize::from(logged), "{case}");
            host.process.pass_ms(500);
            driver.poll(&host);
            let age = host.stat("trilane_ledger_answer_age_ms");
            assert!(age >= Some(500), "{case}");
        }
    }

    #[test]
    fn a_full_disk_that_nobody_tells_of_any_more_is_forgotten() {
        let host = FakeHost::of(&FakeProcess::start());
        let mut driver = LedgerDriver::default();
        driver.follow(&policy(REFUSE), &host);
        answer(&mut driver, &host, Some(FakeResponse::ok(FULL)));
        host.cluster_known.set(false);
        for (case, pass_ms, refused) in [("for a while", HOLDS_MS - 1, 1), ("then no more", 1, 0)] {
            host.process.pass_ms(pass_ms);
            driver.poll(&host);
            let gauge = host.stat("trilane_ledger_unwritable");
            assert_eq!(gauge, Some(refused), "{case}");
        }
        let age = host.stat("trilane_ledger_answer_age_ms");
        assert_eq!(age, Some(HOLDS_MS));
    }

    #[test]
    fn a_document_without_the_setting_ends_it() {
        let host = FakeHost::of(&FakeProcess::start());
        let mut driver = LedgerDriver::default();
        driver.follow(&policy(REFUSE), &host);
        answer(&mut driver, &host, Some(FakeResponse::ok(FULL)));
        host.process.pass_ms(500);
        driver.poll(&host);
        let late = host.take_calls().remove(0).id;
        driver.follow(&policy(""), &host);
        assert_eq!(host.stat("trilane_ledger_unwritable"), Some(0));
        assert!(!driver.take_call(late), "an answer that comes late");
        assert!(!is_unwritable(host.steady_ms(), &host));
        driver.poll(&host);
        assert!(host.take_calls().is_empty());
        // Another root that takes over knows what the one before was told.
        driver.follow(&policy(REFUSE), &host);
        answer(&mut driver, &host, Some(FakeResponse::ok(FULL)));
        driver.forget();
        driver.follow(&policy(REFUSE), &host);
        assert!(is_unwritable(host.steady_ms(), &host));
        assert_eq!(host.take_calls().len(), 1);
    }
}
