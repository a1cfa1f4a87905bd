use std::fs::{self, File};
use std::io::Write as _;

use super::*;

/// A line of a request that ended now.
fn line(key: &str, charge: &str, instance: &str) -> String {
    let now = OffsetDateTime::now_utc();
    let now = now.format(&time::format_description::well_known::Rfc3339);
    let line = serde_json::json!({
        "timestamp": now.unwrap(), "duration_ms": 0, "http.response.status_code": 200,
        "trilane.usage.status": "complete", "trilane.outcome": "finished", "trilane.key.id": key, "trilane.group": "g",
        "trilane.source": "s", "trilane.entry": "vb_messages", "trilane.model": "m", "trilane.charge": charge,
        "trilane.currency": "USD", "trilane.instance": instance, "trilane.spent.key.day": charge,
    });
    format!("{line}\n")
}

fn append(file: &Path, text: &str) {
    let mut file = File::options()
        .append(true)
        .create(true)
        .open(file)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Returns the unsent spend of a key today, as a process is told it.
fn told(unsent: &UnsentSpend, key: &str, instance: &str) -> String {
    unsent.catch_up(instance);
    let today = OffsetDateTime::now_utc().date().to_string();
    let subject = ("key".to_owned(), key.to_owned());
    let all = unsent.elsewhere(&subject, "USD", instance);
    all.get(&today).copied().unwrap_or_default().to_string()
}

fn id(file: &Path) -> String {
    SentFile::open(file, false).unwrap().unwrap().id
}

#[test]
fn a_process_that_begins_is_told_what_those_before_have_spent() {
    let place = tempfile::tempdir().unwrap();
    let ledger = place.path().join("ledger.jsonl");
    let unsent = UnsentSpend::new(ledger.clone(), FilePositions::new()).unwrap();
    assert_eq!(told(&unsent, "a", "one"), "0", "no ledger yet");
    append(
        &ledger,
        &[
            line("a", "1.5", "one"),
            line("b", "7", "one"),
            line("a", "0.25", "one"),
        ]
        .concat(),
    );
    assert_eq!(told(&unsent, "a", "one"), "0", "it counts that itself");
    assert_eq!(told(&unsent, "a", "two"), "1.75");
    append(&ledger, "{\"timestamp\":");
    assert_eq!(
        told(&unsent, "a", "two"),
        "1.75",
        "a line that is not whole"
    );
    append(&ledger, &format!("\n{}", line("a", "2", "two")));
    assert_eq!(told(&unsent, "a", "two"), "1.75");
    assert_eq!(told(&unsent, "a", "three"), "3.75");
    // Set aside, by us and by others; a copy counts once.
    fs::rename(&ledger, place.path().join("ledger-20261128T120000Z.jsonl")).unwrap();
    append(&ledger, &line("a", "4", "two"));
    fs::rename(&ledger, place.path().join("ledger.jsonl.1")).unwrap();
    fs::copy(
        place.path().join("ledger.jsonl.1"),
        place.path().join("ledger.jsonl.bak"),
    )
    .unwrap();
    append(&ledger, &line("a", "8", "two"));
    assert_eq!(told(&unsent, "a", "three"), "15.75");
    // An agent that was killed begins with the same.
    let again = UnsentSpend::new(ledger, FilePositions::new()).unwrap();
    assert_eq!(told(&again, "a", "three"), "15.75");
    assert_eq!(told(&again, "b", "three"), "7");
}

#[test]
fn what_the_totals_have_is_told_once() {
    let place = tempfile::tempdir().unwrap();
    let ledger = place.path().join("ledger.jsonl");
    let first = line("a", "1", "one");
    let length = u64::try_from(first.len()).unwrap();
    append(
        &ledger,
        &[first, line("a", "2", "one"), line("a", "4", "one")].concat(),
    );
    let unsent = UnsentSpend::new(ledger.clone(), FilePositions::new()).unwrap();
    assert_eq!(told(&unsent, "a", "two"), "7");
    let id = id(&ledger);
    unsent.acknowledge(&id, length);
    let acknowledged = unsent.acknowledged();
    assert_eq!(
        told(&unsent, "a", "two"),
        "7",
        "acknowledged, and not in the totals that are here"
    );
    unsent.settle(&acknowledged);
    assert_eq!(told(&unsent, "a", "two"), "6");
    unsent.settle(&acknowledged);
    assert_eq!(told(&unsent, "a", "two"), "6", "once");
    // More than was read.
    append(&ledger, &line("a", "8", "one"));
    let whole = fs::metadata(&ledger).unwrap().len();
    unsent.settle(&FilePositions::from([(id.clone(), whole)]));
    assert_eq!(told(&unsent, "a", "two"), "0");
    append(&ledger, &line("a", "16", "one"));
    assert_eq!(told(&unsent, "a", "two"), "16");
    // Started again: the positions are kept with the totals.
    let again = UnsentSpend::new(ledger.clone(), FilePositions::from([(id, whole)])).unwrap();
    assert_eq!(told(&again, "a", "two"), "16");
    // Removed: it was spent all the same.
    fs::remove_file(&ledger).unwrap();
    assert_eq!(told(&again, "a", "two"), "16");
}

#[test]
fn who_has_changed() {
    let place = tempfile::tempdir().unwrap();
    let ledger = place.path().join("ledger.jsonl");
    let unsent = UnsentSpend::new(ledger.clone(), FilePositions::new()).unwrap();
    let keys = |mark: &str| -> Vec<String> {
        let changed = unsent.changed_since(mark).into_iter();
        changed
            .filter(|(_, name)| name.0 == "key")
            .map(|(_, name)| name.1)
            .collect()
    };
    append(
        &ledger,
        &[line("a", "1", "one"), line("b", "1", "one")].concat(),
    );
    unsent.catch_up("two");
    assert_eq!(keys(""), ["a", "b"]);
    let mark = unsent.mark(None);
    assert_eq!(keys(&mark), [""; 0]);
    append(&ledger, &line("b", "1", "two"));
    unsent.catch_up("two");
    assert_eq!(keys(&mark), [""; 0], "it knows that itself");
    append(&ledger, &line("b", "1", "one"));
    unsent.catch_up("two");
    assert_eq!(
        keys(&mark),
        ["b"],
        "a process before it has ended a request"
    );
    assert_eq!(keys("another-9"), ["a", "b"], "of another run");
}
