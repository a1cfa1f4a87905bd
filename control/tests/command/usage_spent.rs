//! `trilane usage` and limits: their members of the ledger, and what was spent of budgets.

use serde_json::{Value, json};
use trilane::config::{Document, compile};

use crate::command_output::CommandOutput;
use crate::support::{call, line, small, usage};

fn charged(timestamp: &str, key: &str, group: &str, charge: &str) -> String {
    line(timestamp, &call(key, group, "m", 1, 1, charge))
}

fn spent(ledger: &str) -> CommandOutput {
    usage(["--spent"], ledger.as_bytes())
}

/// The members that limits add to a line change nothing of what is added up.
#[test]
fn members_of_limits_are_passed_over() {
    let plain = small();
    let members = concat!(
        r#""trilane.limit":"budget_per_day","trilane.limit.scope":"key","trilane.spent.key.day":"10.00","#,
        r#""trilane.spent.key.month":"200.123456789","trilane.spent.group.day":"7","trilane.spent.group.month":"99","#,
        r#""timestamp":"#
    );
    let limited = plain.replace(r#""timestamp":"#, members);
    assert_eq!(limited.matches("trilane.limit.scope").count(), 6);
    for args in [
        &[][..],
        &["--format", "json", "--by", "key,status"],
        &["--strict"],
        &["--spent"],
    ] {
        let [before, after] = [&plain, &limited].map(|ledger| usage(args, ledger.as_bytes()));
        assert_eq!(
            (after.code, &after.out, &after.err),
            (0, &before.out, &before.err),
            "{args:?}"
        );
        assert!(!after.out.contains("200.12"), "{args:?}");
    }
    // A refusal is a request that used nothing, whatever else is told of it.
    let refused = line(
        "2026-11-21T12:00:00Z",
        r#""trilane.outcome":"refused","trilane.usage.status":"none","error.type":"insufficient_quota","trilane.key.id":"k1",
           "trilane.group":"g1","trilane.limit":"budget_per_month","trilane.limit.scope":"group""#,
    );
    let ran = usage(
        ["--by", "outcome", "--format", "json"],
        refused.replace("\n           ", "").as_bytes(),
    );
    assert_eq!(
        (
            &ran.json()["total"]["requests"],
            &ran.json()["total"]["charge"]
        ),
        (&json!(1), &json!("0"))
    );
}

#[test]
fn what_was_spent() {
    let nobody = line("2026-11-22T09:00:00.900Z", "");
    // (case, ledger, keys, groups); entries are (id, in_day, in_month)
    type Entries<'a> = &'a [(&'a str, &'a str, &'a str)];
    let cases: [(&str, String, &str, Entries<'_>, Entries<'_>); 9] = [
        ("nothing", String::new(), "", &[], &[]),
        ("nobody", nobody.clone(), "", &[], &[]),
        (
            "days and months",
            [
                charged("2026-10-31T23:00:00Z", "k1", "g1", "100 USD"),
                charged("2026-11-01T00:00:00Z", "k1", "g1", "20 USD"),
                charged("2026-11-21T23:00:00Z", "k2", "g1", "3 USD"),
                charged("2026-11-22T00:00:00Z", "k1", "g1", "0.4 USD"),
                charged(
                    "2026-11-22T09:00:00.5Z",
                    "k1",
                    "g2",
                    "0.00000000000000000005 USD",
                ),
            ]
            .concat(),
            "2026-11-22T09:00:00Z",
            &[
                ("k1", "0.40000000000000000005", "20.40000000000000000005"),
                ("k2", "0", "3"),
            ],
            &[
                ("g1", "0.4", "23.4"),
                ("g2", "0.00000000000000000005", "0.00000000000000000005"),
            ],
        ),
        (
            "in any order, as of several Envoys",
            [
                charged("2026-11-22T08:00:00Z", "k1", "g1", "1 USD"),
                charged("2026-11-21T08:00:00Z", "k1", "g1", "2 USD"),
                charged("2026-10-21T08:00:00Z", "k1", "g1", "4 USD"),
                charged("2026-11-22T07:00:00Z", "k1", "g1", "8 USD"),
            ]
            .concat(),
            "2026-11-22T08:00:00Z",
            &[("k1", "9", "11")],
            &[("g1", "9", "11")],
        ),
        (
            "the last record is nobody's, of another day",
            charged("2026-11-21T08:00:00Z", "k1", "g1", "1 USD") + &nobody,
            "2026-11-22T09:00:00Z",
            &[("k1", "0", "1")],
            &[("g1", "0", "1")],
        ),
        (
            "of another month",
            charged("2026-10-31T08:00:00Z", "k1", "g1", "1 USD") + &nobody,
            "",
            &[],
            &[],
        ),
        (
            "a request counts when it ends",
            charged("2026-11-21T23:59:59.990Z", "k1", "g1", "1 USD"),
            "2026-11-22T00:00:00Z",
            &[("k1", "1", "1")],
            &[("g1", "1", "1")],
        ),
        (
            "a duration that is none",
            charged("2026-11-21T23:59:59.990Z", "k1", "g1", "1 USD")
                .replace(r#"_ms":12"#, r#"_ms":"-""#),
            "2026-11-21T23:59:59Z",
            &[("k1", "1", "1")],
            &[("g1", "1", "1")],
        ),
        (
            "no charge, a charge of nothing, no key",
            [
                charged("2026-11-22T08:00:00Z", "k1", "g1", ""),
                charged("2026-11-22T08:00:00Z", "k2", "g1", "0.000 EUR"),
                charged("2026-11-22T08:00:00Z", "-", "", "1 USD"),
            ]
            .concat(),
            "",
            &[],
            &[],
        ),
    ];
    for (case, ledger, at, keys, groups) in cases {
        let ran = spent(&ledger);
        let form = |entries: Entries<'_>| -> Value {
            let entry = |(_, day, month): &(_, &str, &str)| json!({"at": at, "in_day": day, "in_month": month});
            entries
                .iter()
                .map(|known| (known.0.to_owned(), entry(known)))
                .collect()
        };
        assert_eq!((ran.code, &*ran.err), (0, ""), "{case}");
        assert_eq!(
            ran.json(),
            json!({"keys": form(keys), "groups": form(groups)}),
            "{case}"
        );
    }
}

/// Puts its output into a document, and the gateway then counts on from there.
#[test]
fn a_document_takes_it() {
    let ledger = charged(
        "2026-11-22T08:00:00Z",
        "k1",
        "g1",
        "0.00000000000000000005 USD",
    ) + &charged("2026-11-21T08:00:00Z", "k1", "g1", "123456.7 USD");
    let spent = spent(&ledger).json();
    let budget = |of: &Value| json!({"budget": {"per_day": "1", "spent": of}});
    let document = json!({
        "groups": [{"id": "g1", "protocol": "A", "multiplier": "1", "cluster": "c", "limits": budget(&spent["groups"]["g1"])}],
        "keys": [{"id": "k1", "sha256": "0".repeat(64), "group": "g1", "limits": budget(&spent["keys"]["k1"])}],
    });
    let compiled = compile(&Document::parse(document.to_string().as_bytes()).unwrap()).unwrap();
    let limits = compiled.keys[0].1.limits.as_deref().unwrap();
    let told = limits.budget.spent.unwrap();
    assert_eq!(told.in_day.to_string(), "0.00000000000000000005");
    assert_eq!(told.in_month.to_string(), "123456.70000000000000000005");
    assert_eq!(told.at, 1_795_334_400);
}

#[test]
fn what_cannot_be_said() {
    let [usd, eur] =
        ["1 USD", "1 EUR"].map(|charge| charged("2026-11-22T08:00:00Z", "k1", "g1", charge));
    let mixed = spent(&(usd.clone() + &eur));
    assert_eq!((mixed.code, &*mixed.out), (1, ""));
    assert!(
        mixed
            .err
            .contains("standard input:2: this charge of 1 EUR is not of the currency"),
        "{}",
        mixed.err
    );
    let damaged = spent(&usd.replace(r#""1""#, r#""1,5""#));
    assert_eq!(
        (damaged.code, damaged.json()["keys"].clone()),
        (1, json!({}))
    );
    assert!(damaged.err.contains("MISSING"), "{}", damaged.err);
    for more in [
        ["--by", "key"],
        ["--format", "json"],
        ["--since", "2026-11-01"],
        ["--until", "2026-12-01"],
        ["--columns", "all"],
        ["--group", "g"],
        ["--model", "m"],
        ["--round", "2"],
    ] {
        let ran = usage(["--spent"].into_iter().chain(more), b"");
        assert_eq!(ran.code, 2, "{more:?}: {}", ran.err);
    }
}

/// By the last request of all, and without groups: what some of its keys have spent is not what a group has.
#[test]
fn what_single_keys_have_spent() {
    let ledger = [
        charged("2026-11-21T08:00:00Z", "k1", "g1", "1 USD"),
        charged("2026-11-22T08:00:00Z", "k1", "g1", "2 USD"),
        charged("2026-11-22T08:00:00Z", "k2", "g1", "4 USD"),
        charged("2026-11-23T08:00:00Z", "k3", "g1", "8 USD"),
    ]
    .concat();
    let entry = |in_day: &str, in_month: &str| json!({"at": "2026-11-23T08:00:00Z", "in_day": in_day, "in_month": in_month});
    let all = spent(&ledger).json();
    assert_eq!(all["groups"], json!({"g1": entry("8", "15")}));
    for (keys, want) in [
        (&["k1"][..], json!({"k1": entry("0", "3")})),
        (
            &["k2", "k3"],
            json!({"k2": entry("0", "4"), "k3": entry("8", "8")}),
        ),
    ] {
        let options = keys.iter().flat_map(|key| ["--key", *key]);
        let ran = usage(["--spent"].into_iter().chain(options), ledger.as_bytes());
        assert_eq!(
            (ran.code, ran.json()),
            (0, json!({"keys": want, "groups": {}})),
            "{keys:?}: {}",
            ran.err
        );
        for key in keys {
            assert_eq!(
                ran.json()["keys"][key],
                all["keys"][key],
                "{key}, as among all"
            );
        }
    }
    let none = usage(["--spent", "--key", "k"], ledger.as_bytes());
    assert_eq!(none.code, 1);
    assert_eq!(none.json(), json!({"keys": {}, "groups": {}}));
    assert_eq!(
        none.err,
        "error: --key k: no request has it; there are k1, k2, k3\n"
    );
}
