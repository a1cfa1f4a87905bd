//! Meaning of Envoy's log of an attempt that did not go well.

use super::fault::ToldFailure;
use super::registry::Registry;
use super::request::{AccountPlace, RequestAttempts};
use super::states::AccountEvent;
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
    /// The failure of its account that the response was [judged](super::judge) to be.
    pub judged: Option<ToldFailure>,
    /// The seconds for which the vendor [asks](super::told_wait()) to be left alone, by its 429.
    pub told_wait: Option<u64>,
    /// Envoy's response flags.
    pub flags: u64,
    /// The reason why the connection failed; empty where Envoy gives none.
    pub transport_failure: String,
}

/// The flag of an attempt that took too long (`UT`).
const TIMEOUT: u64 = 0x4;
/// The flag of an attempt that had no connection (`UF`).
const NO_CONNECTION: u64 = 0x20;
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
    let Some((place, event, failed)) = judge(report, &attempts, host.steady_us()) else {
        return;
    };
    if let Some(failed) = failed {
        attempts.record(place, failed);
    }
    if let (Some(source), Some(accounts)) = (attempts.source(place), attempts.accounts(place)) {
        registry.note(event, &source.group, accounts, place.account, host);
    }
}

/// Classifies an attempt that failed: the place of its account, what that says of it, and the failure for the request's record, where
/// there is to be one.
fn judge(
    report: &AttemptReport,
    attempts: &RequestAttempts,
    now_us: u64,
) -> Option<(AccountPlace, AccountEvent, Option<FailedAttempt>)> {
    let (place, account) = attempts.last()?;
    // Of an attempt by way of the hop the filter there has judged the response; not what came after it.
    let is_failed = match report.status {
        Some(_) if report.judged.is_some() => !report.is_by_hop(),
        Some(status) if status >= 300 => {
            !report.is_by_hop() && AttemptFailure::of_status(status) != AttemptFailure::Request
        }
        _ => report.flags != 0 && report.flags & CLIENT_GONE == 0,
    };
    // Else it is of the attempt before, or of a request that has the same id.
    let is_of_last = if attempts.by_hop() {
        report.is_by_hop()
    } else {
        attempts
            .cluster(place)
            .is_some_and(|cluster| report.cluster == *cluster)
    };
    if !is_failed || !is_of_last {
        return None;
    }
    let id = account.id.clone();
    let failed = match report.status {
        Some(status) if report.judged.is_some() => {
            report.judged.clone().map(|told| told.attempt(id, status))
        }
        Some(status) if status < 300 => None,
        Some(status) => Some(FailedAttempt::answered(id, status, "")),
        None if report.is_by_hop() => None,
        None if report.flags & TIMEOUT != 0 => Some(FailedAttempt::unanswered(id)),
        None => Some(FailedAttempt::broken(id, &report.transport_failure)),
    };
    let event = match report.status {
        Some(_) if let Some(told) = &report.judged => {
            attempts.event(place, told.kind, report.told_wait, now_us)
        }
        Some(status) if status < 300 => attempts.break_off(),
        Some(status) => {
            let kind = AttemptFailure::of_status(status);
            attempts.event(place, kind, report.told_wait, now_us)
        }
        None if report.flags & NO_CONNECTION != 0 => AccountEvent::Failed,
        None => attempts.silence(now_us),
    };
    Some((place, event, failed))
}

#[cfg(test)]
mod tests {
    use super::super::active_keys::KeyMark;
    use super::super::fixtures::{at, request, source};
    use super::super::request::WholeBody;
    use super::*;

    /// Flags of Envoy: a failed connection, a reset by the account, its own reset, a timeout, the client gone.
    const UF: u64 = 0x20;
    const UR: u64 = 0x10;
    const UT: u64 = 0x4;
    const DC: u64 = 0x4000;

