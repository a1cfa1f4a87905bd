use std::rc::Rc;

use proptest::prelude::*;
use serde_json::json;

use super::super::fixtures::{source, source_of};
use super::*;
use crate::config::policy::Source;
use crate::host::fake::{FakeHost, FakeProcess};

impl States {
    /// Sets what is known of an account's ejection.
    pub(in crate::failover) fn set_ejection(&mut self, marks: &Marks, ejection: Ejection) {
        let entry = AccountState {
            ejection,
            ..AccountState::new(marks)
        };
        entry.write(&mut self.accounts);
    }
}

fn accounts(source: &Source) -> &Accounts {
    source.accounts.as_deref().unwrap()
}

fn known(source: &Source, host: &FakeHost) -> Vec<(bool, bool)> {
    let states = read(&source.group, host);
    let now_us = host.steady_us();
    let of = |marks| (states.has_answered(marks), states.is_ejected(marks, now_us));
    accounts(source).marks.iter().map(of).collect()
}

#[test]
fn events_are_known_to_all_workers() {
    use AccountEvent::{Answered, Failed, NotReady};
    // (case, events at the first account, whether it has answered and is ejected)
    for (case, events, want) in [
        ("nothing", &[][..], (false, false)),
        ("an answer", &[Answered], (true, false)),
        ("a failure", &[Failed], (false, true)),
        (
            "a failure after an answer",
            &[Answered, Failed],
            (true, true),
        ),
        ("nothing to send to", &[Answered, NotReady], (false, true)),
        (
            "an answer while it is ejected",
            &[Failed, Answered],
            (true, true),
        ),
    ] {
        let process = FakeProcess::start();
        let source = source(2);
        for event in events {
            let host = FakeHost::of(&process);
            note(*event, "s", accounts(&source), 0, &host);
        }
        let other = FakeHost::of(&process);
        assert_eq!(known(&source, &other), [want, (false, false)], "{case}");
    }
}

#[test]
fn one_key_alone_ejects_for_nobody_else() {
    use AccountEvent::{Answered, Failed, Finished, Interrupted};
    let [a, b] = ["a", "b"].map(KeyMark::of);
    // (case, keys that use the source, events at the first account, whether it is ejected)
    let cases: &[(&str, &[KeyMark], &[AccountEvent], bool)] = &[
        (
            "one key of two",
            &[a, b],
            &[Interrupted(a), Interrupted(a)],
            false,
        ),
        (
            "the same, its use not being known",
            &[b],
            &[Interrupted(a)],
            false,
        ),
        ("two keys", &[a, b], &[Interrupted(a), Interrupted(b)], true),
        (
            "two keys, an answer begun between",
            &[a, b],
            &[Interrupted(a), Answered, Interrupted(b)],
            true,
        ),
        (
            "two keys, an answer between",
            &[a, b],
            &[Interrupted(a), Answered, Finished, Interrupted(b)],
            false,
        ),
        ("the only key", &[a], &[Interrupted(a)], true),
        ("nobody is known", &[], &[Interrupted(a)], true),
        ("a failure", &[a, b], &[Failed], true),
    ];
    for (case, uses, events, ejected) in cases {
        let process = FakeProcess::start();
        let source = source(2);
        for key in *uses {
            note_use("s", *key, &FakeHost::of(&process));
        }
        for event in *events {
            note(*event, "s", accounts(&source), 0, &FakeHost::of(&process));
        }
        let known = known(&source, &FakeHost::of(&process));
        assert_eq!(known[0].1, *ejected, "{case}");
        assert!(!known[1].1, "{case}: the other");
    }
}

#[test]
fn a_key_that_left_is_not_in_use() {
    let [a, b] = ["a", "b"].map(KeyMark::of);
    for (seconds, ejected) in [(599, false), (600, true)] {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let source = source(2);
        note_use("s", b, &host);
        process.pass_ms(seconds * 1000);
        note_use("s", a, &host);
        note(
            AccountEvent::Interrupted(a),
            "s",
            accounts(&source),
            0,
            &host,
        );
        assert_eq!(known(&source, &host)[0].1, ejected, "{seconds} s later");
    }
}

