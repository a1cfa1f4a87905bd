//! Keys with limits in a database: what may be written, and what is given.

use serde_json::json;

use super::reader::FeedReader;
use super::running::sha256;
use super::sqlite::{insert, program, serve, table};
use super::statements::{Changes, Fails, all};

/// One that was made before keys had limits goes on where it was, and takes limits from then on.
#[test]
fn a_database_of_an_earlier_form() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let program = program(at);
    program
        .execute_batch(trilane_console::feed::sqlite::KEYS)
        .unwrap();
    insert(&program, 0..3);
    program
        .execute("DELETE FROM keys WHERE id = 'k2'", [])
        .unwrap();
    let head = |column: &str| -> String {
        let sql = format!("SELECT CAST({column} AS TEXT) FROM key_feed");
        program.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let before = ["feed", "head"].map(head);
    let (first, second) = std::thread::scope(|scope| {
        let starting = [0; 2].map(|_| scope.spawn(|| serve(at, &[])));
        let [first, second] = starting.map(|server| server.join().unwrap());
        (first, second)
    });
    assert_eq!(
        ["feed", "head"].map(head),
        before,
        "nobody has to read anew"
    );
    let mut reader = FeedReader::new();
    reader.finish(100, first.ask());
    assert_eq!(reader.keys(), table(&program));
    insert(&program, 3..4);
    let limits = "UPDATE keys SET limits = '{\"requests_per_minute\": 60}' WHERE id = 'k1'";
    assert_eq!(program.execute(limits, []).unwrap(), 1);
    reader.finish(100, second.ask());
    assert_eq!(reader.keys(), table(&program));
    assert_eq!(
        reader.keys()[&sha256(1)]["limits"],
        json!({"requests_per_minute": 60})
    );
    assert_eq!(reader.full_readings, 1);
    drop((first, second));
    let third = serve(at, &[]);
    reader.finish(100, third.ask());
    assert_eq!((reader.keys(), reader.full_readings), (table(&program), 1));
}

