use super::*;
use crate::usage::Wire;
use crate::usage::numbers::Slot;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Numbers by their names on the wire.
fn numbers(wire: Wire, of: &[(&str, u64)]) -> Numbers {
    let mut numbers = Numbers::default();
    for (name, value) in of {
        let names = wire.table().names;
        let slot = names.iter().position(|known| known == name).unwrap();
        numbers.set(slot as Slot, *value);
    }
    numbers
}

fn named(wire: Wire, numbers: &Numbers) -> BTreeMap<&'static str, u64> {
    let names = wire.table().names;
    slots(numbers.present())
        .map(|slot| (names[usize::from(slot)], numbers.or_zero(slot)))
        .collect()
}

type Reports<'a> = &'a [&'a [(&'a str, u64)]];

#[test]
fn a_poorer_report_erases_nothing_and_a_whole_one_corrects() {
    const P: &str = "prompt_tokens";
    const C: &str = "completion_tokens";
    const T: &str = "total_tokens";
    const CACHED: &str = "prompt_tokens_details.cached_tokens";
    const WRITTEN: &str = "prompt_tokens_details.cache_write_tokens";
    const REASONING: &str = "completion_tokens_details.reasoning_tokens";
    const IN: &str = "input_tokens";
    const OUT: &str = "output_tokens";
    const READ: &str = "cache_read_input_tokens";
    const CREATED: &str = "cache_creation_input_tokens";
    const MINUTES: &str = "cache_creation.ephemeral_5m_input_tokens";
    const HOUR: &str = "cache_creation.ephemeral_1h_input_tokens";
    // (case, form, reports, what is known, whether the last one is known as it says)
    type Case<'a> = (&'a str, Wire, Reports<'a>, &'a [(&'a str, u64)], bool);
    let cases: [Case<'_>; 21] = [
        (
            "one",
            Wire::Chat,
            &[&[(P, 3), (C, 1)]],
            &[(P, 3), (C, 1)],
            true,
        ),
        (
            "more",
            Wire::Chat,
            &[&[(P, 3), (C, 1)], &[(P, 3), (C, 2)]],
            &[(P, 3), (C, 2)],
            true,
        ),
        (
            "zeros at the end",
            Wire::Chat,
            &[&[(P, 3), (C, 1), (T, 4)], &[(P, 0), (C, 0), (T, 0)]],
            &[(P, 3), (C, 1), (T, 4)],
            false,
        ),
        (
            "zeros at the start",
            Wire::Chat,
            &[&[(P, 0), (C, 0), (T, 0)], &[(P, 3), (C, 1), (T, 4)]],
            &[(P, 3), (C, 1), (T, 4)],
            true,
        ),
        (
            "a part only",
            Wire::Chat,
            &[&[(P, 3), (C, 1)], &[(P, 2)]],
            &[(P, 3), (C, 1)],
            false,
        ),
        (
            "parts of both",
            Wire::Chat,
            &[&[(P, 3)], &[(C, 1)]],
            &[(P, 3), (C, 1)],
            true,
        ),
        (
            "no details",
            Wire::Chat,
            &[&[(P, 3), (CACHED, 2), (C, 1)], &[(P, 3), (C, 4)]],
            &[(P, 3), (CACHED, 2), (C, 4)],
            true,
        ),
        (
            "zero details",
            Wire::Chat,
            &[
                &[(P, 3), (CACHED, 2), (C, 1)],
                &[(P, 3), (CACHED, 0), (C, 4)],
            ],
            &[(P, 3), (CACHED, 2), (C, 4)],
            false,
        ),
        (
            "details that moved",
            Wire::Chat,
            &[
                &[(P, 3), (CACHED, 0), (WRITTEN, 2), (C, 1)],
                &[(P, 3), (CACHED, 2), (WRITTEN, 0), (C, 1)],
            ],
            &[(P, 3), (CACHED, 2), (WRITTEN, 0), (C, 1)],
            true,
        ),
        (
            "a whole one with less stands alone",
            Wire::Chat,
            &[
                &[(P, 30), (CACHED, 20), (C, 9), (REASONING, 8)],
                &[(P, 3), (C, 1)],
            ],
            &[(P, 3), (C, 1)],
            true,
        ),
        (
            "a total belongs to its report",
            Wire::Chat,
            &[&[(P, 3), (C, 1), (T, 4)], &[(P, 3), (C, 2)]],
            &[(P, 3), (C, 2)],
            false,
        ),
        (
            "and stays with the same sums",
            Wire::Chat,
            &[&[(P, 3), (C, 1), (REASONING, 5), (T, 9)], &[(P, 3), (C, 1)]],
            &[(P, 3), (C, 1), (REASONING, 5), (T, 9)],
            false,
        ),
        (
            "zeros in message_delta",
            Wire::Messages,
            &[
                &[(IN, 1200), (READ, 8000), (CREATED, 500), (OUT, 1)],
                &[(IN, 0), (READ, 0), (CREATED, 0), (OUT, 40)],
            ],
            &[(IN, 1200), (READ, 8000), (CREATED, 500), (OUT, 40)],
            false,
        ),
        (
            "zeros in message_start",
            Wire::Messages,
            &[&[(IN, 0), (OUT, 0)], &[(IN, 14), (OUT, 5)]],
            &[(IN, 14), (OUT, 5)],
            true,
        ),
        (
            "input alone repeated",
            Wire::Messages,
            &[
                &[(IN, 1200), (READ, 8000), (OUT, 1)],
                &[(IN, 1200), (READ, 0), (OUT, 40)],
            ],
            &[(IN, 1200), (READ, 8000), (OUT, 40)],
            false,
        ),
        (
            "input that was not cached after all",
            Wire::Messages,
            &[
                &[(IN, 1200), (READ, 8000), (OUT, 1)],
                &[(IN, 9200), (READ, 0), (OUT, 40)],
            ],
            &[(IN, 9200), (READ, 0), (OUT, 40)],
            true,
        ),
        (
            "cached for an hour, not for five minutes",
            Wire::Messages,
            &[
                &[(IN, 1), (CREATED, 500), (MINUTES, 500), (HOUR, 0), (OUT, 1)],
                &[(IN, 1), (CREATED, 500), (MINUTES, 0), (HOUR, 500), (OUT, 4)],
            ],
            &[(IN, 1), (CREATED, 500), (MINUTES, 0), (HOUR, 500), (OUT, 4)],
            true,
        ),
        (
            "the same as a part",
            Wire::Messages,
            &[
                &[(IN, 1), (CREATED, 500), (MINUTES, 500), (OUT, 1)],
                &[(MINUTES, 0), (HOUR, 500)],
            ],
            &[(IN, 1), (CREATED, 500), (MINUTES, 0), (HOUR, 500), (OUT, 1)],
            true,
        ),
        (
            "a whole one with less input",
            Wire::Messages,
            &[&[(IN, 10), (OUT, 1)], &[(IN, 9), (OUT, 1)]],
            &[(IN, 9), (OUT, 1)],
            true,
        ),
        (
            "output that falls, alone",
            Wire::Messages,
            &[&[(IN, 10), (OUT, 7)], &[(OUT, 5)]],
            &[(IN, 10), (OUT, 7)],
            false,
        ),
        (
            "a snapshot of a prompt alone",
            Wire::Generate,
            &[
                &[
                    ("promptTokenCount", 9),
                    ("thoughtsTokenCount", 4),
                    ("totalTokenCount", 13),
                ],
                &[("promptTokenCount", 9), ("totalTokenCount", 9)],
            ],
            &[
                ("promptTokenCount", 9),
                ("thoughtsTokenCount", 4),
                ("totalTokenCount", 13),
            ],
            false,
        ),
    ];
    for (case, wire, reports, want, as_it_says) in cases {
        let mut known = Numbers::default();
        let mut last = false;
        for report in reports {
            last = merge(&mut known, &numbers(wire, report), wire.table());
        }
        assert_eq!(
            named(wire, &known),
            want.iter().copied().collect(),
            "{case}"
        );
        assert_eq!(last, as_it_says, "{case}");
    }
}

/// Generates reports: the numbers that each has, in the order of a form's names, and by how much less than in the end.
fn reports() -> impl Strategy<Value = Vec<(u64, u64)>> {
    vec((any::<u64>(), 0..3_u64), 1..6)
}

/// Allows the rest of a report to be read with the numbers of an entry in it.
#[test]
fn numbers_of_an_entry_have_no_other_role() {
    for wire in Wire::ALL {
        let WireTable { roles, beside, .. } = wire.table();
        let total = roles.total.map_or(0, bit);
        let moves = roles.moves.iter().fold(0, |all, set| all | set);
        let others = roles.input | roles.output | total | moves | roles.lists | beside;
        assert_eq!(roles.scratch & others, 0, "{wire:?}");
    }
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    /// Reports that each know a part of what the last one says, in any order, are the same as that.
    #[test]
    fn the_order_of_poorer_reports_is_nothing(
        wire in prop::sample::select(Wire::ALL.to_vec()),
        values in vec(1..1_000_u64, 56),
        poorer in reports(),
        place in any::<prop::sample::Index>(),
        whole_first in any::<bool>(),
    ) {
        let table = wire.table();
        let known_slots = (0..table.names.len() as Slot).filter(|slot| {
            !table.names[usize::from(*slot)].is_empty() && table.roles.scratch & bit(*slot) == 0
        });
        let mut best = Numbers::default();
        for (slot, value) in known_slots.zip(&values) {
            best.set(slot, *value);
        }
        let restrict = |(which, zeros): &(u64, u64)| {
            let mut report = Numbers::default();
            for slot in slots(best.present() & which) {
                // Nothing at all, or the very number: less in a whole report would be a correction.
                // A list without an entry is one that has none.
                let zero = *zeros == 0 && table.roles.lists & bit(slot) == 0;
                report.set(slot, if zero { 0 } else { best.or_zero(slot) });
            }
            report
        };
        let mut all: Vec<_> = poorer.iter().map(restrict).collect();
        let at = if whole_first { 0 } else { place.index(all.len() + 1) };
        all.insert(at, best);
        let mut known = Numbers::default();
        for report in &all {
            merge(&mut known, report, table);
        }
        prop_assert_eq!(named(wire, &known), named(wire, &best));
    }
}