    #[test]
    fn what_becomes_of_an_attempt() {
        use AttemptFailure::{
            Connection, NoAnswer, Overloaded, RateLimited, Redirected, Tls, Unauthorized,
        };
        let tls = "TLS_error:|268435581:SSL_routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:TLS_error_end";
        let refused = "delayed_connect_error:_Connection_refused";
        // (case, by way of the hop, status, flags, why the connection failed;
        // whether it counts against the account, what is recorded)
        type Case<'a> = (
            &'a str,
            bool,
            Option<u16>,
            u64,
            &'a str,
            bool,
            Option<AttemptFailure>,
        );
        let cases: [Case<'_>; 16] = [
            (
                "at its limit",
                false,
                Some(429),
                0,
                "",
                true,
                Some(RateLimited),
            ),
            (
                "overloaded",
                false,
                Some(529),
                0,
                "",
                true,
                Some(Overloaded),
            ),
            (
                "refused its credential",
                false,
                Some(401),
                0,
                "",
                true,
                Some(Unauthorized),
            ),
            (
                "it sends elsewhere",
                false,
                Some(308),
                0,
                "",
                true,
                Some(Redirected),
            ),
            (
                "an error of the request",
                false,
                Some(404),
                0,
                "",
                false,
                None,
            ),
            (
                "no connection",
                false,
                None,
                UF,
                refused,
                true,
                Some(Connection),
            ),
            ("no TLS", false, None, UF, tls, true, Some(Tls)),
            ("a reset", false, None, UR, "", true, Some(Connection)),
            ("too late", false, None, UT, "", true, Some(NoAnswer)),
            ("the client left", false, None, DC, "", false, None),
            ("nothing is wrong", false, None, 0, "", false, None),
            (
                "broken off in the middle",
                false,
                Some(200),
                UR,
                "",
                true,
                None,
            ),
            (
                "the client left in the middle",
                false,
                Some(200),
                DC,
                "",
                false,
                None,
            ),
            ("judged at the hop", true, Some(503), 0, "", false, None),
            (
                "too late, by way of the hop",
                true,
                None,
                UT,
                "",
                true,
                None,
            ),
            (
                "broken off, by way of the hop",
                true,
                Some(200),
                UR,
                "",
                true,
                None,
            ),
        ];
        let source = source(2);
        for (case, by_hop, status, flags, transport_failure, counts, recorded) in cases {
            let attempts = request(&source, 0, 2);
            attempts.ask(at(1), by_hop);
            let report = |cluster: &str| AttemptReport {
                request_id: Vec::new(),
                cluster: cluster.to_owned(),
                status,
                judged: None,
                told_wait: None,
                flags,
                transport_failure: transport_failure.to_owned(),
            };
            let own = if by_hop { HOP_CLUSTER } else { "account/s/a1" };
            let got = judge(&report(own), &attempts, 0);
            assert_eq!(
                got.as_ref().map(|(place, ..)| *place),
                counts.then_some(at(1)),
                "{case}"
            );
            let failed = got.and_then(|(.., failed)| failed);
            assert_eq!(failed.as_ref().map(|it| it.kind), recorded, "{case}");
            assert!(failed.is_none_or(|it| it.account == "a1"), "{case}");
            // Of the attempt before, told late.
            let others: &[&str] = if by_hop {
                &["account/s/a0", "account/s/a1"]
            } else {
                &[HOP_CLUSTER, "account/s/a0", "account/other/a1"]
            };
            for other in others {
                let got = judge(&report(other), &attempts, 0);
                assert_eq!(got, None, "{case}: of {other}, not the last attempt");
            }
        }
    }

    #[test]
    fn what_a_client_can_bring_about() {
        use AccountEvent::{Failed, Interrupted};
        const S: u64 = 1_000_000;
        let source = source(2);
        let (broken, tls) = (UR, "TLS_error:|1:SSL_routines");
        // (case, status, flags, why the connection failed, when the body ended, of an attempt that began at 100 s, when the
        // report comes, whether the account alone can have brought it about)
        type Case<'a> = (&'a str, Option<u16>, u64, &'a str, Option<u64>, u64, bool);
        let cases: &[Case<'_>] = &[
            ("no connection, no end yet", None, UF, "x", None, 101, true),
            ("no TLS, no end yet", None, UF, tls, None, 101, true),
            ("an error, no end yet", Some(503), 0, "", None, 160, true),
            (
                "it sends elsewhere, no end yet",
                Some(302),
                0,
                "",
                None,
                160,
                true,
            ),
            ("a reset, no end yet", None, broken, "", None, 160, false),
            ("a timeout, no end yet", None, UT, "", None, 160, false),
            (
                "a reset at the end of a long body",
                None,
                broken,
                "",
                Some(160),
                160,
                false,
            ),
            (
                "a reset soon after a long body",
                None,
                broken,
                "",
                Some(160),
                219,
                false,
            ),
            (
                "a reset long after a long body",
                None,
                broken,
                "",
                Some(160),
                220,
                true,
            ),
            (
                "a timeout long after a long body",
                None,
                UT,
                "",
                Some(160),
                280,
                true,
            ),
            (
                "a reset, the body being there from the first",
                None,
                broken,
                "",
                Some(100),
                100,
                true,
            ),
            (
                "a reset of a later attempt",
                None,
                broken,
                "",
                Some(90),
                100,
                true,
            ),
            ("broken off", Some(200), broken, "", Some(100), 900, false),
            (
                "broken off, no end yet",
                Some(200),
                UT,
                "",
                None,
                900,
                false,
            ),
        ];
        for (case, status, flags, transport_failure, ended, now, certain) in cases {
            let attempts = request(&source, 0, 2);
            if let Some(ended) = ended {
                attempts.end_body(WholeBody::default(), ended * S);
            }
            attempts.begin(at(1), false, &|_| std::rc::Rc::default(), 100 * S);
            let report = AttemptReport {
                request_id: Vec::new(),
                cluster: "account/s/a1".to_owned(),
                status: *status,
                judged: None,
                told_wait: None,
                flags: *flags,
                transport_failure: (*transport_failure).to_owned(),
            };
            let (_, event, _) = judge(&report, &attempts, now * S).expect(case);
            let want = match certain {
                true => Failed,
                false => Interrupted(KeyMark::of("k")),
            };
            assert_eq!(event, want, "{case}");
        }
    }

    #[test]
    fn what_was_judged_to_fail() {
        use AccountEvent::{Answered, Failed};
        use AttemptFailure::{NoModel, Overloaded, Unauthorized};
        let source = source(2);
        // (case, by way of the hop, status, the judgement, what it says of the account)
        let cases = [
            ("without credit", false, 400, Unauthorized, Some(Failed)),
            ("without the model", false, 404, NoModel, Some(Answered)),
            (
                "a 403 without the model",
                false,
                403,
                NoModel,
                Some(Answered),
            ),
            ("a 200 that is none", false, 200, Overloaded, Some(Failed)),
            ("noted at the hop", true, 400, Unauthorized, None),
        ];
        for (case, by_hop, status, kind, want) in cases {
            let attempts = request(&source, 0, 2);
            attempts.ask(at(1), by_hop);
            let cluster = if by_hop { HOP_CLUSTER } else { "account/s/a1" };
            let report = AttemptReport {
                cluster: cluster.to_owned(),
                status: Some(status),
                judged: Some(kind.into()),
                ..AttemptReport::default()
            };
            let got = judge(&report, &attempts, 0);
            let event = got.as_ref().map(|(_, event, _)| *event);
            assert_eq!(event, want, "{case}");
            let failed = got.and_then(|(.., failed)| failed);
            let told = failed.map(|it| (it.kind, it.status));
            assert_eq!(told, want.map(|_| (kind, status)), "{case}: recorded");
        }
    }
}