/// A key that is written down between an interruption's reading and its writing is seen.
#[test]
fn an_interruption_sees_the_keys_of_other_workers() {
    let process = FakeProcess::start();
    let source = source(2);
    let a = KeyMark::of("a");
    note_use("s", a, &FakeHost::of(&process));
    let slow = Slow::new(&process, |host| note_use("s", KeyMark::of("b"), host));
    note(
        AccountEvent::Interrupted(a),
        "s",
        accounts(&source),
        0,
        &slow,
    );
    assert!(!known(&source, &FakeHost::of(&process))[0].1);
    // And the other way round: the account's state is not undone.
    let slow = Slow::new(&process, |host| {
        note(
            AccountEvent::Failed,
            "s",
            accounts(&self::source(2)),
            0,
            host,
        );
    });
    process.pass_ms(120_000);
    note_use("s", a, &slow);
    assert!(known(&source, &FakeHost::of(&process))[0].1);
}

#[test]
fn operators_are_told_until_when() {
    let process = FakeProcess::start();
    let host = FakeHost::of(&process);
    let source = source(2);
    let name = "trilane_account_ejected_until_timestamp_seconds;source=s;account=a1;";
    let told = || host.stat(name);
    assert_eq!(told(), None, "before");
    note(AccountEvent::Failed, "s", accounts(&source), 1, &host);
    let until = process.wall_us.get() / 1_000_000 + 10;
    assert_eq!(told(), Some(until), "at once");
    process.pass_ms(9000);
    tell_ejections("s", accounts(&source), &mut EjectionStats::default(), &host);
    assert_eq!(told(), Some(until), "as long as it lasts");
    process.pass_ms(1001);
    tell_ejections("s", accounts(&source), &mut EjectionStats::default(), &host);
    assert_eq!(told(), Some(0), "over");
    let other = "trilane_account_ejected_until_timestamp_seconds;source=s;account=a0;";
    assert_eq!(host.stat(other), Some(0), "the other is not");
}

#[test]
fn what_is_known_holds_for_the_same_way_and_terms() {
    type DocumentEdit = fn(&mut serde_json::Value);
    // (case, what changes of the account or its neighbour, whether the answer and the ejection are still known)
    let cases: [(&str, DocumentEdit, (bool, bool)); 9] = [
        ("nothing", |_| {}, (true, true)),
        (
            "another address",
            |it| it[0]["url"] = json!("https://other"),
            (false, false),
        ),
        (
            "another path",
            |it| it[0]["url"] = json!("https://h/v1/x"),
            (false, false),
        ),
        (
            "another credential",
            |it| it[0]["credential"] = json!("k2"),
            (false, false),
        ),
        (
            "a proxy",
            |it| it[0]["proxy"] = json!("http://p:1"),
            (false, false),
        ),
        (
            "another weight",
            |it| it[0]["weight"] = json!(2),
            (true, false),
        ),
        (
            "a neighbour's weight",
            |it| it[1]["weight"] = json!(2),
            (true, false),
        ),
        (
            "a neighbour's priority",
            |it| it[1]["priority"] = json!(1),
            (true, false),
        ),
        ("retries", |it| it[0]["retries"] = json!(1), (true, true)),
    ];
    for (case, change, want) in cases {
        let host = FakeHost::of(&FakeProcess::start());
        let mut given = json!([{"id": "a"}, {"id": "b"}]);
        let before = source_of(given.as_array().unwrap(), json!({}));
        note(AccountEvent::Answered, "s", accounts(&before), 0, &host);
        note(AccountEvent::Failed, "s", accounts(&before), 0, &host);
        change(&mut given);
        let after = source_of(given.as_array().unwrap(), json!({}));
        assert_eq!(known(&after, &host)[0], want, "{case}");
    }
    for (case, failover, ejected) in [
        ("tries", json!({"tries": 1}), true),
        ("failures", json!({"failures": 2}), false),
        ("time", json!({"set_aside_seconds": 11}), false),
    ] {
        let host = FakeHost::of(&FakeProcess::start());
        let given = [json!({"id": "a"}), json!({"id": "b"})];
        note(
            AccountEvent::Failed,
            "s",
            accounts(&source_of(&given, json!({}))),
            0,
            &host,
        );
        let after = source_of(&given, failover);
        assert_eq!(known(&after, &host)[0].1, ejected, "{case}");
        // And operators are not told of what is void.
        tell_ejections("s", accounts(&after), &mut EjectionStats::default(), &host);
        let name = "trilane_account_ejected_until_timestamp_seconds;source=s;account=a;";
        assert_eq!(host.stat(name) != Some(0), ejected, "{case}: told");
    }
}

