//! `trilane usage` at a console: the same columns and digits as over the ledger's files.

use serde_json::Value;

use super::{Office, output};
use crate::support::{call, line, small};

/// A ledger with more rows than a page has, of two currencies.
fn ledger() -> String {
    let mut lines = small();
    for number in 0..700_u64 {
        let currency = if number % 7 == 0 { "EUR" } else { "USD" };
        let charge = format!("0.{number:020} {currency}");
        let key = format!("key-{}", number % 613);
        let more = call(&key, "g2", "m3", number, 2, &charge);
        lines += &line(&format!("2026-11-23T{:02}:00:00.000Z", number % 24), &more);
    }
    lines
}

/// Without what only lines have, and what a console does not know.
fn comparable(mut report: Value) -> Value {
    let members = report.as_object_mut().unwrap();
    for of_lines in ["lines", "skipped", "damaged", "torn", "left_out"] {
        members.remove(of_lines);
    }
    for row in members["rows"].as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove("reported_cost");
    }
    members["total"]
        .as_object_mut()
        .unwrap()
        .remove("reported_cost");
    report
}

#[test]
fn as_over_files() {
    let office = Office::new();
    office.desk.write("ledger.jsonl", &ledger());
    let (status, taken) = office
        .console
        .post("/api/v1/ledger/envoy-1/f1?from=0", ledger().as_bytes());
    assert_eq!(status, 200, "{taken}");
    for args in [
        &[][..],
        &["--by", "key"],
        &["--by", "currency"],
        &["--by", "day,currency,outcome"],
        &["--by", "hour,owner,team,source,account,entry"],
        &["--by", "month"],
        &[
            "--by",
            "model",
            "--since",
            "2026-11-21",
            "--until",
            "2026-11-23T04:00:00Z",
        ],
        &[
            "--by", "key", "--key", "k1", "--key", "key-3", "--group", "g1", "--group", "g2",
        ],
        &["--by", "group", "--model", "m1"],
        &["--by", "model", "--key", "-"],
        &["--by", "model", "--wide"],
        &[
            "--by",
            "model",
            "--columns",
            "requests,complete,cache_read,charge,cost",
        ],
        &["--by", "model", "--round", "2"],
    ] {
        let run = |format: &str, here: bool| {
            let args = [&["usage"], args, &["--format", format]].concat();
            if here {
                office.desk.run(&[&args[..], &["ledger.jsonl"]].concat())
            } else {
                office.run(&args)
            }
        };
        let is_of_table = args.iter().any(|arg| ["--wide", "--columns"].contains(arg));
        let (there, here) = (run("table", false), run("table", true));
        assert_eq!(
            (there.code, &there.out),
            (here.code, &here.out),
            "{args:?}: {there:?}"
        );
        if is_of_table {
            continue;
        }
        let (there, here) = (run("json", false), run("json", true));
        assert_eq!(
            comparable(there.json()),
            comparable(here.json()),
            "{args:?}"
        );
        let (there, here) = (run("csv", false).out, run("csv", true).out);
        let unknown = |csv: &str| {
            let place = csv
                .lines()
                .next()
                .unwrap()
                .split(',')
                .position(|name| name == "reported_cost")
                .unwrap();
            let rows = csv.lines().map(|row| {
                let cells = row.split(',').enumerate();
                cells
                    .filter(|(at, _)| *at != place)
                    .map(|(_, cell)| cell)
                    .collect::<Vec<_>>()
                    .join(",")
            });
            rows.collect::<Vec<_>>()
        };
        assert_eq!(unknown(&there), unknown(&here), "{args:?}");
    }
    let json = office.run(&["usage", "--format", "json"]).json();
    assert_eq!(
        json["total"]["reported_cost"],
        Value::Null,
        "it is not known"
    );
    let rows = json["rows"].as_array().unwrap().len();
    assert!(rows > 500, "more than a page: {rows}");
}

#[test]
fn what_a_console_does_not_say() {
    let office = Office::new();
    let (status, _) = office
        .console
        .post("/api/v1/ledger/envoy-1/f1?from=0", small().as_bytes());
    assert_eq!(status, 200);
    for (args, code, said) in [
        (
            &["--by", "client,model"][..],
            1,
            "usage by client, session or label is added up by day, and goes with the columns key, owner, team",
        ),
        (
            &["--by", "status"],
            2,
            "--by status: a console adds up nothing by status",
        ),
        (
            &["--since", "2026-11-21T00:30:00Z"],
            2,
            "--since: a console has sums of whole hours",
        ),
        (
            &["--columns", "reported_cost"],
            2,
            "only ledger files have it",
        ),
        (&["--strict"], 2, "--strict is about ledger files"),
        (&["--spent"], 2, "--spent is about ledger files"),
        (
            &["--key", "nobody", "--by", "key"],
            1,
            "error: --key nobody: the console has no request with it",
        ),
        (
            &["--key", "k1", "--until", "2026-11-20", "--by", "key"],
            1,
            "error: --key k1",
        ),
    ] {
        let ran = office.run(&[&["usage"], args].concat());
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        assert!(ran.err.contains(said), "{args:?}: {ran:?}");
    }
    let both = office.run(&["usage", "--server", &office.url(), "ledger.jsonl"]);
    assert!(
        both.code == 2 && both.err.contains("cannot be used with"),
        "{both:?}"
    );
    // A file that is named is read, whatever the environment says.
    office.desk.write("ledger.jsonl", &small());
    let read = office
        .run(&["usage", "--by", "month", "--format", "json", "ledger.jsonl"])
        .json();
    assert_eq!(read["lines"], 6);

    // A member sees neither others' usage nor costs.
    let member = office.token_of("k1-owner", "member", "");
    let as_member = |args: &[&str]| {
        let mut command = office.command(&[&["usage"], args].concat());
        command.env("TRILANE_TOKEN", &member);
        output(command)
    };
    let own = as_member(&["--by", "key", "--format", "json"]).json();
    assert_eq!(own["rows"], serde_json::json!([]));
}