/// Whoever goes round the triggers: a key is not given without its limits, and what is wrong is told.
#[test]
fn limits_that_no_gateway_takes_are_not_given() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let mut server = serve(at, &[]);
    let program = program(at);
    insert(&program, 0..3);
    let put = "UPDATE key_changes SET limits = ?1 WHERE id = 'k1'";
    let cases = [
        (
            r#"{"requests_per_minute": 0}"#,
            "limits.requests_per_minute: must be between 1",
        ),
        (
            r#"{"budget": {"per_day": "secret"}}"#,
            "limits.budget.per_day: must be a plain decimal",
        ),
        (r#"{"secret": 1}"#, "limits: are not as in a document"),
        (
            r#"{"requests_per_minute": 1}}"#,
            "limits: are not as in a document",
        ),
    ];
    for (limits, want) in cases {
        program.execute(put, [limits]).unwrap();
        let reply = server.get("/keys");
        let want = format!("the key k1 is not good: {want}");
        assert_eq!(reply.status, 503, "{limits}");
        assert!(
            reply.error().starts_with(&want),
            "{limits}: {}",
            reply.error()
        );
    }
    assert_eq!(server.get("/keys?limit=1").status, 200, "pages without it");
    program
        .execute(put, [r#"{"requests_per_minute": 1}"#])
        .unwrap();
    assert_eq!(
        server.get("/keys").json()["changes"][1]["limits"]["requests_per_minute"],
        1
    );
    let said = server.rest();
    assert!(
        said.contains("the key k1 is not good") && !said.contains("secret"),
        "{said}"
    );
}

#[test]
fn every_statement_with_limits() {
    let other = "keys.limits: has a member that limits of a document have not, or a value that they cannot have";
    let no_json = "keys.limits: must be NULL or a JSON object of at most 1000 bytes";
    let twice = "keys.limits: has a member twice";
    let nothing = "keys.limits: limits nothing: put NULL";
    let less = "keys.limits: budget.spent.in_month is less than in_day, which is part of it";
    let no_budget = "keys.limits: budget needs per_day or per_month";
    let put = |limits: &str| format!("UPDATE keys SET limits = '{limits}' WHERE id = 'k1'");
    let budget = |budget: &str| put(&format!(r#"{{"budget": {{{budget}}}}}"#));
    let spent = |spent: &str| budget(&format!(r#""per_day": "1", "spent": {{{spent}}}"#));
    let new = "a".repeat(64);
    let requests = r#"{"requests_per_minute": 6}"#;
    let mut cases = vec![
        (put(requests), Changes(1)),
        (format!("{}; {}", put(requests), put(requests)), Changes(1)),
        ("UPDATE keys SET limits = NULL".to_owned(), Changes(0)),
        (format!("UPDATE keys SET limits = '{requests}'"), Changes(3)),
        (
            format!(
                "{}; UPDATE keys SET limits = NULL; DELETE FROM keys",
                put(requests)
            ),
            Changes(3),
        ),
        (
            format!(
                "INSERT INTO keys VALUES ('{new}', 'n', 'g', NULL, 0, '{requests}', NULL, NULL, NULL, NULL, NULL, NULL)"
            ),
            Changes(1),
        ),
        (
            format!("UPDATE keys SET limits = '{requests}', sha256 = '{new}' WHERE id = 'k1'"),
            Changes(2),
        ),
        (
            format!(
                "{}; UPDATE keys SET sha256 = '{new}' WHERE id = 'k1'",
                put(requests)
            ),
            Changes(2),
        ),
        (
            format!(
                "REPLACE INTO keys VALUES ('{}', 'k1', 'g', NULL, 0, '{requests}', NULL, NULL, NULL, NULL, NULL, NULL)",
                sha256(1)
            ),
            Changes(1),
        ),
        (
            put(
                r#"{"input_tokens_per_minute": 1, "output_tokens_per_minute": 1000000000, "concurrent_requests": 3, "requests_per_minute": null, "budget": null}"#,
            ),
            Changes(1),
        ),
        (
            budget(r#""per_day": "10.00", "per_month": "999999999.5", "spent": null"#),
            Changes(1),
        ),
        (
            budget(r#""per_month": "0.00000000000000000001", "per_day": null"#),
            Changes(1),
        ),
        (
            spent(r#""at": "2026-11-22T00:00:00Z", "in_day": "0", "in_month": null"#),
            Changes(1),
        ),
        (
            spent(r#""at": "2026-11-22T00:00:00Z", "in_day": "9", "in_month": "10""#),
            Changes(1),
        ),
        (
            spent(r#""at": "2026-11-22T00:00:00Z", "in_day": "9.5", "in_month": "9.50""#),
            Changes(1),
        ),
        (
            spent(r#""at": "2026-11-22T00:00:00Z", "in_day": "09.05", "in_month": "9.1""#),
            Changes(1),
        ),
        (
            spent(r#""at": "2026-11-22T00:00:00Z", "in_day": "10", "in_month": "9""#),
            Fails(less),
        ),
        (
            spent(r#""at": "2026-11-22T00:00:00Z", "in_day": "9.1", "in_month": "9.09""#),
            Fails(less),
        ),
        (
            spent(
                r#""at": "2026-11-22T00:00:00Z", "in_day": "9.00000000000000000001", "in_month": "9""#,
            ),
            Fails(less),
        ),
        (put(" "), Fails(no_json)),
        (put("{"), Fails(no_json)),
        (put("{a: 1}"), Fails(no_json)),
        (
            put(&format!(
                r#"{{"requests_per_minute": 6}}{}"#,
                " ".repeat(1000)
            )),
            Fails(no_json),
        ),
        (
            "UPDATE keys SET limits = x'7b7d'".to_owned(),
            Fails(no_json),
        ),
        (
            format!(
                "INSERT OR IGNORE INTO keys VALUES ('{new}', 'n', 'g', NULL, 0, '[]', NULL, NULL, NULL, NULL, NULL, NULL)"
            ),
            Fails(other),
        ),
        (
            format!("UPDATE OR REPLACE keys SET limits = '7', sha256 = '{new}' WHERE id = 'k1'"),
            Fails(other),
        ),
        (put("{}"), Fails(nothing)),
        (
            put(r#"{"budget": null, "requests_per_minute": null}"#),
            Fails(nothing),
        ),
        (
            put(r#"{"requests_per_minute": 6, "requests_per_minute": 7}"#),
            Fails(twice),
        ),
        (budget(r#""per_day": "1", "per_day": "1""#), Fails(twice)),
        (budget(""), Fails(no_budget)),
        (
            budget(r#""spent": {"at": "2026-11-22T00:00:00Z"}"#),
            Fails(no_budget),
        ),
        (spent(""), Fails("keys.limits: budget.spent needs at")),
        (
            spent(r#""in_day": "1""#),
            Fails("keys.limits: budget.spent needs at"),
        ),
    ];
    for bad in [
        "0",
        "-1",
        "1.0",
        "6e0",
        "1000000001",
        "18446744073709551616",
        "true",
        "[6]",
        r#""6""#,
        "{}",
    ] {
        cases.push((
            put(&format!(r#"{{"requests_per_minute": {bad}}}"#)),
            Fails(other),
        ));
        cases.push((
            put(&format!(r#"{{"concurrent_requests": {bad}}}"#)),
            Fails(other),
        ));
    }
    for bad in [
        "1",
        "[]",
        r#""""#,
        r#""0""#,
        r#""0.00""#,
        r#"".5""#,
        r#""5.""#,
        r#""1.2.3""#,
        r#""1e3""#,
        r#""-1""#,
        r#""+1""#,
        r#""1 ""#,
        r#""١""#,
        r#""1000000000""#,
        r#""99999999999999999999999""#,
        r#""0.000000000000000000001""#,
    ] {
        cases.push((budget(&format!(r#""per_day": {bad}"#)), Fails(other)));
        cases.push((
            budget(&format!(r#""per_day": "1", "per_month": {bad}"#)),
            Fails(other),
        ));
    }
    for bad in [
        "null",
        "7",
        r#""tomorrow""#,
        r#""2026-11-22""#,
        r#""2026-11-31T00:00:00Z""#,
        r#""2026-11-22T00:00:00+01:00""#,
    ] {
        cases.push((spent(&format!(r#""at": {bad}"#)), Fails(other)));
    }
    for bad in [
        r#"{"requests_per_minute": 6, "x": null}"#,
        r#"{"requests_per_minute": 6, "budget.per_day": "1"}"#,
        r#"{"requests_per_minute": 6, "per_day": "1"}"#,
        r#"{"budget": {"per_day": "1", "at": "2026-11-22T00:00:00Z"}}"#,
        r#"{"budget": {"per_day": "1", "spent": []}}"#,
        r#"{"budget": {"per_day": "1", "spent": {"at": "2026-11-22T00:00:00Z", "in_year": "1"}}}"#,
        r#"{"budget": {"per_day": "1", "spent": {"at": "2026-11-22T00:00:00Z", "in_day": "-1"}}}"#,
        r#"{"budget": []}"#,
        r#"{"budget": "1"}"#,
    ] {
        cases.push((put(bad), Fails(other)));
    }
    all(&cases);
}
