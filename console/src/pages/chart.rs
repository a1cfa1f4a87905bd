//! Stacked bars, drawn on the server: whole numbers of thousandths of their height, and the same numbers as a table.

use std::collections::BTreeMap;

use trilane::money::Amount;

use super::{ShownAmount, text};
use crate::language;
use crate::ledger::Sum;

/// Series with a colour of their own; all others are one.
const SERIES: usize = 4;
/// The height of a bar.
const WHOLE: u64 = 1000;
/// Units of one.
const ONE: u128 = 10_u128.pow(Amount::PLACES);

/// The unit of the values of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// An amount in a currency.
    Money(String),
    /// A number of things.
    Count,
}

impl Unit {
    fn text(&self, value: Amount) -> ShownAmount {
        let plain = value.to_string();
        match self {
            Self::Money(currency) => ShownAmount::of(currency, &plain),
            Self::Count => {
                ShownAmount::plain(plain.parse().map_or(plain, |count| text::number(&count)))
            }
        }
    }
}

/// A part of a bar.
#[derive(Debug, PartialEq, Eq)]
pub struct BarSegment {
    /// The CSS class, which gives the colour.
    pub class: String,
    /// The distance of the upper end from the top of the chart.
    pub y: u64,
    /// The height of the segment.
    pub height: u64,
}

/// A period: a bar, and a row of the table.
#[derive(Debug)]
pub struct Bar {
    /// The period.
    pub period: String,
    /// The segments of the bar, from below.
    pub blocks: Vec<BarSegment>,
    /// The values of the bar, one for each series.
    pub values: Vec<ShownAmount>,
    /// Their sum.
    pub total: ShownAmount,
}

/// A series: its class, its name, its sum.
#[derive(Debug)]
pub struct Series {
    /// The CSS class, which gives the colour.
    pub class: String,
    /// The name of the series.
    pub name: String,
    /// The sum of it.
    pub total: ShownAmount,
}

/// A chart.
#[derive(Debug)]
pub struct Chart {
    /// The question it answers.
    pub title: String,
    /// The content of the chart, in a sentence.
    pub summary: String,
    /// The currency of its amounts; `None`: it counts.
    pub currency: Option<String>,
    /// The series, from below.
    pub series: Vec<Series>,
    /// The bars.
    pub bars: Vec<Bar>,
    /// The value at the upper end.
    pub top: ShownAmount,
    /// The first period.
    pub first: String,
    /// The last period.
    pub last: String,
}

impl Chart {
    /// The only bar there is to draw: its figure says it all. `None`: there are several.
    pub fn only_bar(&self) -> Option<&Bar> {
        let mut drawn = self.bars.iter().filter(|bar| !bar.blocks.is_empty());
        drawn.next().filter(|_| drawn.next().is_none())
    }
}

/// Values by period and series.
pub type Values = BTreeMap<(String, String), Sum>;

/// The value of so many things that are counted.
pub fn counted(count: u64) -> Amount {
    Amount::of_units(u128::from(count).saturating_mul(ONE))
}

/// Draws values over these periods, the largest series first; `None` if there is nothing to draw.
pub fn stacked(
    title: impl Into<String>,
    unit: &Unit,
    periods: &[String],
    values: &Values,
) -> Option<Chart> {
    in_order(title, unit, periods, values, &ranked(values))
}

/// Draws values over these periods, with series in the order and the colours that they have in the chart of `first`; `None` if
/// there is nothing to draw.
pub fn stacked_as(
    title: impl Into<String>,
    unit: &Unit,
    periods: &[String],
    values: &Values,
    first: &Values,
) -> Option<Chart> {
    let own = ranked(values);
    let mut names = ranked(first);
    names.retain(|name| own.contains(name));
    let others = own.iter().filter(|name| !names.contains(name));
    let others: Vec<&str> = others.copied().collect();
    names.extend(others);
    in_order(title, unit, periods, values, &names)
}

/// The names of the series that have something, the largest first.
fn ranked(values: &Values) -> Vec<&str> {
    let mut totals: BTreeMap<&str, Sum> = BTreeMap::new();
    for ((_, name), value) in values {
        totals.entry(name).or_default().add(value.value());
    }
    let mut totals: Vec<(&str, Sum)> = totals.into_iter().collect();
    totals.retain(|(_, total)| !total.is_zero());
    totals.sort_by_key(|(_, total)| core::cmp::Reverse(total.value()));
    totals.into_iter().map(|(name, _)| name).collect()
}

