use super::*;
use proptest::prelude::*;

fn claims(input: u64, output: u64, total: u64) -> Claims {
    Claims {
        input: Some(input),
        output: Some(output),
        total: Some(total),
        ..Claims::default()
    }
}

#[test]
fn the_total_tells_which_reading_holds() {
    let thinking = |completion, total, reasoning| Claims {
        reasoning,
        ..claims(100, completion, total)
    };
    let cached = |prompt, total, cached| Claims {
        cached,
        ..claims(prompt, 373, total)
    };
    // (case, what is said, [input, cached, written, output, reasoning], tokens in no part, doubts)
    type Case<'a> = (&'a str, Claims, [u64; 5], u64, &'a [Doubt]);
    let cases: [Case<'_>; 17] = [
        (
            "reasoning within",
            thinking(320, 420, 300),
            [100, 0, 0, 20, 300],
            0,
            &[],
        ),
        (
            "reasoning beside",
            thinking(20, 420, 300),
            [100, 0, 0, 20, 300],
            0,
            &[],
        ),
        (
            "reasoning alone",
            thinking(0, 400, 300),
            [100, 0, 0, 0, 300],
            0,
            &[],
        ),
        (
            "reasoning beside, though it would fit",
            thinking(300, 600, 200),
            [100, 0, 0, 300, 200],
            0,
            &[],
        ),
        (
            "more than either",
            thinking(300, 620, 200),
            [100, 0, 0, 100, 200],
            220,
            &[Doubt::TotalMore],
        ),
        (
            "more than its whole, with room for both",
            thinking(20, 430, 300),
            [100, 0, 0, 20, 300],
            10,
            &[Doubt::TotalMore],
        ),
        (
            "more than its whole, without",
            thinking(20, 120, 300),
            [100, 0, 0, 0, 20],
            0,
            &[Doubt::Reasoning],
        ),
        (
            "less than any",
            thinking(320, 400, 300),
            [100, 0, 0, 20, 300],
            0,
            &[Doubt::TotalLess],
        ),
        (
            "no total",
            Claims {
                total: None,
                ..thinking(20, 0, 300)
            },
            [100, 0, 0, 0, 20],
            0,
            &[Doubt::Reasoning],
        ),
        (
            "a total of zero is none",
            thinking(20, 0, 10),
            [100, 0, 0, 10, 10],
            0,
            &[],
        ),
        (
            "cached beside",
            cached(479, 14164, 13312),
            [479, 13312, 0, 373, 0],
            0,
            &[],
        ),
        (
            "cached within",
            cached(13791, 14164, 13312),
            [479, 13312, 0, 373, 0],
            0,
            &[],
        ),
        (
            "cached more than its whole",
            Claims {
                total: None,
                ..cached(479, 0, 13312)
            },
            [0, 479, 0, 373, 0],
            0,
            &[Doubt::Cache],
        ),
        (
            "both beside",
            Claims {
                cached: 40,
                reasoning: 300,
                ..claims(60, 20, 420)
            },
            [60, 40, 0, 20, 300],
            0,
            &[],
        ),
        (
            "what was written beside, what was read within",
            Claims {
                cached: 40,
                written: [7, 0],
                ..claims(60, 20, 87)
            },
            [20, 40, 7, 20, 0],
            0,
            &[],
        ),
        (
            "all within, and more than the whole",
            Claims {
                cached: 40,
                written: [0, 30],
                ..claims(60, 20, 80)
            },
            [0, 40, 20, 20, 0],
            0,
            &[Doubt::Cache],
        ),
        (
            "no input at all",
            Claims {
                input: None,
                cached: 5,
                ..claims(0, 20, 25)
            },
            [0, 5, 0, 20, 0],
            0,
            &[],
        ),
    ];
    for (case, claims, want, unnamed, doubts) in cases {
        let sides = claims.read();
        let [minutes, hour] = sides.written;
        let got = [
            sides.input,
            sides.cached,
            minutes + hour,
            sides.output,
            sides.reasoning,
        ];
        assert_eq!(got, want, "{case}");
        assert_eq!(sides.unnamed, unnamed, "{case}");
        let mut told = Doubts::default();
        doubts.iter().for_each(|doubt| told.add(*doubt));
        assert_eq!(sides.doubts, told, "{case}");
    }
}

#[test]
fn audio_and_images_are_held_against_their_whole() {
    let media = |input_media, output_media| Claims {
        input_media,
        output_media,
        cached: 80,
        reasoning: 10,
        ..claims(100, 50, 150)
    };
    // (case, input, output, doubts)
    type Case<'a> = (&'a str, [u64; 2], [u64; 2], &'a [Doubt]);
    let cases: [Case<'_>; 5] = [
        ("none", [0, 0], [0, 0], &[]),
        ("among what was cached", [50, 50], [0, 40], &[]),
        (
            "more than all input",
            [60, 50],
            [0, 0],
            &[Doubt::InputMedia],
        ),
        (
            "with the reasoning more than all output",
            [0, 0],
            [41, 0],
            &[Doubt::OutputMedia],
        ),
        (
            "beyond all measure",
            [u64::MAX, 1],
            [u64::MAX, 1],
            &[Doubt::InputMedia, Doubt::OutputMedia],
        ),
    ];
    for (case, input, output, doubts) in cases {
        let sides = media(input, output).read();
        let mut told = Doubts::default();
        doubts.iter().for_each(|doubt| told.add(*doubt));
        assert_eq!(sides.doubts, told, "{case}");
        let usage = sides.usage();
        assert_eq!(
            (usage.input_tokens(), usage.output_tokens()),
            (100, 50),
            "{case}"
        );
    }
}

