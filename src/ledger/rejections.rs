//! The log lines for operators when a vendor rejects the credential of an upstream account, or the certificate of its server is not valid.

use core::fmt;

use hashbrown::HashMap;

use super::attempts::{AttemptFailure, FailedAttempt};
use super::record::Record;
use super::upstream_error::AccountFault;

/// The time for which the same rejection is not logged again, in microseconds.
const SILENCE_US: u64 = 60_000_000;

/// An account that its vendor rejected for its credential, its balance or its rights, or whose server showed a certificate that is
/// not valid here. It is displayed as a sentence that says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountRejection<'a> {
    source: &'a str,
    account: RejectedAccount<'a>,
    /// The vendor's status; 0 where the certificate was not valid.
    status: u16,
    /// The fault that its words tell.
    fault: Option<AccountFault>,
    model: Option<&'a str>,
}

/// The identification of a rejected account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RejectedAccount<'a> {
    /// By its id in the document.
    Id(&'a str),
    /// By a cluster that is written by hand.
    Cluster(&'a str),
}

impl Record {
    /// The accounts that were rejected in this exchange, whether or not another account answered it.
    pub fn account_rejections(&self) -> impl Iterator<Item = AccountRejection<'_>> {
        let route = self.route.as_ref();
        let failed = self
            .attempts
            .as_ref()
            .map_or(&[][..], |attempts| &attempts.failed);
        let by_account = failed
            .iter()
            .filter(|failed| {
                matches!(
                    failed.kind,
                    AttemptFailure::Unauthorized | AttemptFailure::Tls
                )
            })
            .map(
                |FailedAttempt {
                     source,
                     account,
                     status,
                     fault,
                     ..
                 }| (source.as_deref(), Some(account.as_str()), *status, *fault),
            );
        let by_hand = self
            .replaced_status
            .filter(|status| {
                self.attempts.is_none()
                    && AttemptFailure::of_status(*status) == AttemptFailure::Unauthorized
            })
            .map(|status| (None, None, status, None));
        by_account
            .chain(by_hand)
            .filter_map(move |(source, account, status, fault)| {
                let route = route?;
                Some(AccountRejection {
                    source: source.unwrap_or(&route.source),
                    account: account.map_or(
                        RejectedAccount::Cluster(&route.cluster),
                        RejectedAccount::Id,
                    ),
                    status,
                    fault,
                    model: self.model.as_deref(),
                })
            })
    }
}

impl fmt::Display for AccountRejection<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, status, .. } = self;
        if let (0, RejectedAccount::Id(id)) = (*status, self.account) {
            return write!(
                out,
                "source {source}: account {id} was refused by this gateway (TLS). The certificate of its server is of an \
                 authority that is not trusted here, has expired, or names another host: give the account its authority \
                 (\"ca\"), or mend its address."
            );
        }
        match self.account {
            RejectedAccount::Id(id) => write!(
                out,
                "source {source}: account {id} was refused by its vendor ({status}). "
            )?,
            RejectedAccount::Cluster(name) => write!(
                out,
                "source {source}: the account of cluster {name} was refused by its vendor ({status}). "
            )?,
        }
        match (self.status, self.model) {
            _ if let Some(fault) = self.fault => out.write_str(remedy(fault)),
            (402, _) => out.write_str("Its balance is used up: pay, or use another account."),
            (403, Some(model)) => write!(
                out,
                "It may not use the model {model:?}, or its credential may not do this: ask the vendor for the right, or \
                 take the model out of the group."
            ),
            (403, None) => {
                out.write_str("Its credential may not do this: ask the vendor for the right.")
            }
            _ => out.write_str(
                "Its credential is wrong, expired or revoked: put a good one in its place.",
            ),
        }
    }
}

/// The meaning of a fault that an account's vendor tells, and what to do.
fn remedy(fault: AccountFault) -> &'static str {
    match fault {
        AccountFault::NoCredit => {
            "Its credit or its spending limit is used up: pay, raise the limit, or use another account."
        }
        AccountFault::DeadKey => {
            "Its credential is wrong, expired or revoked: put a good one in its place."
        }
        AccountFault::Region => {
            "Its vendor does not serve the place that it was asked from: give it a proxy elsewhere, or use another account."
        }
        AccountFault::Suspended => {
            "Its vendor has closed it: ask the vendor, or use another account."
        }
        AccountFault::NoModel => "It does not have the model: take the model out of the group.",
    }
}

/// The time at which each rejection was last logged, so that many requests make few lines: one a minute for each account and status.
#[derive(Debug, Default)]
pub struct RejectionLog(HashMap<String, HashMap<(String, u16), u64>>);

