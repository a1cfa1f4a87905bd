//! Embeddings: what stands where, and what it means.
//!
//! All of it is input. `total_tokens` repeats `prompt_tokens`; some vendors tell only one of the two. The vectors are
//! numbers, or one string of base64 each: no text of a model.

use super::doubt::Terms;
use super::numbers::{Numbers, Slot, bit};
use super::table::{
    COST, Counted, ERROR, Ends, EventClass, Marker, Merge, Node, NodeMember, Roles, TICKS,
    TextField, WireTable, number, object, root, text,
};
use super::witness::Claims;

const INPUT: Slot = 0;
const TOTAL: Slot = 1;
const OUTPUT: Slot = 2;
const IMAGE: Slot = 3;
const AUDIO: Slot = 4;
/// The input by Responses' name.
const OTHER_INPUT: Slot = 5;

pub(super) static TABLE: WireTable = WireTable {
    document: root(MEMBERS, &ELEMENT),
    event: root(MEMBERS, &ELEMENT),
    names: &[
        "prompt_tokens",
        "total_tokens",
        "completion_tokens",
        "prompt_tokens_details.image_tokens",
        "prompt_tokens_details.audio_tokens",
        "input_tokens",
    ],
    merge: Merge::Replace,
    beside: 0,
    event_of: |_| Some(EventClass::Plain),
    ends: Ends::Event,
    calls: &[],
    reports_calls: true,
    images_made: None,
    roles: Roles {
        input: bit(INPUT) | bit(OTHER_INPUT),
        output: bit(OUTPUT),
        total: Some(TOTAL),
        begins_stream: false,
        unnamed_output: false,
        moves: &[],
        lists: 0,
        scratch: 0,
    },
    terms: Terms {
        input: "prompt_tokens",
        output: "completion_tokens",
        total: "total_tokens",
        cached: "",
        written: "",
        reasoning: "",
    },
    usage,
};

const ELEMENT: Node = object(MEMBERS).marked(Marker::Element);

const MEMBERS: &[NodeMember] = &[
    ("id", text(TextField::Id)),
    ("model", text(TextField::Model)),
    ("usage", object(USAGE).marked(Marker::Usage)),
    ("error", ERROR),
];

const USAGE: &[NodeMember] = &[
    ("prompt_tokens", number(INPUT)),
    ("total_tokens", number(TOTAL)),
    ("completion_tokens", number(OUTPUT)),
    ("input_tokens", number(OTHER_INPUT)),
    (
        "prompt_tokens_details",
        object(&[
            ("image_tokens", number(IMAGE)),
            ("audio_tokens", number(AUDIO)),
        ]),
    ),
    ("cost_in_usd_ticks", number(TICKS)),
    ("cost", number(COST)),
];

fn usage(numbers: &Numbers) -> Counted {
    let told = |slot| numbers.get(slot).filter(|tokens| *tokens > 0);
    let output = numbers.or_zero(OUTPUT);
    let rest = || numbers.get(TOTAL).map(|total| total.saturating_sub(output));
    let input = told(INPUT).or_else(|| told(OTHER_INPUT)).or_else(rest);
    let sides = Claims {
        input,
        output: Some(output),
        total: numbers.get(TOTAL),
        input_media: [AUDIO, IMAGE].map(|slot| numbers.or_zero(slot)),
        ..Claims::default()
    }
    .read();
    Counted {
        usage: numbers
            .any(&[INPUT, OTHER_INPUT, TOTAL])
            .then(|| sides.usage()),
        unnamed: sides.unnamed,
        doubts: sides.doubts,
    }
}

#[cfg(test)]
mod tests {
    use crate::usage::{Kind, Meter, Wire};

    #[test]
    fn what_vendors_report() {
        // (case, the usage object, input, of which images and sound, output, whether numbers contradict each other)
        let cases = [
            (
                "both",
                r#"{"prompt_tokens":8,"total_tokens":8}"#,
                [8, 0, 0],
                0,
                false,
            ),
            (
                "the input alone",
                r#"{"prompt_tokens":8}"#,
                [8, 0, 0],
                0,
                false,
            ),
            (
                "the total alone",
                r#"{"total_tokens":8}"#,
                [8, 0, 0],
                0,
                false,
            ),
            (
                "the input is nought, the total not",
                r#"{"prompt_tokens":0,"total_tokens":8}"#,
                [8, 0, 0],
                0,
                false,
            ),
            (
                "no output, in so many words",
                r#"{"prompt_tokens":8,"completion_tokens":0,"total_tokens":8}"#,
                [8, 0, 0],
                0,
                false,
            ),
            (
                "an output",
                r#"{"prompt_tokens":8,"completion_tokens":2,"total_tokens":10}"#,
                [8, 0, 0],
                2,
                false,
            ),
            (
                "by Responses' name",
                r#"{"input_tokens":8,"total_tokens":8}"#,
                [8, 0, 0],
                0,
                false,
            ),
            (
                "pictures and sound",
                r#"{"prompt_tokens":8,"total_tokens":8,"prompt_tokens_details":{"image_tokens":5,"audio_tokens":1,"text_tokens":2}}"#,
                [2, 5, 1],
                0,
                false,
            ),
            (
                "a greater total",
                r#"{"prompt_tokens":8,"total_tokens":9}"#,
                [8, 0, 0],
                0,
                true,
            ),
        ];
        for (case, usage, [text, image, audio], output, doubted) in cases {
            let answer = format!(
                r#"{{"object":"list","data":[{{"object":"embedding","index":0,"embedding":[0.5,-1]}}],"model":"m","usage":{usage}}}"#
            );
            let mut meter = Meter::new(Wire::Embeddings);
            meter.feed(answer.as_bytes());
            let reading = meter.finish();
            let got = reading.usage.unwrap();
            let of = |kind| got.tokens(kind);
            let input = [of(Kind::Input), of(Kind::InputImage), of(Kind::InputAudio)];
            assert_eq!(input, [text, image, audio], "{case}");
            assert_eq!(got.output_tokens(), output, "{case}");
            assert_eq!(
                reading.doubt.is_some(),
                doubted,
                "{case}: {:?}",
                reading.doubt
            );
            assert!(reading.finished && !reading.one_sided, "{case}");
            assert_eq!(reading.response_model.as_deref(), Some("m"), "{case}");
        }
    }

    #[test]
    fn nothing_is_reported() {
        for answer in [
            r#"{"data":[]}"#,
            r#"{"data":[],"usage":{}}"#,
            r#"{"data":[],"usage":null}"#,
        ] {
            let mut meter = Meter::new(Wire::Embeddings);
            meter.feed(answer.as_bytes());
            assert_eq!(meter.finish().usage, None, "{answer}");
        }
    }
}
