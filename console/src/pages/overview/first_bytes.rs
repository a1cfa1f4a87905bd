//! Times to the first byte of responses, over time.

use crate::cases::hour_counts::{self, CountParams, CountPeriod, FirstBytesView};
use crate::cases::{Caller, ConsoleState};
use crate::language::translated;
use crate::pages::PageProblem;
use crate::pages::chart::{self, Chart, Unit, Values};

/// The series, each with the milliseconds within which its responses began.
const SERIES: [(&str, i64); 4] = [
    (text!("within 500 ms"), 500),
    (text!("within 2 s"), 2_000),
    (text!("within 10 s"), 10_000),
    (text!("later"), i64::MAX),
];

/// The chart of these periods since an hour or a day.
pub async fn chart(
    state: &ConsoleState,
    caller: &Caller,
    since: &str,
    length: CountPeriod,
    periods: &[String],
) -> Result<Option<Chart>, PageProblem> {
    let asked = CountParams {
        period: length,
        since: Some(since.to_owned()),
        ..CountParams::default()
    };
    let counts = hour_counts::first_bytes(state, caller, asked).await?;
    let values = values(&counts.items);
    let names = SERIES.map(|(name, _)| translated(name));
    let names = names.each_ref().map(AsRef::as_ref);
    let title = t!(
        "How soon responses began, by {period}",
        period = crate::pages::periods::name(length)
    );
    Ok(chart::in_order(
        title,
        &Unit::Count,
        periods,
        &values,
        &names,
    ))
}

/// Counts responses by day and by their time to the first byte.
fn values(counts: &[FirstBytesView]) -> Values {
    let mut values = Values::new();
    for day in counts {
        for (within, count) in &day.within_ms {
            let found = SERIES.iter().find(|(_, bound)| within <= bound);
            let name = found.map_or(text!("later"), |(name, _)| *name);
            let place = (day.period.clone(), translated(name).into_owned());
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
    fn bounds_are_those_that_are_counted() {
        for (name, bound) in SERIES {
            let known = crate::store::hour_counts::BOUNDS.contains(&bound);
            assert!(known || bound == i64::MAX, "{name}");
        }
    }

    #[test]
    fn each_count_is_in_one_series() {
        let day = FirstBytesView {
            period: "2026-11-25".to_owned(),
            name: String::new(),
            requests: 15,
            within_ms: [(50, 1), (500, 2), (750, 4), (60_000, 8)].into(),
            half_within_ms: 0,
            p95_within_ms: 0,
        };
        let values = values(&[day]);
        let shown: Vec<_> = values
            .iter()
            .map(|((_, name), sum)| (name.as_str(), sum.text()))
            .collect();
        let want = [("later", "8"), ("within 2 s", "4"), ("within 500 ms", "3")];
        assert_eq!(shown, want.map(|(name, count)| (name, count.to_owned())));
    }
}
