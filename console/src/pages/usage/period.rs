//! The period that usage is shown of.

use time::{Date, Duration, Month, format_description::well_known::Iso8601};

use crate::pages::form::Fields;

/// The periods that can be chosen: the name in an address, and the title.
pub const PERIODS: [(&str, &str); 9] = [
    ("today", text!("Today")),
    ("yesterday", text!("Yesterday")),
    ("7-days", text!("Last 7 days")),
    ("30-days", text!("Last 30 days")),
    ("month", text!("This month")),
    ("last-month", text!("Last month")),
    ("of-month", text!("A month")),
    ("dates", text!("Own dates")),
    ("all", text!("All time")),
];

/// A period of usage, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsagePeriod {
    /// The name of the choice.
    pub name: &'static str,
    /// The first hour or day; `None`: since the beginning.
    pub since: Option<String>,
    /// The hour or day behind it; `None`: it has not ended.
    pub until: Option<String>,
    today: Option<Date>,
}

impl UsagePeriod {
    /// Reads the period of a query. Of dates alone it is those, and of nothing this month.
    pub fn of(fields: &Fields, today: &str) -> Self {
        let today = day(today.get(..10).unwrap_or_default());
        let named = PERIODS.into_iter().map(|(name, _)| name);
        let named = named.into_iter().find(|name| *name == fields.get("period"));
        let (since, until) = (fields.given("since"), fields.given("until"));
        let has_dates = fields.has("since") || fields.has("until");
        let name = match named {
            Some(name) => name,
            None if since.is_some() || until.is_some() => "dates",
            None if has_dates => "all",
            None if fields.is_set("month") => "of-month",
            None => "month",
        };
        let month = match name {
            "of-month" => month(fields.get("month")),
            _ => None,
        };
        let name = match name {
            "of-month" if month.is_none() => "month",
            name => name,
        };
        let days = |from: i64, until: Option<i64>| {
            let at = |days| today?.checked_add(Duration::days(days));
            [at(from), until.and_then(at)]
        };
        let of_month = |first: Option<Date>| [first, first.and_then(next_month)];
        let this_month = today.and_then(|day| day.replace_day(1).ok());
        let [first, behind] = match name {
            "today" => days(0, Some(1)),
            "yesterday" => days(-1, Some(0)),
            "7-days" => days(-6, Some(1)),
            "30-days" => days(-29, Some(1)),
            "month" => of_month(this_month),
            "last-month" => {
                let last = this_month.and_then(Date::previous_day);
                of_month(last.and_then(|day| day.replace_day(1).ok()))
            }
            "of-month" => of_month(month),
            _ => [None, None],
        };
        let (since, until) = match name {
            "dates" => (since, until),
            _ => (
                first.map(|day| day.to_string()),
                behind.map(|day| day.to_string()),
            ),
        };
        Self {
            name,
            since,
            until,
            today,
        }
    }

    /// The fields of an address that mean it.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        match self.name {
            "dates" => vec![("since", of(&self.since)), ("until", of(&self.until))],
            "of-month" => {
                let month = of(&self.since).get(..7).map(str::to_owned);
                vec![("month", month.unwrap_or_default())]
            }
            name => vec![("period", name.to_owned())],
        }
    }

    /// The month that it is, such as `2026-11`.
    pub fn month(&self) -> Option<&str> {
        let first = day(self.since.as_deref()?)?;
        let is_month = first.day() == 1 && next_month(first) == day(self.until.as_deref()?);
        is_month.then(|| self.since.as_deref()?.get(..7)).flatten()
    }

    /// The period in the name of a file: a month, a day, or the first day and the last. Empty for all time.
    pub fn file_part(&self) -> String {
        if let Some(month) = self.month() {
            return format!("-{month}");
        }
        // The day before the end of whole days; an hour as it is, which is not in it.
        let last = |until: &str| {
            day(until)
                .and_then(Date::previous_day)
                .map_or_else(|| until.to_owned(), |last| last.to_string())
        };
        let until = self.until.as_deref().map(last);
        match (self.since.as_deref(), until) {
            (None, None) => String::new(),
            (None, Some(until)) => format!("-until-{until}"),
            (Some(since), until) => {
                let until = until.or_else(|| Some(self.today?.to_string()));
                match until.filter(|until| until != since) {
                    Some(until) => format!("-{since}_{until}"),
                    None => format!("-{since}"),
                }
            }
        }
    }
}