/// Draws values over these periods, with series in this order; `None` if there is nothing to draw.
pub fn in_order(
    title: impl Into<String>,
    unit: &Unit,
    periods: &[String],
    values: &Values,
    names: &[&str],
) -> Option<Chart> {
    let place_of = |name: &str| {
        let place = names.iter().position(|of| *of == name);
        place.unwrap_or(SERIES).min(SERIES)
    };
    let count = names.len().min(SERIES.saturating_add(1));
    let mut sums = vec![Sum::default(); count];
    let mut rows: Vec<(Vec<Sum>, Sum)> = Vec::new();
    for period in periods {
        let mut row = vec![Sum::default(); count];
        let mut total = Sum::default();
        let from = (period.clone(), String::new());
        let of_period = values.range(from..).take_while(|((at, _), _)| at == period);
        for ((_, name), value) in of_period {
            let place = place_of(name);
            let cells = [row.get_mut(place), sums.get_mut(place)];
            for cell in cells.into_iter().flatten() {
                cell.add(value.value());
            }
            total.add(value.value());
        }
        rows.push((row, total));
    }
    let most = rows.iter().map(|(_, total)| total.value()).max();
    let most = most.unwrap_or_default();
    let (Some(first), Some(last), false) = (periods.first(), periods.last(), most == Amount::ZERO)
    else {
        return None;
    };
    let top = round_up(most);
    let bars = rows.iter().zip(periods);
    let bars = bars.map(|((row, total), period)| Bar {
        period: text::hour(period),
        blocks: blocks(row, top),
        values: row.iter().map(|value| unit.text(value.value())).collect(),
        total: unit.text(total.value()),
    });
    let series = sums.iter().enumerate().map(|(place, sum)| Series {
        class: class(place),
        name: if place == SERIES {
            t!("all others").into_owned()
        } else {
            let name = names.get(place).copied().unwrap_or_default();
            if name.is_empty() {
                t!("none").into_owned()
            } else {
                name.replace('_', " ")
            }
        },
        total: unit.text(sum.value()),
    });
    let bars: Vec<Bar> = bars.collect();
    let series: Vec<Series> = series.collect();
    let mut all = Sum::default();
    for sum in &sums {
        all.add(sum.value());
    }
    let parts: Vec<String> = series
        .iter()
        .map(|of| format!("{} {}", of.name, of.total.text))
        .collect();
    Some(Chart {
        title: title.into(),
        currency: match unit {
            Unit::Money(currency) => Some(currency.clone()),
            Unit::Count => None,
        },
        summary: t!(
            "{total} from {first} to {last}: {parts}.",
            total = unit.text(all.value()).text,
            first = text::hour(first),
            last = text::hour(last),
            parts = language::list(&parts)
        ),
        series,
        bars,
        top: unit.text(top),
        first: text::hour(first),
        last: text::hour(last),
    })
}

fn class(place: usize) -> String {
    format!("s{}", place.saturating_add(1))
}

/// The parts of a bar. Each ends where the sum up to it ends, so no rounding adds up.
fn blocks(row: &[Sum], top: Amount) -> Vec<BarSegment> {
    let mut below = Amount::ZERO;
    let mut end = WHOLE;
    let mut blocks = Vec::new();
    for (place, value) in row.iter().enumerate() {
        below = below.plus(value.value());
        let y = WHOLE.saturating_sub(share(below, top));
        if y < end {
            blocks.push(BarSegment {
                class: class(place),
                y,
                height: end.saturating_sub(y),
            });
        }
        end = y;
    }
    blocks
}

/// Thousandths of the whole, rounded.
fn share(part: Amount, whole: Amount) -> u64 {
    let (mut part, mut whole) = (part.units(), whole.units());
    // What is great is drawn without its last digits.
    while part > u128::MAX.div_euclid(2000) {
        (part, whole) = (part.div_euclid(2000), whole.div_euclid(2000));
    }
    let half = whole.div_euclid(2);
    let rounded = part.saturating_mul(WHOLE.into()).saturating_add(half);
    let share = rounded.checked_div(whole).unwrap_or_default();
    u64::try_from(share).map_or(WHOLE, |share| share.min(WHOLE))
}