#[test]
fn accounts_that_are_gone_are_forgotten() {
    let host = FakeHost::of(&FakeProcess::start());
    let many = source(5);
    for index in 0..5 {
        note(AccountEvent::Failed, "s", accounts(&many), index, &host);
    }
    let few = source(2);
    note(AccountEvent::Answered, "s", accounts(&few), 0, &host);
    let (bytes, _) = SharedData::get(&host, "trilane/accounts/s");
    assert_eq!(
        bytes.unwrap().len(),
        ACTIVE_KEYS + 2 * size_of::<u64>() + 2 * ENTRY
    );
}

#[test]
fn a_limit_is_of_one_model_and_as_long_as_the_vendor_asks() {
    const S: u64 = 1_000_000;
    let [x, y] = ["x", "y"].map(ModelMark::of);
    let terms = json!({"failures": 3, "set_aside_seconds": 10, "set_aside_max_seconds": 60});
    let source = source_of(&[json!({"id": "a"}), json!({"id": "b"})], terms);
    // (case, the events at the account a, until when it is at its limit with x, in seconds from then)
    type Case<'a> = (&'a str, &'a [AccountEvent], u64);
    let cases: &[Case<'_>] = &[
        (
            "as long as it asks",
            &[AccountEvent::Limited(x, Some(30))],
            30,
        ),
        (
            "no longer than may be",
            &[AccountEvent::Limited(x, Some(86_400))],
            60,
        ),
        ("at once again", &[AccountEvent::Limited(x, Some(0))], 0),
        (
            "the longer of two",
            &[
                AccountEvent::Limited(x, Some(30)),
                AccountEvent::Limited(x, Some(5)),
            ],
            30,
        ),
        (
            "one that does not say",
            &[AccountEvent::Limited(x, None)],
            0,
        ),
        (
            "at once again, three times",
            &[AccountEvent::Limited(x, Some(0)); 3],
            10,
        ),
        (
            "three that do not say",
            &[AccountEvent::Limited(x, None); 3],
            10,
        ),
        ("of another model", &[AccountEvent::Limited(y, Some(30))], 0),
        (
            "an answer does not end it",
            &[AccountEvent::Limited(x, Some(30)), AccountEvent::Answered],
            30,
        ),
    ];
    for (case, events, want) in cases {
        let host = FakeHost::of(&FakeProcess::start());
        let began_us = host.steady_us();
        for event in *events {
            note(*event, "s", accounts(&source), 0, &host);
        }
        let states = read("s", &host);
        let marks = &accounts(&source).marks;
        let is_limited = |account: usize, model, after| {
            states.is_limited(&marks[account], model, began_us + after * S)
        };
        for after in [0, 1, 9, 10, 29, 30, 59, 60] {
            assert_eq!(
                is_limited(0, Some(x), after),
                after < *want,
                "{case}: after {after} s"
            );
        }
        assert!(!is_limited(1, Some(x), 0), "{case}: another account");
        assert!(!is_limited(0, None, 0), "{case}: a request without a model");
        assert!(
            !states.is_ejected(&marks[0], began_us),
            "{case}: the account"
        );
        let name = "trilane_account_ejected_until_timestamp_seconds;source=s;account=a;";
        let is_told = host.stat(name).unwrap_or_default() > 0;
        assert_eq!(
            is_told,
            *want > 0 || case.contains("another"),
            "{case}: told"
        );
    }
}

