//! Any SQL that changes keys gives them versions.

use rusqlite::Connection;

use super::reader::FeedReader;
use super::running::sha256;
use super::sqlite::{insert, program, serve, table};

/// What a statement does to the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementEffect {
    /// So many changes.
    Changes(usize),
    /// It is refused, with this.
    Fails(&'static str),
}
pub use StatementEffect::{Changes, Fails};

#[test]
fn every_statement() {
    let [a, b, c] = [1, 2, 3].map(sha256);
    let new = "a".repeat(64);
    let digest = "sha256 must be 64 hexadecimal digits in lower case";
    let id = "id must be 1 to 64 letters, digits or any of - _ . :";
    let group = "group_id must be 1 to 64 letters, digits or any of - _ . :";
    let expiry = "expires_at must be NULL or a time such as 2027-01-01T00:00:00Z";
    let twice = "keys.id: is the id of another key too";
    let put = |verb: &str, sha256: &str, id: &str| {
        format!(
            "{verb} INTO keys VALUES ('{sha256}', '{id}', 'g', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
        )
    };
    let with = |sha256: &str, id: &str, group: &str, more: &str| {
        format!(
            "INSERT INTO keys VALUES ({sha256}, {id}, {group}, {more}, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
        )
    };
    let quoted = format!("'{new}'");
    // Keys 1 to 3 are there, with the ids k1 to k3 in group g; key 4 was removed.
    let cases = [
        (put("INSERT", &new, "n"), Changes(1)),
        (put("INSERT", &sha256(4), "k4"), Changes(1)),
        (put("INSERT OR IGNORE", &sha256(4), "k4"), Changes(1)),
        (put("INSERT OR IGNORE", &a, "k1"), Changes(0)),
        (put("INSERT OR IGNORE", &a, "k9"), Changes(0)),
        (put("REPLACE", &a, "k1"), Changes(1)),
        (put("REPLACE", &a, "k9"), Changes(1)),
        (put("REPLACE", &sha256(4), "k9"), Changes(1)),
        (
            put("INSERT", &a, "k9"),
            Fails("UNIQUE constraint failed: keys.sha256"),
        ),
        // By REPLACE this would take key 2 away without a trigger, were the id UNIQUE.
        (put("REPLACE", &new, "k2"), Fails(twice)),
        (put("INSERT OR IGNORE", &new, "k2"), Fails(twice)),
        (put("INSERT", &new, "k2"), Fails(twice)),
        (
            "UPDATE keys SET id = 'k1' WHERE id = 'k2'".to_owned(),
            Fails(twice),
        ),
        (
            "UPDATE OR REPLACE keys SET id = 'k1' WHERE id = 'k2'".to_owned(),
            Fails(twice),
        ),
        (
            format!(
                "INSERT INTO keys (sha256, id, group_id) VALUES ('{a}', 'k1', 'h') \
                 ON CONFLICT (sha256) DO UPDATE SET group_id = excluded.group_id"
            ),
            Changes(1),
        ),
        ("UPDATE keys SET group_id = 'h'".to_owned(), Changes(3)),
        ("UPDATE keys SET group_id = 'g'".to_owned(), Changes(0)),
        (
            "UPDATE keys SET id = id || 'x', disabled = 1 WHERE id <> 'k1'".to_owned(),
            Changes(2),
        ),
        (
            "UPDATE keys SET expires_at = '2027-01-01T00:00:00Z' WHERE id = 'k3'".to_owned(),
            Changes(1),
        ),
        (
            format!("UPDATE keys SET sha256 = '{new}' WHERE sha256 = '{a}'"),
            Changes(2),
        ),
        (
            format!(
                "UPDATE keys SET sha256 = '{}' WHERE sha256 = '{a}'",
                sha256(4)
            ),
            Changes(2),
        ),
        (
            format!("UPDATE keys SET sha256 = '{b}' WHERE sha256 = '{a}'"),
            Fails("UNIQUE constraint failed: keys.sha256"),
        ),
        (
            format!("UPDATE OR REPLACE keys SET sha256 = '{b}' WHERE sha256 = '{a}'"),
            Changes(2),
        ),
        (
            format!("UPDATE OR IGNORE keys SET sha256 = '{b}' WHERE sha256 = '{a}'"),
            Changes(0),
        ),
        ("DELETE FROM keys WHERE id = 'k2'".to_owned(), Changes(1)),
        ("DELETE FROM keys".to_owned(), Changes(3)),
        (
            format!("DELETE FROM keys WHERE sha256 = '{}'", sha256(4)),
            Changes(0),
        ),
        (
            format!("BEGIN; DELETE FROM keys; ROLLBACK; DELETE FROM keys WHERE sha256 = '{c}'"),
            Changes(1),
        ),
        (
            format!(
                "BEGIN; DELETE FROM keys WHERE id = 'k1'; {}; COMMIT",
                put("INSERT", &a, "k1")
            ),
            Changes(1),
        ),
        (with("'AB'", "'n'", "'g'", "NULL, 0"), Fails(digest)),
        (
            with(&quoted.to_uppercase(), "'n'", "'g'", "NULL, 0"),
            Fails(digest),
        ),
        (
            with(&format!("x'{}'", "61".repeat(64)), "'n'", "'g'", "NULL, 0"),
            Fails(digest),
        ),
        (
            with("NULL", "'n'", "'g'", "NULL, 0"),
            Fails("NOT NULL constraint failed: keys.sha256"),
        ),
        (with(&quoted, "''", "'g'", "NULL, 0"), Fails(id)),
        (with(&quoted, "'a b'", "'g'", "NULL, 0"), Fails(id)),
        (with(&quoted, "'\u{e4}'", "'g'", "NULL, 0"), Fails(id)),
        (with(&quoted, "'n' || char(0)", "'g'", "NULL, 0"), Fails(id)),
        (
            with(&quoted, &format!("'{}'", "n".repeat(65)), "'g'", "NULL, 0"),
            Fails(id),
        ),
        (
            with(
                &quoted,
                &format!("'{}-_.:Z9'", "n".repeat(58)),
                "'g'",
                "NULL, 0",
            ),
            Changes(1),
        ),
        (with(&quoted, "7", "8", "NULL, 0"), Changes(1)),
        (with(&quoted, "'n'", "'g/h'", "NULL, 0"), Fails(group)),
        (with(&quoted, "'n'", "'g'", "'tomorrow', 0"), Fails(expiry)),
        (
            with(&quoted, "'n'", "'g'", "'2027-02-29T00:00:00Z', 0"),
            Fails(expiry),
        ),
        (
            with(&quoted, "'n'", "'g'", "'2027-02-28T24:00:00Z', 0"),
            Fails(expiry),
        ),
        (
            with(&quoted, "'n'", "'g'", "'2027-02-28 00:00:00Z', 0"),
            Fails(expiry),
        ),
        (
            with(&quoted, "'n'", "'g'", "'2027-02-28T00:00:00z', 0"),
            Fails(expiry),
        ),
        (with(&quoted, "'n'", "'g'", "1798761600, 0"), Fails(expiry)),
        (
            with(&quoted, "'n'", "'g'", "'2028-02-29T23:59:59Z', 1"),
            Changes(1),
        ),
        (
            with(&quoted, "'n'", "'g'", "NULL, 2"),
            Fails("disabled must be 0 or 1"),
        ),
        (
            with(&quoted, "'n'", "'g'", "NULL, 'yes'"),
            Fails("disabled must be 0 or 1"),
        ),
    ];
    all(&cases);
}