/// The next 1, 2, 3, 4, 6 or 8 with zeros: the greatest bar fills half of the height at least.
fn round_up(value: Amount) -> Amount {
    let mut one = 1_u128;
    loop {
        for factor in [1, 2, 3, 4, 6, 8] {
            match one.checked_mul(factor).map(Amount::of_units) {
                Some(step) if step >= value => return step,
                Some(_) => {}
                None => return value,
            }
        }
        one = match one.checked_mul(10) {
            Some(next) => next,
            None => return value,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(&str, &str, &str)]) -> Values {
        let mut values = Values::new();
        for (period, name, value) in of {
            let key = ((*period).to_owned(), (*name).to_owned());
            let value = Amount::read(value).expect("a number");
            values.entry(key).or_default().add(value);
        }
        values
    }

    fn draw(periods: &[&str], of: &[(&str, &str, &str)]) -> Option<Chart> {
        let periods: Vec<String> = periods.iter().map(|period| (*period).to_owned()).collect();
        let unit = Unit::Money("USD".to_owned());
        stacked("Spend", &unit, &periods, &values(of))
    }

    #[test]
    fn bars_stand_on_each_other() {
        let chart = draw(
            &["1", "2", "3", "4"],
            &[
                ("1", "a", "4"),
                ("1", "b", "2"),
                ("3", "b", "1"),
                ("9", "a", "7"),
            ],
        );
        let chart = chart.expect("something to draw");
        let shown: Vec<Vec<(&str, u64, u64)>> = chart
            .bars
            .iter()
            .map(|bar| {
                let blocks = bar.blocks.iter();
                blocks
                    .map(|of| (of.class.as_str(), of.y, of.height))
                    .collect()
            })
            .collect();
        // The upper end is 6; what is in no period is not drawn.
        let want = [
            vec![("s1", 333, 667), ("s2", 0, 333)],
            vec![],
            vec![("s2", 833, 167)],
            vec![],
        ];
        assert_eq!(shown, want);
        assert!(chart.only_bar().is_none());
        assert_eq!(chart.top.text, "$6.00");
        let values = chart.bars[0].values.iter().map(|of| of.text.as_str());
        assert!(values.eq(["$4.00", "$2.00"]));
        assert_eq!(chart.summary, "$7.00 from 1 to 4: a $4.00, b $3.00.");
    }

    #[test]
    fn thirds_fill_a_bar() {
        let third = "0.33333333333333333333";
        let chart = draw(
            &["1"],
            &[("1", "a", third), ("1", "b", third), ("1", "c", third)],
        );
        let chart = chart.expect("something to draw");
        let only = chart.only_bar().expect("a bar");
        assert_eq!(
            (only.period.as_str(), only.total.text.as_str()),
            ("1", "$1.00")
        );
        let blocks = &only.blocks;
        let height: u64 = blocks.iter().map(|block| block.height).sum();
        assert_eq!((height, blocks.len()), (1000, 3));
    }

    #[test]
    fn many_series_are_one() {
        let names = ["a", "b", "c", "d", "e", "f"];
        let of: Vec<_> = names.iter().map(|name| ("1", *name, "1")).collect();
        let chart = draw(&["1"], &of).expect("something to draw");
        let shown: Vec<_> = chart
            .series
            .iter()
            .map(|of| (of.name.as_str(), of.total.text.as_str()))
            .collect();
        let want = [
            ("a", "$1.00"),
            ("b", "$1.00"),
            ("c", "$1.00"),
            ("d", "$1.00"),
            ("all others", "$2.00"),
        ];
        assert_eq!(shown, want);
    }

    #[test]
    fn a_second_chart_has_the_colours_of_the_first() {
        let first = values(&[("1", "a", "3"), ("1", "b", "2")]);
        let second = values(&[("1", "b", "9"), ("1", "c", "5"), ("1", "a", "1")]);
        let periods = ["1".to_owned()];
        let chart = stacked_as("Tokens", &Unit::Count, &periods, &second, &first);
        let series = chart.expect("something to draw").series;
        let shown = series
            .iter()
            .map(|of| (of.name.as_str(), of.class.as_str()));
        assert!(shown.eq([("a", "s1"), ("b", "s2"), ("c", "s3")]));
    }

    #[test]
    fn nothing_is_no_chart() {
        assert!(draw(&["1"], &[]).is_none());
        assert!(draw(&["1"], &[("1", "a", "0")]).is_none());
        assert!(draw(&[], &[("1", "a", "1")]).is_none());
    }

    #[test]
    fn upper_ends() {
        for (value, want) in [
            ("0.00031", "0.0004"),
            ("1", "1"),
            ("1.01", "2"),
            ("2.5", "3"),
            ("51", "60"),
            ("9000", "10000"),
        ] {
            let value = Amount::read(value).expect("a number");
            assert_eq!(round_up(value).to_string(), want);
        }
        let most = Amount::of_units(u128::MAX);
        assert_eq!(round_up(most), most);
        assert_eq!(share(most, most), WHOLE);
    }
}
