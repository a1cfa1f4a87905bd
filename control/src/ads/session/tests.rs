use std::collections::HashMap;

use serde_json::json;

use super::super::discovery::Status;
use super::super::secret::SecretValue;
use super::super::snapshot::Resources;
use super::super::version::VersionKey;
use super::*;

/// Snapshots that follow each other.
struct Desk {
    key: VersionKey,
    snapshot: Snapshot,
}

impl Desk {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        Self {
            key: VersionKey::open(&place.path().join("key")).unwrap(),
            snapshot: Snapshot::default(),
        }
    }

    /// Clusters by name and host, and secrets.
    fn put(&mut self, clusters: &[(&str, &str)], secrets: &[(&str, &str)], keep: bool) {
        let clusters = clusters
            .iter()
            .map(|(name, host)| json!({"name": name, "alt_stat_name": host}));
        let secrets = secrets.iter().map(|(name, value)| {
            let value = SecretValue::Credential(value.as_bytes().to_owned());
            ((*name).to_owned(), Some(value))
        });
        let resources = Resources {
            clusters: clusters.collect(),
            secrets: secrets.collect(),
        };
        let names = resources.names();
        let (next, _) = self.snapshot.next(resources, &self.key).unwrap();
        self.snapshot = if keep { next } else { next.only(&names) };
    }

    fn version(&self, kind: ResourceKind, name: &str) -> String {
        self.snapshot.of(kind)[name].version.clone()
    }
}

fn asks(kind: ResourceKind, names: &[&str]) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        type_url: kind.type_url().to_owned(),
        resource_names_subscribe: names.iter().map(|name| (*name).to_owned()).collect(),
        ..DeltaDiscoveryRequest::default()
    }
}

fn says(message: &DeltaDiscoveryResponse, why: Option<&str>) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        type_url: message.type_url.clone(),
        response_nonce: message.nonce.clone(),
        error_detail: why.map(|why| Status {
            message: why.to_owned(),
        }),
        ..DeltaDiscoveryRequest::default()
    }
}

/// A message in short: the kind's first letter, what is in it, and behind a minus what is gone.
fn short(message: &DeltaDiscoveryResponse) -> String {
    let kind = match ResourceKind::of(&message.type_url).unwrap() {
        ResourceKind::Cluster => "c",
        ResourceKind::Secret => "s",
    };
    let resources = message
        .resources
        .iter()
        .map(|each| format!(" {}", each.name));
    let gone = message
        .removed_resources
        .iter()
        .map(|name| format!(" -{name}"));
    kind.to_owned() + &resources.chain(gone).collect::<String>()
}

fn due(session: &mut Session, desk: &Desk) -> Vec<String> {
    session.due(&desk.snapshot).iter().map(short).collect()
}

const C: ResourceKind = ResourceKind::Cluster;
const S: ResourceKind = ResourceKind::Secret;

#[test]
fn what_is_sent_and_when() {
    let mut desk = Desk::new();
    let mut session = Session::default();
    assert_eq!(due(&mut session, &desk), [""; 0], "nothing was asked for");
    session.receive(&asks(C, &[]));
    assert_eq!(
        due(&mut session, &desk),
        ["c"],
        "an Envoy that starts waits for an answer"
    );
    desk.put(&[("a", "1"), ("b", "1")], &[("x", "1"), ("y", "1")], false);
    assert_eq!(due(&mut session, &desk), ["c a b"], "all in one message");
    assert_eq!(due(&mut session, &desk), [""; 0], "once");
    session.receive(&asks(S, &["x", "z"]));
    assert_eq!(
        due(&mut session, &desk),
        ["s x", "s -z"],
        "what is asked for, and that there is none"
    );
    assert_eq!(due(&mut session, &desk), [""; 0], "once");
    desk.put(
        &[("a", "2"), ("b", "1")],
        &[("x", "2"), ("y", "2"), ("z", "1")],
        false,
    );
    assert_eq!(
        due(&mut session, &desk),
        ["s x z", "c a"],
        "secrets before clusters"
    );
    desk.put(&[("b", "1"), ("n", "1")], &[("y", "2")], true);
    assert_eq!(due(&mut session, &desk), ["c n"], "what goes is kept");
    desk.put(&[("b", "1"), ("n", "1")], &[("y", "2")], false);
    assert_eq!(
        due(&mut session, &desk),
        ["c -a", "s -x -z"],
        "and gone later"
    );
    let mut forgets = asks(S, &[]);
    forgets.resource_names_unsubscribe = vec!["x".to_owned()];
    session.receive(&forgets);
    desk.put(&[("b", "1"), ("n", "1")], &[("x", "2"), ("z", "2")], false);
    assert_eq!(
        due(&mut session, &desk),
        ["s z"],
        "not what it does not want"
    );
    session.receive(&asks(S, &["x"]));
    assert_eq!(due(&mut session, &desk), ["s x"], "asked for again");
}

