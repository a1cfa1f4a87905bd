use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::json;

use super::super::ejection::Ejection;
use super::super::fixtures::{source, source_of};
use super::*;
use crate::config::policy::Source;

const CONVERSATIONS: u64 = 20_000;

fn accounts(source: &Source) -> &Accounts {
    source.accounts.as_deref().unwrap()
}

/// The whole order of a conversation.
fn order(source: &Source, affinity: u64, states: &States, now_us: u64) -> Vec<String> {
    let accounts = accounts(source);
    let mut asked: Vec<usize> = Vec::new();
    while let Some((next, _)) = first(accounts, affinity, states, None, now_us, &[], |i| {
        !asked.contains(&i)
    }) {
        asked.push(next);
    }
    asked
        .iter()
        .map(|i| accounts.accounts[*i].id.to_string())
        .collect()
}

/// A number that is another for each conversation.
fn affinity(conversation: u64) -> u64 {
    conversation.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[test]
fn logarithms() {
    const ONE: u64 = 1 << FRACTION;
    for (value, want) in [
        (1_u64, 64 * ONE),
        (1 << 32, 32 * ONE),
        (1 << 63, ONE),
        // 2 - log2(3)
        (3 << 62, 1_782_572_483),
        (u64::MAX, 0),
        (0, 64 * ONE),
    ] {
        let got = negative_log2(value);
        assert!(
            got.abs_diff(want) < ONE / 1_000_000,
            "{value}: {got}, not {want}"
        );
    }
}

#[test]
fn shares_are_by_weight() {
    for (case, weights) in [
        ("equal", &[1, 1, 1, 1][..]),
        ("3 to 1", &[3, 1]),
        ("the widest", &[1000, 1]),
        ("mixed", &[1, 2, 3, 4]),
    ] {
        let given: Vec<_> = weights
            .iter()
            .enumerate()
            .map(|(n, weight)| json!({"id": format!("a{n}"), "weight": weight}))
            .collect();
        let source = source_of(&given, json!({}));
        let mut counts = vec![0_u64; weights.len()];
        for conversation in 0..CONVERSATIONS {
            let states = States::default();
            let found = first(
                accounts(&source),
                affinity(conversation),
                &states,
                None,
                0,
                &[],
                |_| true,
            );
            counts[found.unwrap().0] += 1;
        }
        let sum: u64 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(weights) {
            let want = CONVERSATIONS * weight / sum;
            // Four standard deviations of a binomial distribution.
            let slack = 4 * want.max(16).isqrt();
            assert!(
                count.abs_diff(want) <= slack,
                "{case}: {counts:?} for {weights:?}"
            );
        }
    }
}

#[test]
fn priorities_come_before_draws_and_ejected_accounts_last() {
    let given = [
        json!({"id": "a", "priority": 0}),
        json!({"id": "b", "priority": 0}),
        json!({"id": "c", "priority": 3, "weight": 1000}),
    ];
    let source = source_of(&given, json!({}));
    let known = accounts(&source);
    // (case, ejected accounts, which comes last, which may come first)
    for (case, ejected, last, may_be_first) in [
        ("nobody", &[][..], "c", &["a", "b"][..]),
        ("one of the first", &["a"], "a", &["b"]),
        ("all of the first", &["a", "b"], "", &["c"]),
        ("all", &["a", "b", "c"], "c", &["a", "b"]),
    ] {
        let mut states = States::default();
        for (account, marks) in known.accounts.iter().zip(&known.marks) {
            if ejected.contains(&account.id.as_str()) {
                let ejection = Ejection {
                    until_us: 10,
                    ..Ejection::default()
                };
                states.set_ejection(marks, ejection);
            }
        }
        for conversation in 0..50 {
            let order = order(&source, affinity(conversation), &states, 5);
            assert_eq!(order.len(), 3, "{case}: each once: {order:?}");
            assert!(
                may_be_first.contains(&order[0].as_str()),
                "{case}: {order:?}"
            );
            assert!(last.is_empty() || order[2] == last, "{case}: {order:?}");
            let later = self::order(&source, affinity(conversation), &states, 10);
            assert_eq!(later[2], "c", "{case}: over: {later:?}");
        }
    }
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    #[test]
    fn draws_have_one_order(draws in prop::collection::vec((any::<u64>(), 1_u64..4), 3..12)) {
        let draws: Vec<_> = draws.into_iter().map(|(number, weight)| Draw { number, weight }).collect();
        let mut sorted = draws.clone();
        sorted.sort();
        for (place, one) in sorted.iter().enumerate() {
            prop_assert!(sorted[place..].iter().all(|other| one <= other), "{draws:?}");
        }
    }

    /// An account that is ejected, added or removed moves its own conversations and no others, and they come back.
    #[test]
    fn only_its_own_conversations_move(accounts in 2_usize..9, gone in 0_usize..9, seed in any::<u64>()) {
        let gone = gone % accounts;
        let source = source(accounts);
        let known = self::accounts(&source);
        let mut states = States::default();
        states.set_ejection(&known.marks[gone], Ejection { until_us: 10, ..Ejection::default() });
        let mut moved: HashMap<usize, u32> = HashMap::new();
        for conversation in 0..300 {
            let affinity = affinity(conversation) ^ seed;
            let (home, _) = first(known, affinity, &States::default(), None, 0, &[], |_| true).unwrap();
            let (meanwhile, ejected) = first(known, affinity, &states, None, 5, &[], |_| true).unwrap();
            let (without, _) = first(known, affinity, &States::default(), None, 0, &[], |i| i != gone).unwrap();
            let (back, _) = first(known, affinity, &states, None, 10, &[], |_| true).unwrap();
            prop_assert!(!ejected);
            prop_assert_eq!(meanwhile, without);
            prop_assert_eq!(back, home);
            if home == gone {
                *moved.entry(meanwhile).or_default() += 1;
            } else {
                prop_assert_eq!(meanwhile, home);
            }
        }
        prop_assert!(!moved.contains_key(&gone));
        prop_assert!(!(3..=5).contains(&accounts) || moved.len() == accounts - 1, "{moved:?}");
    }
}

#[test]
fn the_least_busy_comes_first_where_load_counts() {
    let of = |id: &str, weight: u32, priority: u32| json!({"id": id, "weight": weight, "priority": priority});
    // (case, weights and priorities, requests under way, the account that is set aside, the account that comes first)
    type Case<'a> = (&'a str, &'a [(u32, u32)], &'a [u32], Option<usize>, usize);
    let cases: &[Case<'_>] = &[
        (
            "one is idle",
            &[(1, 0), (1, 0), (1, 0)],
            &[3, 0, 2],
            None,
            1,
        ),
        ("by weight", &[(1, 0), (4, 0)], &[1, 3], None, 1),
        (
            "a smaller priority all the same",
            &[(1, 0), (1, 1)],
            &[9, 0],
            None,
            0,
        ),
        (
            "not one that is set aside",
            &[(1, 0), (1, 0)],
            &[0, 9],
            Some(0),
            1,
        ),
    ];
    for (case, accounts, under_way, aside, want) in cases {
        let written = accounts.iter().enumerate();
        let written: Vec<_> = written
            .map(|(n, (weight, priority))| of(&format!("a{n}"), *weight, *priority))
            .collect();
        let source = source_of(&written, json!({}));
        let accounts = source.accounts.as_deref().unwrap();
        let mut states = States::default();
        if let Some(aside) = aside {
            let ejection = Ejection {
                until_us: 9,
                ..Ejection::default()
            };
            states.set_ejection(&accounts.marks[*aside], ejection);
        }
        for affinity in 0..50 {
            let found = first(accounts, affinity, &states, None, 5, under_way, |_| true);
            assert_eq!(
                found.map(|(index, _)| index),
                Some(*want),
                "{case}, conversation {affinity}"
            );
        }
    }
}