#[test]
fn so_many_limits_are_known_at_the_most() {
    let (source, host) = (source(2), FakeHost::of(&FakeProcess::start()));
    let model = |number: u64| ModelMark::of(&number.to_string());
    for number in 0..=MOST_LIMITED as u64 {
        let event = AccountEvent::Limited(model(number), Some(100 + number));
        note(event, "s", accounts(&source), 0, &host);
    }
    let (states, marks) = (read("s", &host), &accounts(&source).marks[0]);
    let is_known = |number| states.is_limited(marks, Some(model(number)), host.steady_us());
    assert!(!is_known(0), "the one that ends first");
    assert!((1..=MOST_LIMITED as u64).all(is_known), "all others");
}

/// A worker, before whose first writing another one writes.
struct Slow {
    host: FakeHost,
    before: fn(&FakeHost),
    is_second: std::cell::Cell<bool>,
}

impl Slow {
    fn new(process: &Rc<FakeProcess>, before: fn(&FakeHost)) -> Self {
        Self {
            host: FakeHost::of(process),
            before,
            is_second: std::cell::Cell::default(),
        }
    }
}

impl SharedData for Slow {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        SharedData::get(&self.host, name)
    }

    fn set(
        &self,
        name: &str,
        value: &[u8],
        version: Option<u32>,
    ) -> Result<(), crate::shared_data::Conflict> {
        if !self.is_second.replace(true) {
            (self.before)(&self.host);
        }
        self.host.set(name, value, version)
    }
}

impl Clocks for Slow {
    fn wall_us(&self) -> u64 {
        self.host.wall_us()
    }

    fn steady_us(&self) -> u64 {
        self.host.steady_us()
    }
}

impl Stats for Slow {
    fn define(&self, kind: crate::host::StatKind, name: &str) -> crate::host::StatId {
        self.host.define(kind, name)
    }

    fn add(&self, id: crate::host::StatId, count: u64) {
        self.host.add(id, count);
    }

    fn record(&self, id: crate::host::StatId, value: u64) {
        self.host.record(id, value);
    }
}

#[test]
fn a_slower_worker_does_not_undo_a_faster_one() {
    let process = FakeProcess::start();
    let source = source(2);
    // A first value, so that there is a version to go by.
    note(
        AccountEvent::Answered,
        "s",
        accounts(&source),
        0,
        &FakeHost::of(&process),
    );
    let slow = Slow::new(&process, |host| {
        note(
            AccountEvent::Failed,
            "s",
            accounts(&self::source(2)),
            0,
            host,
        );
    });
    note(AccountEvent::Failed, "s", accounts(&source), 1, &slow);
    let host = FakeHost::of(&process);
    assert_eq!(known(&source, &host), [(true, true), (false, true)]);
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    #[test]
    fn values_are_read_as_they_were_written(entries in proptest::collection::vec(any::<([u64; 5], [u32; 3])>(), 0..6)) {
        let entries: Vec<_> = entries.iter().map(|([id, answered, terms, until_us, key], [failures, ejections, interruptions])| AccountState {
            id: *id,
            answered: *answered,
            terms: *terms,
            ejection: Ejection {
                failures: *failures,
                ejections: *ejections,
                until_us: *until_us,
                interruptions: *interruptions,
                interrupted: InterruptedKeys::of(*key),
            },
        }).collect();
        let mut states = States { keys: ActiveKeys::default().after(KeyMark::of("k"), 1), ..States::default() };
        entries.iter().for_each(|entry| entry.write(&mut states.accounts));
        prop_assert_eq!(states.accounts.len(), entries.len() * ENTRY);
        let read = States::new(&states.to_bytes());
        prop_assert_eq!(read.entries().collect::<Vec<_>>(), entries);
        prop_assert_eq!(read, states);
    }

    #[test]
    fn any_bytes_are_a_value(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let states = States::new(&bytes);
        prop_assert_eq!(States::new(&states.to_bytes()), states);
    }
}