fn day(text: &str) -> Option<Date> {
    Date::parse(text, &Iso8601::DATE)
        .ok()
        .filter(|_| text.len() == 10)
}

/// The first day of a month such as `2026-11`.
fn month(text: &str) -> Option<Date> {
    day(&format!("{text}-01"))
}

/// The first day of the next month.
fn next_month(first: Date) -> Option<Date> {
    let year = match first.month() {
        Month::December => first.year().checked_add(1)?,
        _ => first.year(),
    };
    Date::from_calendar_date(year, first.month().next(), 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_and_their_files() {
        for (query, name, since, until, file) in [
            ("", "month", "2026-03-01", "2026-04-01", "-2026-03"),
            (
                "period=today",
                "today",
                "2026-03-01",
                "2026-03-02",
                "-2026-03-01",
            ),
            (
                "period=yesterday",
                "yesterday",
                "2026-02-28",
                "2026-03-01",
                "-2026-02-28",
            ),
            (
                "period=7-days",
                "7-days",
                "2026-02-23",
                "2026-03-02",
                "-2026-02-23_2026-03-01",
            ),
            (
                "period=30-days",
                "30-days",
                "2026-01-31",
                "2026-03-02",
                "-2026-01-31_2026-03-01",
            ),
            (
                "period=last-month",
                "last-month",
                "2026-02-01",
                "2026-03-01",
                "-2026-02",
            ),
            (
                "month=2025-12",
                "of-month",
                "2025-12-01",
                "2026-01-01",
                "-2025-12",
            ),
            (
                "period=of-month&month=2025-12&since=2026-01-01",
                "of-month",
                "2025-12-01",
                "2026-01-01",
                "-2025-12",
            ),
            (
                "period=of-month&month=2025-13",
                "month",
                "2026-03-01",
                "2026-04-01",
                "-2026-03",
            ),
            ("period=all&since=2026-01-01", "all", "", "", ""),
            ("since=", "all", "", "", ""),
            (
                "since=2026-01-07&until=",
                "dates",
                "2026-01-07",
                "",
                "-2026-01-07_2026-03-01",
            ),
            ("since=2026-03-01", "dates", "2026-03-01", "", "-2026-03-01"),
            (
                "until=2026-01-08",
                "dates",
                "",
                "2026-01-08",
                "-until-2026-01-07",
            ),
            (
                "since=2026-01-01&until=2026-02-01",
                "dates",
                "2026-01-01",
                "2026-02-01",
                "-2026-01",
            ),
            (
                "since=2026-01-07T03&until=2026-01-07T05",
                "dates",
                "2026-01-07T03",
                "2026-01-07T05",
                "-2026-01-07T03_2026-01-07T05",
            ),
            (
                "period=never",
                "month",
                "2026-03-01",
                "2026-04-01",
                "-2026-03",
            ),
        ] {
            let period = UsagePeriod::of(&Fields::parse(query.as_bytes()), "2026-03-01T12:00:00Z");
            let (from, before) = (period.since.as_deref(), period.until.as_deref());
            assert_eq!(period.name, name, "{query}");
            assert_eq!(
                [from, before].map(Option::unwrap_or_default),
                [since, until],
                "{query}"
            );
            assert_eq!(period.file_part(), file, "{query}");
            // An address that means it gives it again.
            let address = crate::text::path_with(
                "",
                &period
                    .fields()
                    .iter()
                    .map(|(name, value)| (*name, value.as_str()))
                    .collect::<Vec<_>>(),
            );
            let again = UsagePeriod::of(
                &Fields::parse(address.trim_start_matches('?').as_bytes()),
                "2026-03-01T12:00:00Z",
            );
            assert_eq!(again, period, "{query}");
        }
    }
}