#[test]
fn authorities_go_by_themselves() {
    let mut desk = Desk::new();
    let resources = Resources {
        clusters: Vec::new(),
        secrets: BTreeMap::from([
            ("a".to_owned(), Some(SecretValue::NONE)),
            ("ca~1".to_owned(), Some(SecretValue::Authorities(vec![1]))),
            ("ca~2".to_owned(), Some(SecretValue::Authorities(vec![2]))),
            ("z".to_owned(), Some(SecretValue::NONE)),
        ]),
    };
    desk.snapshot = desk.snapshot.next(resources, &desk.key).unwrap().0;
    let mut session = Session::default();
    session.receive(&asks(S, &["a", "ca~1", "ca~2", "z"]));
    assert_eq!(due(&mut session, &desk), ["s a z", "s ca~1", "s ca~2"]);
}

#[test]
fn what_an_envoy_has_is_not_sent_again() {
    let mut desk = Desk::new();
    desk.put(&[("a", "1"), ("b", "2")], &[("x", "1"), ("y", "2")], false);
    let mut session = Session::default();
    let has = |kind, names: &[(&str, String)]| {
        let versions = names
            .iter()
            .map(|(name, version)| ((*name).to_owned(), version.clone()));
        let mut request = asks(kind, if kind == S { &["x", "y"] } else { &[] });
        request.initial_resource_versions = versions.collect::<HashMap<_, _>>();
        request
    };
    let old = || "old".to_owned();
    let word = session.receive(&has(
        C,
        &[("a", desk.version(C, "a")), ("b", old()), ("gone", old())],
    ));
    assert!(
        matches!(word, Some(EnvoyReport::Has(C, all)) if all.len() == 3),
        "it says so"
    );
    session.receive(&has(S, &[("x", desk.version(S, "x")), ("y", old())]));
    assert_eq!(due(&mut session, &desk), ["s y", "c b", "c -gone"]);
    let mut same = Session::default();
    same.receive(&has(
        C,
        &[("a", desk.version(C, "a")), ("b", desk.version(C, "b"))],
    ));
    same.receive(&has(
        S,
        &[("x", desk.version(S, "x")), ("y", desk.version(S, "y"))],
    ));
    assert_eq!(
        due(&mut same, &desk),
        ["c"],
        "an answer, with nothing in it"
    );
}

#[test]
fn whom_a_rejection_is_about() {
    let mut desk = Desk::new();
    desk.put(&[("a", "1"), ("bad", "1"), ("c", "1")], &[], false);
    let mut session = Session::default();
    session.receive(&asks(C, &[]));
    let all = session.due(&desk.snapshot);
    assert_eq!(
        session.receive(&says(&all[0], Some("one of them"))),
        None,
        "not known yet"
    );
    let each = session.due(&desk.snapshot);
    assert_eq!(
        each.iter().map(short).collect::<Vec<_>>(),
        ["c a", "c bad", "c c"]
    );
    let has = |name: &str| {
        let versions = vec![(name.to_owned(), desk.version(C, name))];
        Some(EnvoyReport::Has(C, versions))
    };
    assert_eq!(session.receive(&says(&each[0], None)), has("a"));
    let rejects = EnvoyReport::Rejects(
        (C, "bad".to_owned()),
        desk.version(C, "bad"),
        "a port".to_owned(),
    );
    assert_eq!(
        session.receive(&says(&each[1], Some("a port"))),
        Some(rejects)
    );
    assert_eq!(
        session.receive(&says(&each[1], Some("a port"))),
        None,
        "said twice"
    );
    assert_eq!(due(&mut session, &desk), [""; 0], "it is not sent again");
    assert_eq!(session.receive(&says(&each[2], None)), has("c"), "late");
    desk.put(&[("a", "2"), ("bad", "2"), ("c", "2")], &[], false);
    assert_eq!(
        due(&mut session, &desk),
        ["c a c", "c bad"],
        "another version is, by itself"
    );
}

#[test]
fn a_removal_is_acknowledged() {
    let mut desk = Desk::new();
    desk.put(&[("a", "1"), ("b", "1")], &[], false);
    let mut session = Session::default();
    session.receive(&asks(C, &[]));
    session.due(&desk.snapshot);
    desk.put(&[("a", "1")], &[], false);
    let gone = session.due(&desk.snapshot);
    let word = session.receive(&says(&gone[0], None));
    assert_eq!(word, Some(EnvoyReport::Removed(C, vec!["b".to_owned()])));
}
