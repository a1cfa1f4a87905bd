//! Whose a key is: what may be written, who is told of it, and that a label stays where it is.

use std::fs;

use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use super::reader::FeedReader;
use super::running::{Serve, sha256};
use super::sqlite::{insert, program, serve, table};
use super::statements::{Changes, Fails, all};

/// One of 0.1 goes on where it was, and takes owners from then on.
#[test]
fn a_database_of_0_1() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let program = program(at);
    let of_0_1 = [
        trilane_console::feed::sqlite::KEYS,
        trilane_console::feed::sqlite::LIMITS,
    ];
    program.execute_batch(&of_0_1.concat()).unwrap();
    insert(&program, 0..3);
    let put = r#"UPDATE keys SET limits = '{"concurrent_requests": 2}' WHERE id = 'k0'"#;
    program.execute(put, []).unwrap();
    let head = |column: &str| -> String {
        let sql = format!("SELECT CAST({column} AS TEXT) FROM key_feed");
        program.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let before = ["feed", "head"].map(head);
    let server = serve(at, &[]);
    assert_eq!(
        ["feed", "head"].map(head),
        before,
        "nobody has to read anew"
    );
    let mut reader = FeedReader::new();
    reader.finish(100, server.ask());
    assert_eq!(reader.keys(), table(&program));
    let put = "UPDATE keys SET owner = 'sales', label = 'a', created_at = 'b' WHERE id = 'k1'";
    assert_eq!(program.execute(put, []).unwrap(), 1);
    reader.finish(100, server.ask());
    assert_eq!(reader.keys()[&sha256(1)]["owner"], "sales");
    assert_eq!((reader.keys(), reader.full_readings), (table(&program), 1));
}

#[test]
fn every_statement_with_an_owner() {
    let bad = "keys.owner: must be NULL or a text of 1 to 128 bytes without control characters";
    let encoding = "keys.owner: must be UTF-8";
    let put = |owner: &str| format!("UPDATE keys SET owner = {owner} WHERE id = 'k1'");
    let text = |owner: &str| put(&format!("'{owner}'"));
    let new = "a".repeat(64);
    let mut cases = vec![
        (text("sales"), Changes(1)),
        (format!("{}; {}", text("sales"), text("sales")), Changes(1)),
        (format!("{}; {}", text("sales"), put("NULL")), Changes(1)),
        (put("NULL"), Changes(0)),
        (text("Zoë, \"R&D\" <日本> 😀"), Changes(1)),
        (text("x"), Changes(1)),
        (text(&"é".repeat(64)), Changes(1)),
        (
            format!(
                "INSERT INTO keys (sha256, id, group_id, owner) VALUES ('{new}', 'n', 'g', 'o')"
            ),
            Changes(1),
        ),
        (
            format!("UPDATE keys SET owner = 'o', sha256 = '{new}' WHERE id = 'k1'"),
            Changes(2),
        ),
        (
            "UPDATE keys SET label = 'laptop', created_at = '2026-11-23T00:00:00Z'".to_owned(),
            Changes(0),
        ),
        (text(""), Fails(bad)),
        (text(&"x".repeat(129)), Fails(bad)),
        (text(&"é".repeat(65)), Fails(bad)),
        (put("7.5"), Changes(1)), // a column of texts makes it one
        (put("x'61'"), Fails(bad)),
        (put("CAST(x'610062' AS TEXT)"), Fails(bad)),
        (put("CAST(x'4dfc6c6c6572' AS TEXT)"), Fails(encoding)),
        (put("CAST(x'61c3' AS TEXT)"), Fails(encoding)),
        (put("CAST(x'c0af' AS TEXT)"), Fails(encoding)),
        (put("CAST(x'eda080' AS TEXT)"), Fails(encoding)),
    ];
    for control in [1, 9, 10, 31, 127, 128, 159] {
        cases.push((put(&format!("'a' || char({control}) || 'b'")), Fails(bad)));
    }
    all(&cases);
}

/// Nothing is decided by an owner: for a bad one, past the triggers, no revocation is held up.
#[test]
fn an_owner_past_the_triggers() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let server = serve(at, &[]);
    let program = program(at);
    insert(&program, 0..2);
    for (case, owner) in [
        ("not UTF-8", Sql::Blob(vec![0x4d, 0xfc])),
        ("control characters", Sql::Text("a\nb".to_owned())),
        ("empty", Sql::Text(String::new())),
        ("too long", Sql::Text("x".repeat(129))),
    ] {
        let put = "UPDATE key_changes SET owner = CAST(?1 AS TEXT) WHERE id = 'k1'";
        program.execute(put, [owner]).unwrap();
        let mut reader = FeedReader::new();
        reader.finish(100, server.ask());
        let want = json!({"id": "k1", "group": "g"});
        assert_eq!(reader.keys()[&sha256(1)], want, "{case}");
    }
}

/// What a loader is told of keys.
fn told(server: &Serve, want: &[(u64, Value)], case: &str) {
    let mut reader = FeedReader::new();
    reader.finish(2, server.ask());
    for (number, want) in want {
        assert_eq!(reader.keys()[&sha256(*number)], *want, "{case}: {number}");
    }
    assert_eq!(reader.keys().len(), want.len(), "{case}");
}

#[test]
fn who_is_told_of_an_owner() {
    let limits = json!({"requests_per_minute": 6, "budget": {"per_month": "200"}});
    let want = [
        (0, json!({"id": "k0", "group": "g"})),
        (1, json!({"id": "k1", "group": "g", "owner": "Zoë"})),
        (
            2,
            json!({"id": "k2", "group": "g", "owner": "sales", "limits": limits}),
        ),
        (
            3,
            json!({"id": "k3", "group": "g", "owner": "sales", "disabled": true}),
        ),
    ];
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let server = serve(at, &[]);
    let program = program(at);
    for (number, key) in &want {
        let limits = key.get("limits").map(Value::to_string);
        let sql = "INSERT INTO keys (sha256, id, group_id, owner, label, disabled, limits) \
            VALUES (?1, ?2, 'g', ?3, 'a secret label', ?4, ?5)";
        let values = (
            sha256(*number),
            key["id"].as_str(),
            key.get("owner").and_then(Value::as_str),
            key["disabled"] == true,
            limits,
        );
        program.execute(sql, values).unwrap();
    }
    told(&server, &want, "a database");

    let lines = want.iter().map(|(number, key)| {
        let mut line = key.clone();
        line["sha256"] = sha256(*number).into();
        line["label"] = "a secret label".into();
        line["created_at"] = "2026-11-23T00:00:00Z".into();
        format!("{line}\n")
    });
    fs::write(at.join("keys.jsonl"), lines.collect::<String>()).unwrap();
    let server = Serve::new(at, &["--keys", "keys.jsonl"]);
    told(&server, &want, "a file");
}