const PARTS: u8 = CACHED | WRITTEN | TOOL_USE | REASONING;

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..50_u64, 1..1_u64 << 40]
}

prop_compose! {
    fn any_claims()(
        numbers in prop::array::uniform7(count()),
        given in prop::array::uniform3(any::<bool>()),
        beside in 0..=PARTS,
    ) -> Claims {
        let [input, output, total, cached, written, tool_use, reasoning] = numbers;
        Claims {
            input: given[0].then_some(input),
            output: given[1].then_some(output),
            total: given[2].then_some(total),
            cached,
            written: [written / 3, written - written / 3],
            tool_use,
            reasoning,
            beside,
            ..Claims::default()
        }
    }
}

/// A charge: each kind at a price, of which no part of a whole is free.
fn charge(sides: &Sides) -> u128 {
    let [minutes, hour] = sides.written;
    [
        (sides.input, 10),
        (sides.cached, 1),
        (minutes, 12),
        (hour, 20),
        (sides.tool_use, 10),
        (sides.output, 50),
        (sides.reasoning, 50),
    ]
    .into_iter()
    .map(|(tokens, price)| u128::from(tokens) * price)
    .sum()
}

fn all(sides: &Sides) -> u64 {
    let usage = sides.usage();
    usage.input_tokens() + usage.output_tokens()
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    /// Numbers that were written by any convention, with their total, are read so that they add up, and nothing is in doubt.
    #[test]
    fn a_reading_that_adds_up_is_found(
        parts in prop::array::uniform6(count()),
        convention in 0..=PARTS,
        expected in 0..=PARTS,
    ) {
        let [input, cached, written, tool_use, output, reasoning] = parts;
        let within = |part: u8, tokens: u64| if convention & part == 0 { tokens } else { 0 };
        let said = Claims {
            input: Some(input + within(CACHED, cached) + within(WRITTEN, written) + within(TOOL_USE, tool_use)),
            output: Some(output + within(REASONING, reasoning)),
            total: Some(parts.iter().sum()),
            cached,
            written: [written, 0],
            tool_use,
            reasoning,
            beside: expected,
            ..Claims::default()
        };
        let sides = said.read();
        prop_assert_eq!(sides.doubts, Doubts::default());
        prop_assert_eq!(Some(all(&sides)), said.total.filter(|total| *total > 0).or(Some(0)));
        prop_assert_eq!(sides.unnamed, 0);
        prop_assert_eq!([sides.cached, sides.reasoning, sides.tool_use, sides.written[0]], [cached, reasoning, tool_use, written]);
    }

    /// No number is cut, and no sum is other than the total, without a word.
    #[test]
    fn nothing_is_cut_without_a_word(said in any_claims()) {
        let sides = said.read();
        let [minutes, hour] = sides.written;
        let kept = [sides.cached, minutes + hour, sides.tool_use, sides.reasoning];
        let given = [said.cached, said.written[0] + said.written[1], said.tool_use, said.reasoning];
        if kept != given || said.total.is_some_and(|total| total > 0 && total != all(&sides)) {
            prop_assert_ne!(sides.doubts, Doubts::default());
        }
    }

    /// More of a number is never charged less where the vendor counts by one convention: with its total, or without one.
    #[test]
    fn the_charge_does_not_fall(
        said in any_claims(),
        more_input in count(),
        more_output in count(),
    ) {
        let said = Claims { total: None, ..said };
        let grown = Claims {
            input: said.input.map(|it| it + more_input),
            output: said.output.map(|it| it + more_output),
            ..said
        };
        prop_assert!(charge(&grown.read()) >= charge(&said.read()), "without a total");
        for convention in 0..=PARTS {
            let total = |of: &Claims| Claims { total: Some(of.sum(convention)), ..*of };
            let (before, after) = (total(&said), total(&grown));
            // By its own convention the numbers make sense, and the convention is the one that is expected.
            let sound = Claims { beside: convention, ..before };
            if sound.fits(convention) {
                let after = Claims { beside: convention, ..after };
                prop_assert!(charge(&after.read()) >= charge(&sound.read()), "{convention}");
            }
        }
    }

    /// A side that nobody reports is the rest of the total, and a greater total is charged no less.
    #[test]
    fn a_side_that_nobody_reports(
        told in count(),
        part in count(),
        rest in 1..1_u64 << 40,
        more in count(),
        of_output in any::<bool>(),
    ) {
        // Parts of the side that is told, and of the other one, are no more than these.
        let [own, other] = [part.min(told), part.min(rest)];
        let said = |total: u64| Claims {
            input: (!of_output).then_some(told),
            output: of_output.then_some(told),
            total: Some(total),
            cached: if of_output { other } else { own },
            reasoning: if of_output { own } else { other },
            ..Claims::default()
        };
        let total = told + rest;
        let sides = said(total).read();
        prop_assert_eq!(sides.doubts, Doubts::default());
        prop_assert_eq!(all(&sides), total);
        prop_assert!(charge(&said(total + more).read()) >= charge(&sides));
    }

    /// A part that cannot stand within its whole is charged no less for a greater total.
    #[test]
    fn a_greater_total_is_charged_no_less(
        output in 0..1_000_u64,
        beyond in 1..1_000_u64,
        total in 0..5_000_u64,
        more in 0..5_000_u64,
    ) {
        let said = Claims { reasoning: output + beyond, ..claims(100, output, total) };
        let grown = Claims { total: Some(total + more), ..said };
        prop_assert!(charge(&grown.read()) >= charge(&said.read()));
    }
}
