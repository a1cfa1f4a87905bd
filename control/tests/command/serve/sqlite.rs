//! The feed from a database: restarts, removals, several servers, another database.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::reader::FeedReader;
use super::running::{Serve, sha256};

/// A server over `keys.db` in a directory.
pub fn serve(directory: &Path, more: &[&str]) -> Serve {
    Serve::new(directory, &[&["--sqlite", "keys.db"], more].concat())
}

/// Another program that uses the database.
pub fn program(directory: &Path) -> Connection {
    let connection = Connection::open(directory.join("keys.db")).unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    connection
}

pub fn insert(program: &Connection, numbers: std::ops::Range<u64>) {
    program.execute_batch("BEGIN").unwrap();
    for number in numbers {
        let (sha256, id) = (sha256(number), format!("k{number}"));
        let sql = "INSERT INTO keys (sha256, id, group_id) VALUES (?1, ?2, 'g')";
        program.execute(sql, [sha256, id]).unwrap();
    }
    program.execute_batch("COMMIT").unwrap();
}

/// The keys as the table has them, in the form of a change.
pub fn table(program: &Connection) -> BTreeMap<String, Value> {
    let mut statement = program
        .prepare("SELECT sha256, id, group_id, expires_at, disabled, limits, owner FROM keys")
        .unwrap();
    let rows = statement.query_map([], |row| {
        let (id, group): (String, String) = (row.get(1)?, row.get(2)?);
        let mut terms = json!({"id": id, "group": group});
        if let Some(expires_at) = row.get::<_, Option<String>>(3)? {
            terms["expires_at"] = expires_at.into();
        }
        if row.get::<_, i64>(4)? == 1 {
            terms["disabled"] = true.into();
        }
        if let Some(limits) = row.get::<_, Option<String>>(5)? {
            terms["limits"] = without_nulls(serde_json::from_str(&limits).unwrap());
        }
        if let Some(owner) = row.get::<_, Option<String>>(6)? {
            terms["owner"] = owner.into();
        }
        Ok((row.get(0)?, terms))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// A member that is null is none.
fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, value| !value.is_null());
        for value in members.values_mut() {
            *value = without_nulls(value.take());
        }
    }
    value
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let first = serve(at, &[]);
    let program = program(at);
    insert(&program, 0..100);
    let mut reader = FeedReader::new();
    reader.step(30, first.ask());
    let feed = first.get("/healthz").json()["keys"]["feed"].clone();
    drop(first);
    program.execute_batch("DELETE FROM keys WHERE id IN ('k0', 'k99'); UPDATE keys SET disabled = 1 WHERE id = 'k1'").unwrap();
    let second = serve(at, &[]);
    assert_eq!(second.get("/healthz").json()["keys"]["feed"], feed);
    reader.finish(30, second.ask());
    assert_eq!(reader.keys(), table(&program));
    assert_eq!((reader.full_readings, reader.keys().len()), (1, 98));
}

#[test]
fn several_servers_of_one_database_agree() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    // Both may find that there is no database yet.
    let servers = std::thread::scope(|scope| {
        let starting = [0; 4].map(|_| scope.spawn(|| serve(at, &[])));
        starting.map(|server| server.join().unwrap())
    });
    let program = program(at);
    insert(&program, 0..60);
    let mut reader = FeedReader::new();
    for turn in 0_usize.. {
        if turn % 3 == 0 && turn < 30 {
            let sql = format!(
                "UPDATE keys SET group_id = 'h{turn}' WHERE id IN ('k{turn}', 'k{}')",
                59 - turn
            );
            assert_eq!(program.execute(&sql, []).unwrap(), 2);
            program
                .execute(
                    "DELETE FROM keys WHERE id = ?1",
                    [format!("k{}", 30 + turn)],
                )
                .unwrap();
        }
        if !reader.step(4, servers[turn % 4].ask()) && turn > 40 {
            break;
        }
    }
    assert_eq!(reader.keys(), table(&program));
    assert_eq!(
        reader.full_readings, 1,
        "a cursor of one is good for the others"
    );
}

#[test]
fn removals_are_kept_for_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let server = serve(at, &[]);
    let program = program(at);
    insert(&program, 0..10);
    let [mut stays, mut old, mut within] =
        [FeedReader::new(), FeedReader::new(), FeedReader::new()];
    old.finish(100, server.ask());
    program
        .execute("DELETE FROM keys WHERE id IN ('k3', 'k4')", [])
        .unwrap();
    stays.finish(100, server.ask());
    // A full reading that began after the removals can go on: it was never given those keys.
    assert!(within.step(2, server.ask()));
    drop(server);

    let days = |days: i64| {
        format!(
            "UPDATE key_changes SET removed_at = removed_at - {} WHERE removed_at NOT NULL",
            days * 86_400
        )
    };
    program.execute(&days(6), []).unwrap();
    let server = serve(at, &["--keep-removals", "7"]);
    let page = server.get(&format!("/keys?cursor={}", old.cursor())).json();
    assert_eq!(
        page["changes"].as_array().unwrap().len(),
        2,
        "both removals: {page}"
    );
    assert_eq!(page["changes"][0]["removed"], true);
    drop(server);

    program.execute(&days(2), []).unwrap();
    let server = serve(at, &["--keep-removals", "7"]);
    let left: u64 = program
        .query_row(
            "SELECT count(*) FROM key_changes WHERE removed_at NOT NULL",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(left, 0, "forgotten");
    let reply = server.get(&format!("/keys?cursor={}", old.cursor()));
    let error = "the cursor is too old: removals since then are forgotten; read everything anew, without a cursor";
    assert_eq!((reply.status, reply.error().as_str()), (410, error));
    for (case, reader, full_readings) in [
        ("old", &mut old, 2),
        ("stays", &mut stays, 1),
        ("within", &mut within, 1),
    ] {
        reader.finish(3, server.ask());
        assert_eq!(reader.keys(), table(&program), "{case}");
        assert_eq!(reader.full_readings, full_readings, "{case}");
    }
}

