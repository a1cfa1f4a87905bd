use super::*;
use crate::shared_data::fake::FakeSharedData;

const S: u64 = 1_000_000;

/// A conversation of the first bucket.
fn conversation(number: u64) -> u64 {
    number * BUCKETS
}

fn moved(conversation: u64, to: Option<u64>) -> Move {
    let life_us = 300 * S;
    Move {
        conversation,
        to,
        life_us,
    }
}

#[test]
fn conversations_are_found_where_they_were_noted_last() {
    // (case, changes in their order, where the conversation is)
    type Case<'a> = (&'a str, &'a [(u64, Option<u64>)], Option<u64>);
    let cases: &[Case<'_>] = &[
        ("nothing", &[], None),
        ("moved", &[(7, Some(1))], Some(1)),
        ("moved on", &[(7, Some(1)), (7, Some(2))], Some(2)),
        ("back at home", &[(7, Some(1)), (7, None)], None),
        ("at home", &[(7, None)], None),
        ("another conversation", &[(7 + BUCKETS, Some(1))], None),
        (
            "beside another",
            &[(7, Some(1)), (7 + BUCKETS, Some(2))],
            Some(1),
        ),
        (
            "another is back",
            &[(7, Some(1)), (7 + BUCKETS, None)],
            Some(1),
        ),
    ];
    for (case, changes, want) in cases {
        let shared = FakeSharedData::default();
        for (conversation, to) in *changes {
            note(moved(*conversation, *to), "s", 5 * S, &shared);
        }
        let found = find(7, &shared);
        assert_eq!(found.map(|found| found.account), *want, "{case}");
        assert!(found.is_none_or(|found| found.used_us == 5 * S), "{case}");
        let has_moved = changes.iter().any(|(_, to)| to.is_some());
        let states = states::read("s", &shared);
        assert_eq!(
            states.may_have_moved(300 * S),
            has_moved,
            "{case}: is known of the source"
        );
        assert!(!states.may_have_moved(307 * S), "{case}: and for no longer");
        assert!(
            !states::read("t", &shared).may_have_moved(5 * S),
            "{case}: of no other"
        );
    }
}

#[test]
fn of_too_many_the_longest_unused_goes() {
    let shared = FakeSharedData::default();
    let most = IN_BUCKET as u64;
    for number in 0..most {
        note(
            moved(conversation(number), Some(number)),
            "s",
            number * S,
            &shared,
        );
    }
    note(moved(conversation(0), Some(0)), "s", most * S, &shared);
    note(
        moved(conversation(most), Some(9)),
        "s",
        (most + 1) * S,
        &shared,
    );
    let found = |number| find(conversation(number), &shared).is_some();
    assert!(found(0), "used again");
    assert!(!found(1), "the longest unused");
    assert!((2..=most).all(found), "all others");
    assert!(shared.get(&name(0)).0.unwrap().len() <= IN_BUCKET * ENTRY);
}

/// Nobody is led anywhere by a part of an entry.
#[test]
fn torn_values_say_nothing() {
    let shared = FakeSharedData::default();
    note(moved(7, Some(1)), "s", S, &shared);
    let whole = shared.get(&name(7)).0.unwrap();
    for cut in 0..whole.len() {
        shared.set(&name(7), &whole[..cut], None).unwrap();
        assert_eq!(find(7, &shared), None, "cut at {cut}");
    }
}
