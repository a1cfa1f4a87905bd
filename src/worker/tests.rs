use proptest::prelude::*;

use super::*;
use crate::auth::KeyStore;
use crate::config::Document;
use crate::config::snapshot::{self, Snapshot};
use crate::exchange::{Clock, Quotas};
use crate::host::fake::{FakeHost, FakeProcess};
use crate::keys::{KeyRecord, KeyTable, bucket};

fn root(configuration: &str, host: &FakeHost) -> WorkerRoot {
    let mut root = WorkerRoot::new(1, Rc::default());
    assert!(
        root.configure(configuration.as_bytes(), host),
        "{configuration}"
    );
    root
}

#[test]
fn a_configuration_is_accepted_or_not() {
    let group = r#"{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}"#;
    let valid = format!(r#"{{"inline": {{"groups": [{group}], "keys": []}}}}"#);
    // (configuration, whether it is accepted, whether the limits service is asked, the period in milliseconds)
    let cases = [
        ("", true, false, LONGEST_TICK_MS),
        (r#"{"limits_service": true}"#, true, true, LONGEST_TICK_MS),
        (r#"{"source": {"cluster": "c"}}"#, true, false, 500),
        (
            r#"{"source": {"cluster": "c"}, "tick_ms": 60000}"#,
            true,
            false,
            LONGEST_TICK_MS,
        ),
        (valid.as_str(), true, false, 20),
        (
            r#"{"inline": {"groups": [{}]}}"#,
            false,
            false,
            LONGEST_TICK_MS,
        ),
        ("{", false, false, LONGEST_TICK_MS),
    ];
    for (configuration, accepted, service, period) in cases {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let mut root = WorkerRoot::new(1, Rc::default());
        let got = root.configure(configuration.as_bytes(), &host);
        assert_eq!(got, accepted, "{configuration}");
        let environment = root.worker.environment(&host);
        assert_eq!(environment.reach_service(), service, "{configuration}");
        let want = Some(Duration::from_millis(period));
        assert_eq!(host.period.get(), want, "{configuration}");
    }
}

#[test]
fn a_snapshot_that_cannot_be_read_is_logged_once() {
    let process = FakeProcess::start();
    let host = FakeHost::of(&process);
    let root = root("{}", &host);
    let in_force = || root.worker.environment(&host).latest_policy();
    assert!(in_force().is_none());
    host.set(snapshot::POLICY, b"{}", None).unwrap();
    host.set(snapshot::GENERATION, &1_u64.to_le_bytes(), None)
        .unwrap();
    for _ in 0..3 {
        assert!(in_force().is_none());
    }
    assert_eq!(host.take_lines().len(), 1);
}

#[test]
fn a_callback_has_one_time() {
    let process = FakeProcess::start();
    let host = FakeHost::of(&process);
    let root = root("{}", &host);
    let environment = root.worker.environment(&host);
    let (steady, wall) = (environment.now_us(), environment.now());
    process.pass_ms(5000);
    assert_eq!((environment.now_us(), environment.now()), (steady, wall));
    let later = root.worker.environment(&host);
    assert_eq!(later.now_us(), steady + 5_000_000);
    assert_eq!(later.now(), wall + 5);
}

/// An event around a worker; tests list them in the order in which they happen.
#[derive(Debug, Clone, Copy)]
enum WorkerStep {
    /// Milliseconds pass.
    Pass(u64),
    /// A page of the feed changes the key.
    Feed,
    /// A document that changes the key and its group is published.
    Publish,
    /// It is, and the new generation is not shown as yet.
    PublishPolicy,
    /// One of two workers has a request with the key.
    Request(usize),
}

fn steps() -> impl Strategy<Value = Vec<WorkerStep>> {
    let step = prop_oneof![
        3 => (0..8_u64).prop_map(WorkerStep::Pass),
        1 => Just(WorkerStep::Pass(10)),
        2 => Just(WorkerStep::Feed),
        1 => Just(WorkerStep::Publish),
        1 => Just(WorkerStep::PublishPolicy),
        6 => (0..2_usize).prop_map(WorkerStep::Request),
    ];
    prop::collection::vec(step, 1..60)
}

/// The state of a key, one number for each change, and when it was the last.
#[derive(Debug, Default)]
struct KeyHistory(Vec<u64>);

impl KeyHistory {
    fn last(&self) -> usize {
        self.0.len()
    }

    /// Whether this state was the last one not more than ten milliseconds before.
    fn was_of_late(&self, state: usize, now_us: u64) -> bool {
        self.0
            .get(state)
            .is_none_or(|ended| now_us - ended <= 10_000)
    }
}

/// The policy number `state`, whose group and whose key have its number.
fn policy(state: usize, digest: KeyDigest) -> Vec<u8> {
    let text = format!(
        r#"{{"groups": [{{"id": "{state}", "protocol": "A", "multiplier": "1", "cluster": "c"}}]}}"#
    );
    let key = KeyRecord {
        group: state.to_string().into(),
        ..KeyRecord::default()
    };
    let snapshot = Snapshot {
        document: Document::parse(text.as_bytes()).unwrap(),
        keys: KeyTable::of(&[(digest, key)]),
        ..Snapshot::default()
    };
    snapshot.encode()
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    /// A change of a key is seen by every worker ten milliseconds later, and one of a document with its policy.
    #[test]
    fn a_key_is_never_older_than_ten_milliseconds_and_as_old_as_its_policy(steps in steps()) {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let roots = [root("{}", &host), root("{}", &host)];
        let (named, in_feed) = (KeyDigest::of(b"named"), KeyDigest::of(b"in the feed"));
        let mut of_feed = KeyHistory::default();
        // The number of the last document, and which were shown when. One that was not may be read all the same.
        let (mut last, mut shown) = (0, Vec::new());
        let number = |state: usize| u64::try_from(state).unwrap().to_le_bytes();
        let mut name = String::new();
        bucket::write_name(bucket::of(&in_feed), &mut name);
        for step in steps {
            let now_us = process.steady_us.get();
            match step {
                WorkerStep::Pass(milliseconds) => process.pass_ms(milliseconds),
                WorkerStep::Feed => {
                    of_feed.0.push(now_us);
                    let mut bytes = Vec::new();
                    bucket::put(&[], None, &in_feed, &number(of_feed.last()), &mut bytes);
                    host.set(&name, &bytes, None).unwrap();
                }
                WorkerStep::Publish | WorkerStep::PublishPolicy => {
                    last += 1;
                    host.set(snapshot::POLICY, &policy(last, named), None).unwrap();
                    if matches!(step, WorkerStep::Publish) {
                        shown.push((last, now_us));
                        host.set(snapshot::GENERATION, &number(last), None).unwrap();
                    }
                }
                WorkerStep::Request(worker) => {
                    let environment = roots[worker].worker.environment(&host);
                    let in_force = environment.in_force();
                    let by_document: usize = in_force.map_or(0, |in_force| {
                        let key = in_force.keys.get(&named).unwrap().unwrap();
                        assert!(in_force.policy.group(&key.group).is_some(), "one document");
                        key.group.parse().unwrap()
                    });
                    let before = shown.iter().rfind(|(_, at)| now_us - at > 10_000);
                    let least = before.map_or(0, |(state, _)| *state);
                    prop_assert!(by_document >= least, "{} was shown, {} is seen", least, by_document);
                    let bytes = environment.record(&in_feed);
                    let by_feed = bytes.map_or(0, |bytes| {
                        usize::try_from(u64::from_le_bytes(bytes.try_into().unwrap())).unwrap()
                    });
                    prop_assert!(of_feed.was_of_late(by_feed, now_us), "feed: {}", by_feed);
                    if of_feed.last() == 1 {
                        prop_assert_eq!(by_feed, 1, "a new key is valid at once");
                    }
                }
            }
        }
    }
}