#[test]
fn a_restored_backup() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let server = serve(at, &[]);
    let first = program(at);
    insert(&first, 0..10);
    first
        .execute("VACUUM INTO ?1", [at.join("backup.db").to_str().unwrap()])
        .unwrap();
    let mut forgot = FeedReader::new();
    forgot.finish(100, server.ask());
    insert(&first, 10..12);
    first
        .execute("DELETE FROM keys WHERE id = 'k1'", [])
        .unwrap();
    forgot.finish(100, server.ask());
    drop(first);
    for file in ["keys.db-wal", "keys.db-shm"] {
        let _ = std::fs::remove_file(at.join(file));
    }
    std::fs::rename(at.join("backup.db"), at.join("keys.db")).unwrap();

    // The server sees that it is another file. The feed is behind: nothing is lost and nothing comes back.
    let mut told = FeedReader::new();
    told.finish(100, server.ask());
    let second = program(at);
    forgot.finish(100, server.ask());
    assert_eq!((forgot.behind, forgot.keys().len()), (1, 11));
    // A change after that counts, whatever was given before under the numbers that were taken back.
    second
        .execute("UPDATE keys SET disabled = 1 WHERE id = 'k2'", [])
        .unwrap();
    forgot.finish(100, server.ask());
    assert_eq!(forgot.keys()[&sha256(2)]["disabled"], true);

    // What the documentation says to do.
    second
        .execute("UPDATE key_feed SET feed = lower(hex(randomblob(16)))", [])
        .unwrap();
    for (case, reader) in [("forgot", &mut forgot), ("told", &mut told)] {
        reader.finish(3, server.ask());
        assert_eq!(reader.keys(), table(&second), "{case}");
    }
}

#[test]
fn while_another_program_writes() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let first = serve(at, &[]);
    let program = program(at);
    insert(&program, 0..3);
    program
        .execute_batch("BEGIN IMMEDIATE; DELETE FROM keys WHERE id = 'k1'")
        .unwrap();
    // It waits for nobody, not even to begin.
    let since = std::time::Instant::now();
    let second = serve(at, &[]);
    for server in [&first, &second] {
        let page = server.get("/keys").json();
        assert_eq!(page["changes"].as_array().unwrap().len(), 3, "{page}");
    }
    assert!(
        since.elapsed() < std::time::Duration::from_secs(3),
        "{:?}",
        since.elapsed()
    );
    program.execute_batch("COMMIT").unwrap();
    let page = second.get("/keys").json();
    assert_eq!(page["changes"].as_array().unwrap().len(), 2, "{page}");
}

#[test]
fn databases_that_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let fails = |text: &str| {
        let ran = super::running::command(at, &["--sqlite", "keys.db"])
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{said}");
        assert!(said.contains(text), "{said}");
    };
    std::fs::write(
        at.join("keys.db"),
        "not a database, but longer than a header of one would be: ".repeat(20),
    )
    .unwrap();
    fails("error: the database keys.db: is not a SQLite database");
    std::fs::remove_file(at.join("keys.db")).unwrap();
    program(at).execute_batch("CREATE TABLE keys (x)").unwrap();
    fails("has a table keys that is no feed's");
    program(at)
        .execute_batch("DROP TABLE keys; CREATE TABLE customers (x)")
        .unwrap();
    let mut server = serve(at, &[]);
    // It lives beside other tables.
    insert(&program(at), 0..1);
    assert_eq!(server.get("/keys").json()["changes"][0]["id"], "k0");
    server.rest();
    std::fs::rename(at.join("keys.db"), at.join("away.db")).unwrap();
    let mut line = server.line();
    for _ in 0..3 {
        let reply = line.get("/keys", &[]);
        assert_eq!(
            (reply.status, reply.error().as_str()),
            (503, "the database is not there")
        );
    }
    assert_eq!(line.get("/healthz", &[]).status, 503);
    std::fs::rename(at.join("away.db"), at.join("keys.db")).unwrap();
    assert_eq!(line.get("/keys", &[]).status, 200);
    assert_eq!(server.rest().matches("error:").count(), 1, "told once");
    program(at)
        .execute("UPDATE key_feed SET format = 5", [])
        .unwrap();
    drop(server);
    fails("was made by another release of trilane");
}
