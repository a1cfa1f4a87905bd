//! The latest answers of upstream accounts: when one last answered a request, and since when its vendor refuses it.

use std::collections::BTreeMap;

use super::{StoreError, Transaction, execute, fetch};

/// The answers of an account that are known. Moments are in microseconds since 1970; 0: never.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountAnswers {
    /// The latest request that it answered well.
    pub answered_at: i64,
    /// The first refusal since then, and the latest.
    pub refused: (i64, i64),
    /// The latest refusal.
    pub refusal: Refusal,
}

/// A refusal of an account by its vendor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The fault of the account in the ledger's words; empty where its vendor does not tell one.
    pub fault: String,
    /// The status of the answer.
    pub status: i64,
    /// The code or type of the error; empty where that is not known.
    pub code: String,
}

/// A source and an account of it.
pub type AccountName = (String, String);

impl AccountAnswers {
    /// The account answered a request of this moment.
    pub fn answer(&mut self, at: i64) {
        self.answered_at = self.answered_at.max(at);
    }

    /// The account refused a request of this moment.
    pub fn refuse(&mut self, at: i64, refusal: Refusal) {
        let (since, latest) = self.refused;
        let is_first = since <= self.answered_at;
        if is_first || at < since {
            self.refused.0 = at;
        }
        if at >= latest {
            self.refused.1 = at;
            self.refusal = refusal;
        }
    }

    /// The moment of the first refusal since the account last answered; `None`: it has answered since.
    pub fn refused_since(&self) -> Option<i64> {
        let (since, latest) = self.refused;
        let first = if since > self.answered_at {
            since
        } else {
            latest
        };
        (latest > self.answered_at).then_some(first)
    }
}

/// Notes answers. No moment counts as later than `now`: an Envoy whose clock is ahead would hide what comes.
///
/// # Errors
/// Those of the database.
pub async fn note(
    transaction: &mut Transaction,
    answers: &BTreeMap<AccountName, AccountAnswers>,
    now: i64,
) -> Result<(), StoreError> {
    // In the order of the map, so that two never wait for each other.
    for ((source, account), of) in answers {
        let (since, latest) = of.refused;
        let refusal = &of.refusal;
        execute!(
            transaction,
            "INSERT INTO account_answers AS known \
               (source, account, answered_at, refused_since, refused_at, fault, status, code) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
             ON CONFLICT (source, account) DO UPDATE SET \
               answered_at = CASE WHEN excluded.answered_at > known.answered_at THEN excluded.answered_at ELSE known.answered_at END, \
               refused_since = CASE \
                 WHEN excluded.refused_at = 0 THEN known.refused_since \
                 WHEN known.refused_at <= known.answered_at OR known.refused_at <= excluded.answered_at THEN excluded.refused_since \
                 WHEN excluded.refused_since < known.refused_since AND excluded.refused_since > known.answered_at THEN excluded.refused_since \
                 ELSE known.refused_since END, \
               refused_at = CASE WHEN excluded.refused_at > known.refused_at THEN excluded.refused_at ELSE known.refused_at END, \
               fault = CASE WHEN excluded.refused_at > known.refused_at THEN excluded.fault ELSE known.fault END, \
               status = CASE WHEN excluded.refused_at > known.refused_at THEN excluded.status ELSE known.status END, \
               code = CASE WHEN excluded.refused_at > known.refused_at THEN excluded.code ELSE known.code END",
            (
                source,
                account,
                of.answered_at.min(now),
                since.min(now),
                latest.min(now),
                &refusal.fault,
                refusal.status,
                &refusal.code
            )
        )?;
    }
    Ok(())
}

type AnswersRow = (String, String, i64, i64, i64, String, i64, String);

/// Lists the accounts whose latest answers are refusals.
///
/// # Errors
/// Those of the database.
pub async fn refused(
    transaction: &mut Transaction,
) -> Result<Vec<(AccountName, AccountAnswers)>, StoreError> {
    let rows: Vec<AnswersRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT source, account, answered_at, refused_since, refused_at, fault, status, code FROM account_answers \
         WHERE refused_at > answered_at ORDER BY source, account",
        ()
    );
    let answers = |(source, account, answered_at, since, latest, fault, status, code)| {
        let answers = AccountAnswers {
            answered_at,
            refused: (since, latest),
            refusal: Refusal {
                fault,
                status,
                code,
            },
        };
        ((source, account), answers)
    };
    Ok(rows.into_iter().map(answers).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_when_an_account_is_refused() {
        // (case, answers and refusals in the order in which they are read, since when it is refused)
        type Case<'a> = (&'a str, &'a [(bool, i64)], Option<i64>);
        let cases: [Case<'_>; 8] = [
            ("nothing is known", &[], None),
            ("it answers", &[(true, 5)], None),
            ("refused at once", &[(false, 5)], Some(5)),
            (
                "refused after an answer",
                &[(true, 5), (false, 6), (false, 9)],
                Some(6),
            ),
            (
                "it answers again",
                &[(false, 6), (false, 7), (true, 8)],
                None,
            ),
            (
                "and is refused once more",
                &[(false, 6), (true, 8), (false, 9)],
                Some(9),
            ),
            (
                "an answer that is read late",
                &[(false, 6), (false, 9), (true, 5)],
                Some(6),
            ),
            (
                "one between two refusals",
                &[(false, 6), (false, 9), (true, 7)],
                Some(9),
            ),
        ];
        for (case, read, want) in cases {
            let mut answers = AccountAnswers::default();
            for (is_good, at) in read {
                if *is_good {
                    answers.answer(*at);
                } else {
                    answers.refuse(*at, Refusal::default());
                }
            }
            assert_eq!(answers.refused_since(), want, "{case}");
        }
    }
}
