use proptest::prelude::*;

use super::*;
use trilane_console::ledger::{Sum, UsageColumn};

fn line(key: &str, charge: Option<(&str, &str)>) -> String {
    let charge = charge.map_or(String::new(), |(charge, currency)| {
        format!(r#","trilane.charge":"{charge}","trilane.currency":"{currency}""#)
    });
    format!(
        r#"{{"timestamp":"2026-11-21T17:00:00Z","trilane.usage.status":"complete","trilane.key.id":"{key}"{charge}}}"#
    )
}

fn report(columns: &[UsageColumn], lines: &[String]) -> UsageReport {
    let mut groups = Groups::new(columns);
    for line in lines {
        groups.add(&LedgerRecord::parse(line.as_bytes()).unwrap());
    }
    groups.into_report()
}

fn shown(rows: &[UsageRow]) -> Vec<String> {
    rows.iter()
        .map(|row| {
            let requests = row.totals.count(Measure::Requests);
            format!(
                "{}|{}|{requests}|{}",
                row.values.join(","),
                row.currency,
                row.totals.charge.text()
            )
        })
        .collect()
}

#[test]
fn currencies_are_never_added() {
    let mixed = [
        line("b", Some(("1", "USD"))),
        line("a", None),
        line("a", Some(("0.5", "EUR"))),
        line("a", Some(("2", "USD"))),
        line("a", Some(("0.25", "USD"))),
    ];
    let got = report(&[UsageColumn::Key], &mixed);
    assert_eq!(
        shown(&got.rows),
        ["a||1|0", "a|EUR|1|0.5", "a|USD|2|2.25", "b|USD|1|1"]
    );
    assert_eq!(shown(&got.totals), ["||1|0", "|EUR|1|0.5", "|USD|3|3.25"]);
    assert_eq!(got.uncharged, 1);
}

#[test]
fn what_has_no_charge_stands_beside_the_one_currency() {
    let lines = [
        line("a", None),
        line("a", Some(("0.5", "EUR"))),
        line("b", None),
    ];
    let got = report(&[UsageColumn::Key], &lines);
    assert_eq!(shown(&got.rows), ["a|EUR|2|0.5", "b|EUR|1|0"]);
    assert_eq!(shown(&got.totals), ["|EUR|3|0.5"]);

    let got = report(&[UsageColumn::Currency], &lines);
    assert_eq!(
        shown(&got.rows),
        ["||2|0", "EUR|EUR|1|0.5"],
        "unless the currency is asked for"
    );
    assert_eq!(shown(&got.totals), ["|EUR|3|0.5"]);
}

#[test]
fn a_charge_without_a_currency_is_in_a_currency_of_its_own() {
    let got = report(
        &[UsageColumn::Key],
        &[line("a", Some(("1", ""))), line("a", Some(("2", "USD")))],
    );
    assert_eq!(shown(&got.rows), ["a||1|1", "a|USD|1|2"]);
    let got = report(
        &[UsageColumn::Key],
        &[line("a", Some(("1", ""))), line("a", Some(("2", "")))],
    );
    assert_eq!(shown(&got.rows), ["a||2|3"]);
}

#[test]
fn no_records_have_one_total() {
    let got = report(&[UsageColumn::Key], &[]);
    assert_eq!(shown(&got.rows), [""; 0]);
    assert_eq!(shown(&got.totals), ["||0|0"]);
}

#[test]
fn values_do_not_run_into_each_other() {
    let two = |key: &str, group: &str| {
        format!(
            r#"{{"timestamp":"2026-11-21T17:00:00Z","http.response.status_code":0,"trilane.key.id":"{key}","trilane.group":"{group}"}}"#
        )
    };
    let got = report(
        &[UsageColumn::Key, UsageColumn::Group],
        &[
            two("ab", "c"),
            two("a", "bc"),
            two("", "abc"),
            two("abc", ""),
        ],
    );
    assert_eq!(
        shown(&got.rows),
        [",abc||1|0", "a,bc||1|0", "ab,c||1|0", "abc,||1|0"]
    );
}

proptest! {
    /// In any order, by any grouping, parts add up to the whole, which is what integers say.
    #[test]
    fn parts_add_up_to_the_whole(
        lines in prop::collection::vec((0_usize..4, 0_u64..1_000_000_000, 0_u32..=15), 1..60),
    ) {
        let mut want = [0_i128; 4];
        let texts: Vec<_> = lines.iter().map(|(key, units, scale)| {
            want[*key] += i128::from(*units) * 10_i128.pow(15 - scale);
            let charge = rust_decimal::Decimal::from_i128_with_scale(i128::from(*units), *scale).to_string();
            line(&key.to_string(), Some((&charge, "USD")))
        }).collect();
        let units = |row: &UsageRow| row.totals.charge.shown(15).replace('.', "").parse::<i128>().unwrap();

        let got = report(&[UsageColumn::Key], &texts);
        let mut sum = Sum::default();
        for row in &got.rows {
            let key: usize = row.values[0].parse().unwrap();
            prop_assert_eq!(units(row), want[key]);
            sum.add(row.totals.charge.value());
        }
        prop_assert_eq!(units(&got.totals[0]), want.iter().sum::<i128>());
        prop_assert_eq!(sum.text(), got.totals[0].totals.charge.text());

        let reversed: Vec<_> = texts.into_iter().rev().collect();
        let again = report(&[UsageColumn::Key], &reversed);
        prop_assert_eq!(shown(&again.rows), shown(&got.rows));
    }
}
