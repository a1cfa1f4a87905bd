//! `--format` and `--document`: the same in every subcommand.

use crate::desk::Desk;

/// Every subcommand that prints data about a document, without its name: (subcommand, the rest).
const ON_A_DOCUMENT: [(&[&str], &[&str]); 5] = [
    (&["check"], &[]),
    (&["explain"], &["--key-id", "key_a", "GET", "/v1/models"]),
    (&["models"], &["--group", "mixed"]),
    (&["key", "list"], &[]),
    (&["key", "disable"], &["--id", "key_off"]),
];

/// A request that is over.
const LINE: &str = concat!(
    r#"{"timestamp":"2026-11-21T19:12:03.201Z","request_id":"one","http.response.status_code":200,"#,
    r#""trilane.usage.status":"none","trilane.outcome":"answered"}"#
);

#[test]
fn a_document_is_named_with_its_option_or_alone() {
    let desk = Desk::new();
    for (subcommand, rest) in ON_A_DOCUMENT {
        let named = desk.run(&[subcommand, &["--document", "gateway.json"], rest].concat());
        assert_eq!(named.code, 0, "{subcommand:?}: {}", named.err);
        // The arguments of `explain` are the request.
        if subcommand != ["explain"] {
            let alone = desk.run(&[subcommand, &["gateway.json"], rest].concat());
            assert_eq!(
                (named.code, named.out, named.err),
                (alone.code, alone.out, alone.err),
                "{subcommand:?}"
            );
        }
        let none = desk.run(&[subcommand, rest].concat());
        assert_eq!(none.code, 2, "{subcommand:?}: none is named");
        assert!(
            none.err.contains("--document") && !none.err.contains("DOCUMENT"),
            "{subcommand:?}: {}",
            none.err
        );
        let help = desk.run(&[subcommand, &["--help"]].concat()).out;
        assert!(help.contains("--document <FILE>"), "{subcommand:?}: {help}");
        assert!(!help.contains("DOCUMENT"), "{subcommand:?}: {help}");
        assert!(help.contains("--format <FORMAT>"), "{subcommand:?}: {help}");
        assert!(!help.contains("--json"), "{subcommand:?}: {help}");
    }
    for args in [
        &[
            "models",
            "gateway.json",
            "--document",
            "gateway.json",
            "--group",
            "a",
        ][..],
        &[
            "explain",
            "--document",
            "gateway.json",
            "gateway.json",
            "GET",
            "/v1/models",
        ],
    ] {
        assert_eq!(desk.run(args).code, 2, "{args:?}: named twice");
    }
    let several = desk.run(&[
        "check",
        "--document",
        "gateway.json",
        "gateway.json",
        "--strict",
    ]);
    assert_eq!(
        (several.code, several.out.matches(": good").count()),
        (0, 2),
        "{several:?}"
    );
}

#[test]
fn every_format() {
    let desk = Desk::new();
    desk.write("ledger.jsonl", &format!("{LINE}\n"));
    desk.write("trilane.wasm", "\0asm");
    desk.write("trilane_judge.wasm", "\0asm");
    desk.write("old.wasm", "\0asm");
    let others: [(&[&str], &[&str]); 3] = [
        (&["explain"], &[LINE]),
        (&["usage"], &["ledger.jsonl"]),
        (
            &["filter"],
            &["--from", "trilane.wasm", "--out", "old.wasm"],
        ),
    ];
    let document = ["--document", "gateway.json"];
    let on_a_document =
        ON_A_DOCUMENT.map(|(subcommand, rest)| (subcommand, [&document[..], rest].concat()));
    let others = others.map(|(subcommand, rest)| (subcommand, rest.to_vec()));
    // The header of CSV is what programs know a column by.
    let headers = [
        "document,line,kind,path,text",
        "part,result,text",
        "model,name,entry,multiplier",
        "id,owner,group,state,limits,budget,expires_at",
        "id,done,changed,group,state,expires_at,old_id,key",
        "request_id,part,text",
        "key,group,model,requests,",
        "file,sha256,changed",
    ];
    let cases = on_a_document.into_iter().chain(others);
    for ((subcommand, rest), header) in cases.zip(headers) {
        let run = |format: &[&str]| desk.run(&[subcommand, format, &rest].concat());
        let [table, csv, json] = ["table", "csv", "json"].map(|format| run(&["--format", format]));
        for ran in [&table, &csv, &json] {
            assert_eq!(ran.code, 0, "{subcommand:?}: {}", ran.err);
        }
        assert_eq!(table.out, run(&[]).out, "{subcommand:?}: the default");
        let wide = csv.out.split_once("\r\n").unwrap();
        assert!(wide.0.starts_with(header), "{subcommand:?}: {}", csv.out);
        assert!(!wide.1.is_empty(), "{subcommand:?}: a row");
        json.json();
    }
}

#[test]
fn a_new_key_in_every_format() {
    let desk = Desk::new();
    let new = |id: &str, format: &str| {
        let ran = desk.run(&[
            "key",
            "create",
            "--document",
            "gateway.json",
            "--id",
            id,
            "--group",
            "a",
            "--format",
            format,
        ]);
        assert_eq!(ran.code, 0, "{format}: {ran:?}");
        ran
    };
    assert!(new("x1", "table").out.starts_with("tl-"), "the value alone");
    let csv = new("x2", "csv").out;
    let row = csv.lines().nth(1).unwrap();
    assert!(row.starts_with("x2,created,true,a,good,,,tl-"), "{csv}");
    let json = new("x3", "json").json();
    assert!(json["key"].as_str().unwrap().starts_with("tl-"), "{json}");
}