impl RejectionLog {
    /// Whether a rejection at `now_us`, by a monotonic clock, is to be logged; it counts as logged then.
    pub fn is_due(&mut self, rejection: &AccountRejection<'_>, now_us: u64) -> bool {
        let (RejectedAccount::Id(account) | RejectedAccount::Cluster(account)) = rejection.account;
        // Ids and clusters are the document's, and statuses are three: there are never many.
        let last = self
            .0
            .entry_ref(rejection.source)
            .or_default()
            .entry((account.to_owned(), rejection.status));
        match last {
            hashbrown::hash_map::Entry::Occupied(mut last) => {
                let due = now_us.saturating_sub(*last.get()) >= SILENCE_US;
                if due {
                    last.insert(now_us);
                }
                due
            }
            hashbrown::hash_map::Entry::Vacant(place) => {
                place.insert(now_us);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Attempts;

    fn attempts(failed: &[(&str, u16)]) -> Option<Attempts> {
        let failed = failed.iter().map(|(account, status)| match status {
            0 => FailedAttempt::broken((*account).into(), "TLS_error:|1:SSL_routines"),
            status => FailedAttempt::answered((*account).into(), *status, "via_upstream;-;"),
        });
        Some(Attempts {
            failed: failed.collect(),
            ..Attempts::default()
        })
    }

    #[test]
    fn who_was_refused_and_what_to_do() {
        let wrong = "Its credential is wrong, expired or revoked: put a good one in its place.";
        let cases = [
            ("nobody", None, None, vec![]),
            ("others failed", attempts(&[("x", 429), ("y", 500)]), None, vec![]),
            ("no answer of its own", None, Some(600), vec![]),
            (
                "one of several",
                attempts(&[("x", 429), ("y", 401)]),
                None,
                vec![format!("source b: account y was refused by its vendor (401). {wrong}")],
            ),
            (
                "all, in different ways; the last one is told once",
                attempts(&[("x", 402), ("y", 403)]),
                Some(403),
                vec![
                    "source b: account x was refused by its vendor (402). Its balance is used up: pay, or use another \
                     account."
                        .to_owned(),
                    "source b: account y was refused by its vendor (403). It may not use the model \"claude-z-2\", or its \
                     credential may not do this: ask the vendor for the right, or take the model out of the group."
                        .to_owned(),
                ],
            ),
            (
                "one without credit, by its words",
                attempts(&[("x", 400)]).map(|mut attempts| {
                    for failed in &mut attempts.failed {
                        failed.kind = AttemptFailure::Unauthorized;
                        failed.fault = Some(AccountFault::NoCredit);
                    }
                    attempts
                }),
                None,
                vec![
                    "source b: account x was refused by its vendor (400). Its credit or its spending limit is used up: pay, \
                     raise the limit, or use another account."
                        .to_owned(),
                ],
            ),
            (
                "a certificate that is not valid",
                attempts(&[("x", 0)]),
                None,
                vec![
                    "source b: account x was refused by this gateway (TLS). The certificate of its server is of an \
                     authority that is not trusted here, has expired, or names another host: give the account its authority \
                     (\"ca\"), or mend its address."
                        .to_owned(),
                ],
            ),
            (
                "a cluster written by hand",
                None,
                Some(401),
                vec![format!("source b: the account of cluster cb was refused by its vendor (401). {wrong}")],
            ),
        ];
        for (case, attempts, replaced_status, want) in cases {
            let record = Record {
                attempts,
                replaced_status,
                ..crate::ledger::tests::record()
            };
            let told: Vec<String> = record
                .account_rejections()
                .map(|rejection| rejection.to_string())
                .collect();
            assert_eq!(told, want, "{case}");
        }
    }

    #[test]
    fn each_is_told_once_a_minute() {
        let mut log = RejectionLog::default();
        let rejection = |account, status| AccountRejection {
            source: "s",
            account: RejectedAccount::Id(account),
            status,
            fault: None,
            model: None,
        };
        const S: u64 = 1_000_000;
        let cases = [
            ("the first", "x", 401, S, true),
            ("the next", "x", 401, 2 * S, false),
            ("another account", "y", 401, 2 * S, true),
            ("another reason", "x", 403, 2 * S, true),
            ("within the minute", "x", 401, 61 * S - 1, false),
            ("a minute later", "x", 401, 61 * S, true),
            ("and within the next", "x", 401, 62 * S, false),
            ("each has its own minute", "x", 403, 61 * S, false),
        ];
        for (case, account, status, now_us, want) in cases {
            assert_eq!(
                log.is_due(&rejection(account, status), now_us),
                want,
                "{case}"
            );
        }
    }
}
