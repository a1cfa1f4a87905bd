//! What an operator is told when a vendor refuses one of the gateway's own accounts.

use core::fmt;

use hashbrown::HashMap;

use super::{FailedTry, Failure, Record};

/// How long the same refusal is not told again, in microseconds.
const SILENCE_US: u64 = 60_000_000;

/// An account that its vendor refused for its credential, its balance or its rights. It is displayed as a sentence that
/// says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'a> {
    source: &'a str,
    account: Account<'a>,
    status: u16,
    model: Option<&'a str>,
}

/// How the account is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Account<'a> {
    /// By its id in the document.
    Id(&'a str),
    /// By a cluster that is written by hand.
    Cluster(&'a str),
}

impl Record {
    /// The accounts that refused this exchange, whether or not another one answered it then.
    pub fn refusals(&self) -> impl Iterator<Item = Refusal<'_>> {
        let route = self.route.as_ref();
        let failed = self.asked.as_ref().map_or(&[][..], |asked| &asked.failed);
        let by_account = failed
            .iter()
            .filter(|failed| failed.kind == Failure::Unauthorized)
            .map(
                |FailedTry {
                     account, status, ..
                 }| (Some(account.as_str()), *status),
            );
        let by_hand = self
            .replaced_status
            .filter(|status| {
                self.asked.is_none() && Failure::of_status(*status) == Failure::Unauthorized
            })
            .map(|status| (None, status));
        by_account
            .chain(by_hand)
            .filter_map(move |(account, status)| {
                let route = route?;
                Some(Refusal {
                    source: &route.source,
                    account: account.map_or(Account::Cluster(&route.cluster), Account::Id),
                    status,
                    model: self.model.as_deref(),
                })
            })
    }
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, status, .. } = self;
        match self.account {
            Account::Id(id) => write!(
                out,
                "source {source}: account {id} was refused by its vendor ({status}). "
            )?,
            Account::Cluster(name) => write!(
                out,
                "source {source}: the account of cluster {name} was refused by its vendor ({status}). "
            )?,
        }
        match (self.status, self.model) {
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

/// Which refusals have been told, so that many requests make few lines: one a minute for each account and status.
#[derive(Debug, Default)]
pub struct Told(HashMap<String, HashMap<(String, u16), u64>>);

impl Told {
    /// Whether a refusal at `now_us`, by a clock that never goes back, is to be told; it counts as told then.
    pub fn is_due(&mut self, refusal: &Refusal<'_>, now_us: u64) -> bool {
        let (Account::Id(account) | Account::Cluster(account)) = refusal.account;
        // Ids and clusters are the document's, and statuses are three: there are never many.
        let last = self
            .0
            .entry_ref(refusal.source)
            .or_default()
            .entry((account.to_owned(), refusal.status));
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
    use crate::ledger::Asked;

    fn asked(failed: &[(&str, u16)]) -> Option<Asked> {
        let failed = failed.iter().map(|(account, status)| {
            FailedTry::answered((*account).to_owned(), *status, "via_upstream;-;")
        });
        Some(Asked {
            failed: failed.collect(),
            ..Asked::default()
        })
    }

    #[test]
    fn who_was_refused_and_what_to_do() {
        let wrong = "Its credential is wrong, expired or revoked: put a good one in its place.";
        let cases = [
            ("nobody", None, None, vec![]),
            ("others failed", asked(&[("x", 429), ("y", 500)]), None, vec![]),
            ("no answer of its own", None, Some(600), vec![]),
            (
                "one of several",
                asked(&[("x", 429), ("y", 401)]),
                None,
                vec![format!("source b: account y was refused by its vendor (401). {wrong}")],
            ),
            (
                "all, in different ways; the last one is told once",
                asked(&[("x", 402), ("y", 403)]),
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
                "a cluster written by hand",
                None,
                Some(401),
                vec![format!("source b: the account of cluster cb was refused by its vendor (401). {wrong}")],
            ),
        ];
        for (case, asked, replaced_status, want) in cases {
            let record = Record {
                asked,
                replaced_status,
                ..crate::ledger::tests::record()
            };
            let told: Vec<String> = record
                .refusals()
                .map(|refusal| refusal.to_string())
                .collect();
            assert_eq!(told, want, "{case}");
        }
    }

    #[test]
    fn each_is_told_once_a_minute() {
        let mut told = Told::default();
        let refusal = |account, status| Refusal {
            source: "s",
            account: Account::Id(account),
            status,
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
                told.is_due(&refusal(account, status), now_us),
                want,
                "{case}"
            );
        }
    }
}
