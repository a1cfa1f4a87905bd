//! Slows attempts to guess a secret: each is counted before it is looked at, and from some failures on the next one has to wait,
//! twice as long each time. Consoles of one database agree on it.

use crate::store::{StoreError, Transaction, sign_in_failures};

const SECOND: i64 = 1_000_000;
/// Failures count for so long.
const REMEMBERED: i64 = 3600 * SECOND;
/// The longest wait.
const LONGEST_WAIT: i64 = 900 * SECOND;

/// Counts an attempt of a subject, such as `address 192.0.2.1`, of which so many are free within an hour. Whether it may be
/// looked at; `false`: it has to wait.
///
/// # Errors
/// Those of the database.
pub async fn count(
    transaction: &mut Transaction,
    subject: &str,
    free: i64,
    now: i64,
) -> Result<bool, StoreError> {
    let since = now.saturating_sub(REMEMBERED);
    let counted = sign_in_failures::count(transaction, subject, now, since).await?;
    let Some(failures) = counted else {
        return Ok(false);
    };
    if failures >= free {
        let until = now.saturating_add(wait(failures.saturating_sub(free)));
        sign_in_failures::lock(transaction, subject, until).await?;
    }
    Ok(true)
}

/// Returns the wait before the next attempt, in microseconds.
fn wait(beyond: i64) -> i64 {
    let doubled = u32::try_from(beyond)
        .ok()
        .and_then(|beyond| 1_i64.checked_shl(beyond.min(40)));
    doubled
        .unwrap_or(i64::MAX)
        .saturating_mul(SECOND)
        .min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_wait() {
        for (beyond, seconds) in [
            (0, 1),
            (1, 2),
            (5, 32),
            (10, 900),
            (63, 900),
            (i64::MAX, 900),
        ] {
            assert_eq!(wait(beyond), seconds * SECOND, "{beyond}");
        }
    }
}
