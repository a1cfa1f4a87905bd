//! Rejections on the head, where a world is to be seen from within; all others are cases of `tests/golden`.

use super::*;
use crate::keys::codec::encode_fed;
use crate::keys::{Coverage, FeedStatus, KeyTerms};

#[test]
fn without_a_policy_a_key_is_never_refused_as_wrong() {
    let (in_force, mut world) = setting();
    let ask = |in_force: Option<&InForce>, world: &FakeWorld, headers: &[&str]| {
        let head = head("POST /v1/responses", headers);
        let outcome = Exchange::default().on_request_head(&head, false, in_force, world);
        reply_of(&outcome).map(|(status, _, _)| status)
    };
    let key = &["authorization: Bearer k-a"];
    assert_eq!(ask(None, &world, key), Some(503), "no policy");
    assert_eq!(
        ask(None, &world, &[]),
        Some(401),
        "no policy, and no key either"
    );
    let records = [
        ("of another release", vec![9, 9, 9], Some(503)),
        (
            "its group is not in force yet",
            fed(3, Some("later")),
            Some(503),
        ),
        ("of an earlier sync", fed(2, Some("a")), Some(401)),
        ("removed", fed(3, None), Some(401)),
        ("valid", fed(3, Some("a")), None),
    ];
    let in_force = with_feed(in_force);
    for (case, record, want) in records {
        world.records.insert(KeyDigest::of(b"k-fed"), record);
        let got = ask(Some(&in_force), &world, &["authorization: Bearer k-fed"]);
        assert_eq!(got, want, "{case}");
    }
}

/// A policy that names a feed, all of which is read.
fn with_feed(in_force: InForce) -> InForce {
    let feed = FeedStatus {
        watermark: 3,
        coverage: Coverage::Whole,
    };
    InForce {
        feed: Some(feed),
        ..in_force
    }
}

/// A record of the feed of a key in this group, or a tombstone.
fn fed(epoch: u64, group: Option<&str>) -> Vec<u8> {
    let terms = group.map(|group| KeyTerms {
        id: "fed",
        group,
        ..KeyTerms::default()
    });
    let mut bytes = Vec::new();
    encode_fed(epoch, 1, terms.as_ref(), &mut bytes);
    bytes
}

/// A feed may name a group of the next document before that is in force here.
#[test]
fn a_publication_after_the_policy_was_read_loses_no_request() {
    let (newer, mut world) = setting();
    let mut older = with_feed(setting().0);
    let text = document()
        .to_string()
        .replace(r#""id":"a","#, r#""id":"a-before","#);
    let text = text.replace(r#""source":"a""#, r#""source":"a-before""#);
    let text = text.replace(r#""group":"a","#, r#""group":"a-before","#);
    let renamed = Document::parse(text.as_bytes()).unwrap();
    older.policy = crate::config::compile::compile_policy(&renamed).unwrap().0;
    assert!(older.policy.group("a").is_none());
    let digest = KeyDigest::of(b"k-fed");
    world.records.insert(digest, fed(3, Some("a")));
    let head = head("POST /v1/responses", &["authorization: Bearer k-fed"]);
    let ask = |world: &FakeWorld| {
        let outcome = Exchange::default().on_request_head(&head, false, Some(&older), world);
        reply_of(&outcome).map(|(status, ..)| status)
    };
    assert_eq!(ask(&world), Some(503), "nothing newer is published");
    world.newer = Some(Rc::new(newer));
    assert_eq!(ask(&world), None, "the newer policy knows the group");
}

#[test]
fn the_clock_is_asked_only_where_a_key_expires() {
    let (in_force, world) = setting();
    for (key, reads) in [("k-a", 0), ("k-new", 1)] {
        world.clock_reads.set(0);
        let bearer = format!("authorization: Bearer {key}");
        let head = head("POST /v1/responses", &[&bearer]);
        let outcome = Exchange::default().on_request_head(&head, false, Some(&in_force), &world);
        assert_eq!(outcome, Outcome::Pause, "{key}");
        assert_eq!(world.clock_reads.get(), reads, "{key}");
    }
}
