use proptest::prelude::*;

use super::*;

const LINE: &str = r#"{"timestamp":"2026-11-21T17:00:00Z","trilane.usage.status":"complete","trilane.key.id":"k","trilane.group":"g","trilane.charge":"0.25","trilane.currency":"USD"}"#;

fn sums(bytes: &[u8], from: i64, skipping: bool, ends: bool) -> BatchSums {
    let from = u64::try_from(from).unwrap();
    BatchSums::of(
        &LedgerBatch::new("e", "f", from, bytes, ends).unwrap(),
        skipping,
        Duration::ZERO,
        Vec::new(),
    )
}

fn reasons(sums: &BatchSums) -> Vec<(i64, &str)> {
    let aside = sums.aside.iter();
    aside
        .map(|line| (line.position, line.reason.as_str()))
        .collect()
}

#[test]
fn what_is_read_and_what_is_kept_aside() {
    let n = LINE.len();
    let at = |offset: usize| 100 + i64::try_from(offset).unwrap();
    let long = "x".repeat(LONGEST + 1);
    let name = format!(
        r#"{{"timestamp":"2026-11-21T17:00:00Z","trilane.usage.status":"none","trilane.key.id":"{}"}}"#,
        "k".repeat(257)
    );
    let charge = r#"{"timestamp":"2026-11-21T17:00:00Z","trilane.usage.status":"none","trilane.charge":"0.000000000000000000001"}"#;
    // The bytes; whether they begin in a long line; whether the file ends; then: bytes read, lines counted, lines kept aside,
    // whether they end in a long line.
    #[rustfmt::skip]
    let cases = [
        ("nothing", String::new(), false, false, 0, 0, vec![], false),
        ("one", format!("{LINE}\n"), false, false, n + 1, 1, vec![], false),
        ("half a line more", format!("{LINE}\n{{\"time"), false, false, n + 1, 1, vec![], false),
        ("a whole line, as far as it is there", LINE.to_owned(), false, false, 0, 0, vec![], false),
        ("the file ends without a line feed", LINE.to_owned(), false, true, n, 1, vec![], false),
        ("the file ends within a line", format!("{LINE}\n{{\"time"), false, true, n + 7, 1, vec![(at(n + 1), "cut")], false),
        ("blank lines", format!("\n \n{LINE}\n\n"), false, false, n + 5, 1, vec![], false),
        ("foreign and damaged", "[info] x\n{\"timestamp\":\"x\",\"http.response.status_code\":200}\n".to_owned(), false, false, 59, 0,
            vec![(100, "foreign"), (109, "damaged")], false),
        ("a line feed within an object", format!("{{\"timestamp\":\n{LINE}\n"), false, false, n + 15, 1, vec![(100, "cut")], false),
        ("a name that no index takes", format!("{name}\n"), false, false, name.len() + 1, 0, vec![(100, "damaged")], false),
        ("a charge that no gateway makes", format!("{charge}\n"), false, false, charge.len() + 1, 0, vec![(100, "damaged")], false),
        ("too long", format!("{long}\n{LINE}\n"), false, false, LONGEST + n + 3, 1, vec![(100, "too_long")], false),
        ("too long, and no end", long.clone(), false, false, LONGEST + 1, 0, vec![(100, "too_long")], true),
        ("on within it", long.clone(), true, false, LONGEST + 1, 0, vec![], true),
        ("its end", format!("xx\n{LINE}\n"), true, false, n + 4, 1, vec![], false),
        ("the file ends within it", "xx".to_owned(), true, true, 2, 0, vec![], false),
    ];
    for (case, bytes, skipping, ends, read, lines, aside, still) in cases {
        let sums = sums(bytes.as_bytes(), 100, skipping, ends);
        let got = (
            sums.read,
            sums.requests.len(),
            reasons(&sums),
            sums.skipping,
        );
        assert_eq!(got, (read, lines, aside, still), "{case}");
    }
}

#[test]
fn whose_day_and_month() {
    // It begins in one day and ends in the next.
    let line = r#"{"timestamp":"2026-11-30T23:59:59.500Z","duration_ms":600,"trilane.usage.status":"complete","trilane.key.id":"k","trilane.key.owner":"o","trilane.group":"g","trilane.charge":"0.50","trilane.currency":"USD"}"#;
    let sums = sums(format!("{line}\n").as_bytes(), 0, false, false);
    let hours: Vec<_> = sums.hours.keys().map(|key| key[0].as_str()).collect();
    assert_eq!(hours, ["2026-11-30T23"]);
    let charges = sums.charges.iter();
    let charges: Vec<_> = charges
        .map(|(key, sum)| {
            format!(
                "{} {} {} {} {}",
                key.kind.name(),
                key.subject,
                key.period,
                key.currency,
                sum.text()
            )
        })
        .collect();
    assert_eq!(
        charges,
        [
            "group g 2026-12 USD 0.5",
            "group g 2026-12-01 USD 0.5",
            "key k 2026-12 USD 0.5",
            "key k 2026-12-01 USD 0.5",
            "owner o 2026-12 USD 0.5",
            "owner o 2026-12-01 USD 0.5",
        ]
    );
    assert_eq!(sums.used["k"], 1_796_083_199_500_000);
}

proptest! {
    #[test]
    fn cut_at_any_byte(cuts in prop::collection::vec(0_usize..2000, 0..8), ends in any::<bool>()) {
        let text = format!("{LINE}\nforeign\n\n{LINE}\n{{\"timestamp\":\n{LINE}\n{}\n{LINE}\n{{\"cut", LINE.replace("0.25", "0.125"));
        let bytes = text.as_bytes();
        let whole = sums(bytes, 0, false, ends);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let mut at = 0;
        let (mut lines, mut aside, mut sum) = (Vec::new(), Vec::new(), Sum::default());
        for cut in cuts {
            let last = cut == bytes.len();
            if cut < at || (last && at == bytes.len()) {
                continue;
            }
            let part = sums(&bytes[at..cut], i64::try_from(at).unwrap(), false, last && ends);
            lines.extend(part.requests);
            aside.extend(part.aside);
            for totals in part.hours.values() {
                sum.add(totals.charge.value());
            }
            at += part.read;
        }
        prop_assert_eq!(at, whole.read);
        prop_assert_eq!(lines, whole.requests);
        prop_assert_eq!(aside, whole.aside);
        prop_assert_eq!(sum.text(), "1.125");
    }
}
