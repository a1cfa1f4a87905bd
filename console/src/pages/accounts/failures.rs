//! Failed attempts at the accounts over time: sums by hour, which are never forgotten.

use time::{Duration, OffsetDateTime};

use crate::cases::hour_counts::{self, AttemptsView, CountParams, CountPeriod, is_failure};
use crate::cases::{Caller, ConsoleState};
use crate::pages::chart::{self, Chart, Unit, Values};
use crate::pages::{PageProblem, ledger_words, periods};
use crate::timestamp;
use crate::timestamp::moment;

/// The length of a chart by day, in days.
const DAYS: i64 = 30;
/// The length of a chart by hour, in hours.
const HOURS: i64 = 48;

/// The period length and the account of the failures shown.
pub(super) struct FailureQuery {
    /// A day or an hour.
    pub(super) period: CountPeriod,
    /// At this account only.
    pub(super) account: Option<String>,
}

impl FailureQuery {
    /// By the name of a period; without one, by day.
    pub(super) fn new(period: &str, account: Option<String>) -> Self {
        let period = match period {
            "hour" => CountPeriod::Hour,
            _ => CountPeriod::Day,
        };
        Self { period, account }
    }

    /// The periods, and since when attempts count, as the API has it.
    fn periods(&self, now: i64) -> (String, Vec<String>) {
        let now = timestamp::parse(&moment(now)).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (back, one) = match self.period {
            CountPeriod::Hour => (Duration::hours(HOURS.saturating_sub(1)), Duration::HOUR),
            _ => (Duration::days(DAYS.saturating_sub(1)), Duration::DAY),
        };
        let length = usize::from(self.period.letters());
        let first = now.saturating_sub(back);
        let since = timestamp::text(first);
        let since = since.get(..length).unwrap_or_default().to_owned();
        let begin = periods::at(&since).unwrap_or(first);
        let end = periods::at(timestamp::text(now).get(..length).unwrap_or_default());
        let end = end.unwrap_or(now).saturating_add(one);
        (since, periods::between(begin, end, self.period))
    }

    fn asked(&self, since: String) -> CountParams {
        CountParams {
            since: Some(since),
            account: self.account.clone(),
            ..CountParams::default()
        }
    }

    /// The chart by period and kind; `None`: nothing failed.
    ///
    /// # Errors
    /// Those of the use case.
    pub(super) async fn chart(
        &self,
        state: &ConsoleState,
        caller: &Caller,
    ) -> Result<Option<Chart>, PageProblem> {
        let (since, periods) = self.periods(state.now());
        let asked = CountParams {
            period: self.period,
            ..self.asked(since)
        };
        let counts = hour_counts::attempts(state, caller, asked).await?;
        let title = match &self.account {
            Some(account) => t!(
                "Failed attempts at {account} by {period} and kind",
                account = account,
                period = periods::name(self.period)
            ),
            None => t!(
                "Failed attempts by {period} and kind",
                period = periods::name(self.period)
            ),
        };
        let values = values(&counts.items);
        Ok(chart::stacked(title, &Unit::Count, &periods, &values))
    }

    /// Attempts of the same time by account, in the order of their ids.
    ///
    /// # Errors
    /// Those of the use case.
    pub(super) async fn by_account(
        &self,
        state: &ConsoleState,
        caller: &Caller,
    ) -> Result<Vec<AttemptsView>, PageProblem> {
        let (since, _) = self.periods(state.now());
        let asked = CountParams {
            by: "account".to_owned(),
            account: None,
            ..self.asked(since)
        };
        let found = hour_counts::attempts(state, caller, asked).await?;
        Ok(found.items)
    }
}

/// The failures of each period by kind.
fn values(counts: &[AttemptsView]) -> Values {
    let mut values = Values::new();
    for of in counts {
        for (kind, count) in of.ended.iter().filter(|(end, _)| is_failure(end)) {
            let place = (of.period.clone(), ledger_words::failure(kind).into_owned());
            let count = u64::try_from(*count).unwrap_or_default();
            values.entry(place).or_default().add(chart::counted(count));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_periods_are_drawn() {
        // 2026-11-25T17:20:00Z
        let now = 1_795_627_200_000_000;
        for (period, since, count, last) in [
            ("hour", "2026-11-23T18", 48, "2026-11-25T17"),
            ("day", "2026-10-27", 30, "2026-11-25"),
            ("year", "2026-10-27", 30, "2026-11-25"),
        ] {
            let (from, all) = FailureQuery::new(period, None).periods(now);
            assert_eq!((from.as_str(), all.len()), (since, count), "{period}");
            assert_eq!(all.first().map(String::as_str), Some(since));
            assert_eq!(all.last().map(String::as_str), Some(last));
        }
    }

    #[test]
    fn what_is_no_failure_is_not_drawn() {
        let counts = AttemptsView {
            period: "2026-11-25".to_owned(),
            source: String::new(),
            name: String::new(),
            attempts: 10,
            failed: 3,
            ended: [
                ("answered", 5),
                ("client_left", 2),
                ("rate_limited", 2),
                ("no_answer", 1),
            ]
            .map(|(end, count)| (end.to_owned(), count))
            .into(),
        };
        let values = values(&[counts]);
        let shown: Vec<_> = values.keys().map(|(_, kind)| kind.as_str()).collect();
        assert_eq!(shown, ["no answer", "rate limited"]);
    }
}
