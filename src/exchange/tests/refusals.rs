//! Rejections on the head, where a world is to be seen from within; all others are cases of `tests/golden`.

use super::*;

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
    let name = KeyDigest::of(b"k-a").shared_name();
    let good = world.records[&name].clone();
    let decoded = StoredRecord::decode(Namespace::Document, &good);
    let good_key = decoded.unwrap().unwrap().key.unwrap();
    let stale = StoredRecord::plain(2, good_key.clone());
    let moved = KeyRecord {
        group: "elsewhere".into(),
        ..good_key
    };
    let records = [
        ("written by another release", vec![9, 9, 9], Some(503)),
        (
            "its group is not in force yet",
            StoredRecord::plain(3, moved).encode_named(),
            Some(503),
        ),
        (
            "left behind by an earlier loader",
            stale.encode_named(),
            Some(401),
        ),
        ("removed", vec![], Some(401)),
        ("good", good, None),
    ];
    for (case, record, want) in records {
        world.records.insert(name.clone(), record);
        assert_eq!(ask(Some(&in_force), &world, key), want, "{case}");
    }
}

#[test]
fn a_publication_between_policy_and_record_loses_no_request() {
    let (newer, mut world) = setting();
    let (mut older, _) = setting();
    // The older policy does not know the group that the key's record names by now.
    let text = document()
        .to_string()
        .replace(r#""id":"a","#, r#""id":"a-before","#);
    let text = text.replace(r#""source":"a""#, r#""source":"a-before""#);
    let text = text.replace(r#""group":"a","#, r#""group":"a-before","#);
    let renamed = Document::parse(text.as_bytes()).unwrap();
    older.policy = crate::config::compile::compile_policy(&renamed).unwrap().0;
    assert!(older.policy.group("a").is_none());
    let head = head("POST /v1/responses", &["authorization: Bearer k-a"]);
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