/// Whatever is set about recursive triggers.
pub fn all(cases: &[(String, StatementEffect)]) {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), &[]);
    for recursive in ["OFF", "ON"] {
        for (statement, does) in cases {
            let program = program(directory.path());
            program
                .pragma_update(None, "recursive_triggers", recursive)
                .unwrap();
            check(&program, statement, *does, &server);
        }
    }
}

fn check(
    program: &Connection,
    statement: &str,
    does: StatementEffect,
    server: &super::running::Serve,
) {
    program.execute("DELETE FROM keys", []).unwrap();
    insert(program, 1..5);
    program
        .execute("DELETE FROM keys WHERE id = 'k4'", [])
        .unwrap();
    let mut reader = FeedReader::new();
    reader.finish(100, server.ask());
    assert_eq!(reader.keys(), table(program));
    let cursor = reader.cursor().to_owned();
    let done = program.execute_batch(statement);
    if !program.is_autocommit() {
        program.execute_batch("ROLLBACK").unwrap();
    }
    let page = server.get(&format!("/keys?cursor={cursor}")).json();
    let changes = page["changes"].as_array().unwrap();
    match (done, does) {
        (Ok(()), Changes(number)) => assert_eq!(changes.len(), number, "{statement}: {page}"),
        (Err(error), Fails(text)) => {
            assert!(error.to_string().contains(text), "{statement}: {error}");
            assert_eq!(changes.len(), 0, "{statement}: {page}");
        }
        (done, does) => panic!("{statement}: {done:?}, want {does:?}"),
    }
    reader.finish(1, server.ask());
    assert_eq!(reader.keys(), table(program), "{statement}");
    let mut anew = FeedReader::new();
    anew.finish(2, server.ask());
    assert_eq!(anew.keys(), table(program), "{statement}: a full reading");
}
