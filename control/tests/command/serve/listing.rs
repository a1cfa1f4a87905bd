//! A full sync: what exists in the order of digests, then what has changed since.

use serde_json::Value;

use super::running::{Serve, sha256};
use super::sqlite::{insert, program, serve};

fn page(server: &Serve, query: &str) -> Value {
    let (status, body) = server.ask()(query);
    assert_eq!(status, 200, "{query}");
    serde_json::from_slice(&body).unwrap()
}

fn text(page: &Value, name: &str) -> String {
    page[name].as_str().unwrap().to_owned()
}

fn digests(page: &Value) -> Vec<String> {
    let changes = page["changes"].as_array().unwrap();
    changes
        .iter()
        .map(|change| text(change, "sha256"))
        .collect()
}

/// Gateways of 0.1 take them in any order.
#[test]
fn in_the_order_of_digests_and_then_the_changes_since() {
    let directory = tempfile::tempdir().unwrap();
    let program = program(directory.path());
    let server = serve(directory.path(), &[]);
    // Not in the order of their versions.
    insert(&program, 5..10);
    insert(&program, 0..5);
    let sorted: Vec<String> = (0..10).map(sha256).collect();

    let first = page(&server, "limit=4");
    assert_eq!(digests(&first), sorted[..4]);
    // One that was listed, one that is to come, and a new one.
    for (sql, digest) in [
        ("DELETE FROM keys WHERE sha256 = ?1", &sorted[1]),
        ("DELETE FROM keys WHERE sha256 = ?1", &sorted[5]),
        ("UPDATE keys SET disabled = 1 WHERE sha256 = ?1", &sorted[8]),
    ] {
        assert_eq!(program.execute(sql, [digest]).unwrap(), 1, "{sql}");
    }
    insert(&program, 10..11);
    let new = sha256(10);

    let mut listed: Vec<String> = sorted[4..].to_vec();
    listed.retain(|digest| *digest != sorted[5]);
    listed.push(new.clone());
    let changed = [&sorted[1], &sorted[5], &sorted[8], &new].map(String::clone);
    let want = [listed, changed.to_vec()].concat();

    let (mut got, mut cursor, mut pages) = (Vec::new(), text(&first, "cursor"), 0);
    loop {
        let next = page(&server, &format!("limit=3&cursor={cursor}"));
        got.extend(digests(&next));
        (cursor, pages) = (text(&next, "cursor"), pages + 1);
        if next["more"] == false {
            break;
        }
        assert_eq!(digests(&next).len(), 3, "with more to come a page is full");
    }
    assert_eq!(got, want);
    assert_eq!(pages, want.len().div_ceil(3));
    assert_eq!(
        digests(&page(&server, &format!("cursor={cursor}"))),
        [""; 0]
    );
}

/// Who was in the middle of a full sync when 0.1 was replaced goes on in the order of versions.
#[test]
fn a_full_sync_that_began_with_0_1() {
    let directory = tempfile::tempdir().unwrap();
    let program = program(directory.path());
    let server = serve(directory.path(), &[]);
    insert(&program, 0..10);
    let removed = "DELETE FROM keys WHERE sha256 = ?1";
    program.execute(removed, [sha256(9)]).unwrap();
    let version = |number: u64| -> u64 {
        let sql = "SELECT version FROM key_changes WHERE sha256 = ?1";
        program
            .query_row(sql, [sha256(number)], |row| row.get(0))
            .unwrap()
    };
    let feed = text(&page(&server, ""), "feed");
    let (at, since) = (version(3), version(9));
    let rest = page(&server, &format!("cursor={feed}.{at}.{since}"));
    let want: Vec<String> = (4..9).map(sha256).collect();
    assert_eq!((digests(&rest), &rest["more"]), (want, &Value::from(false)));
    assert_eq!(text(&rest, "cursor"), format!("{feed}.{since}"));
}
