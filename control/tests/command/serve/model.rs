//! Whatever happens meanwhile, a reader that follows the protocol ends with exactly the keys there are.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rusqlite::Connection;

use super::reader::FeedReader;
use super::running::sha256;
use super::sqlite::{program, serve, table};

/// Something that happens between two pages.
#[derive(Debug, Clone)]
enum FeedAction {
    Put(u64, u8),
    Disable(u64),
    Limit(u64, Option<u8>),
    Remove(u64),
    Exchange(u64, u64),
    RemoveMany(u64),
    Page(u32),
    /// All removals of before are forgotten.
    Compact,
    /// The server ends, and another one begins.
    Restart,
    /// As after a restored backup.
    Rename,
}

fn act() -> impl Strategy<Value = FeedAction> {
    let key = 0u64..30;
    prop_oneof![
        6 => (key.clone(), any::<u8>()).prop_map(|(key, group)| FeedAction::Put(key, group % 3)),
        2 => key.clone().prop_map(FeedAction::Disable),
        2 => (key.clone(), any::<Option<u8>>()).prop_map(|(key, limit)| FeedAction::Limit(key, limit)),
        3 => key.clone().prop_map(FeedAction::Remove),
        1 => (key.clone(), key.clone()).prop_map(|(old, new)| FeedAction::Exchange(old, new)),
        1 => key.prop_map(FeedAction::RemoveMany),
        12 => (1u32..8).prop_map(FeedAction::Page),
        1 => Just(FeedAction::Compact),
        1 => Just(FeedAction::Restart),
        1 => Just(FeedAction::Rename),
    ]
}

/// As `trilane serve` forgets removals when it starts.
const COMPACT: &str = "UPDATE key_feed SET compacted = max(compacted, \
     coalesce((SELECT max(version) FROM key_changes WHERE removed_at NOT NULL), 0)); \
     DELETE FROM key_changes WHERE removed_at NOT NULL";

fn change(program: &Connection, act: &FeedAction) {
    let done = match act {
        FeedAction::Put(key, group) => program.execute(
            "INSERT INTO keys (sha256, id, group_id) VALUES (?1, ?2, ?3) \
             ON CONFLICT (sha256) DO UPDATE SET group_id = excluded.group_id, disabled = 0",
            [sha256(*key), format!("k{key}"), format!("g{group}")],
        ),
        FeedAction::Disable(key) => program.execute(
            "UPDATE keys SET disabled = 1 WHERE sha256 = ?1",
            [sha256(*key)],
        ),
        FeedAction::Limit(key, limit) => program.execute(
            "UPDATE keys SET limits = ?2 WHERE sha256 = ?1",
            (
                sha256(*key),
                limit
                    .map(|limit| format!(r#"{{"requests_per_minute": {}}}"#, u32::from(limit) + 1)),
            ),
        ),
        FeedAction::Remove(key) => {
            program.execute("DELETE FROM keys WHERE sha256 = ?1", [sha256(*key)])
        }
        FeedAction::Exchange(old, new) => program.execute(
            "UPDATE OR REPLACE keys SET sha256 = ?2, id = 'x' || ?2 WHERE sha256 = ?1",
            [sha256(*old), sha256(*new)]
                .map(|digest| digest[1..].to_owned())
                .map(|digest| format!("0{digest}")),
        ),
        FeedAction::RemoveMany(below) => {
            program.execute("DELETE FROM keys WHERE sha256 < ?1", [sha256(*below)])
        }
        FeedAction::Rename => {
            program.execute("UPDATE key_feed SET feed = lower(hex(randomblob(16)))", [])
        }
        FeedAction::Compact => program.execute_batch(COMPACT).map(|()| 0),
        FeedAction::Page(_) | FeedAction::Restart => Ok(0),
    };
    // An id may be taken by a key that was exchanged; then nothing happens.
    if let Err(error) = done {
        let text = error.to_string();
        assert!(
            text.contains("keys.id") || text.contains("id must be"),
            "{act:?}: {text}"
        );
    }
}

#[test]
fn a_reader_ends_with_exactly_the_keys() {
    let config = Config {
        cases: 60,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&proptest::collection::vec(act(), 1..90), |acts| {
        let directory = tempfile::tempdir().unwrap();
        let mut server = serve(directory.path(), &[]);
        let program = program(directory.path());
        program.pragma_update(None, "synchronous", "OFF").unwrap();
        let mut reader = FeedReader::new();
        for act in &acts {
            change(&program, act);
            match act {
                FeedAction::Page(limit) => drop(reader.step(*limit, server.ask())),
                FeedAction::Restart => {
                    drop(server);
                    server = serve(directory.path(), &[]);
                }
                _ => {}
            }
        }
        reader.finish(5, server.ask());
        prop_assert_eq!(reader.keys(), table(&program));
        prop_assert_eq!(reader.behind, 0);
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}
