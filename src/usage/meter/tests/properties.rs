//! Generated streams: whatever stands around them, and however they are spelled and cut, the numbers
//! that a stream issues are the numbers that come out.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// The numbers of one answer, disjoint.
#[derive(Debug, Clone, Copy)]
struct Issued {
    input: u64,
    read: u64,
    minutes: u64,
    hour: u64,
    tool: u64,
    output: u64,
    reasoning: u64,
}

impl Issued {
    /// Returns the numbers as this form tells them apart.
    fn expected(self, wire: Wire) -> Vec<(Kind, u64)> {
        let list = match wire {
            Wire::Chat | Wire::Responses => [
                (Input, self.input),
                (CacheRead, self.read),
                (CacheWrite5m, self.minutes),
                (Output, self.output),
                (Reasoning, self.reasoning),
            ],
            Wire::Images => [
                (Input, self.input),
                (InputImage, self.read),
                (OutputImage, self.output),
                (ToolUse, 0),
                (Reasoning, 0),
            ],
            Wire::Messages => [
                (Input, self.input),
                (CacheRead, self.read),
                (CacheWrite5m, self.minutes),
                (CacheWrite1h, self.hour),
                (Output, self.output + self.reasoning),
            ],
            Wire::Generate => [
                (Input, self.input),
                (CacheRead, self.read),
                (ToolUse, self.tool),
                (Output, self.output),
                (Reasoning, self.reasoning),
            ],
            Wire::CachedContent | Wire::Embeddings | Wire::Compaction => {
                panic!("answers no prompt")
            }
        };
        let list = list.into_iter();
        list.filter(|(_, tokens)| *tokens > 0).collect()
    }

    /// Writes the numbers as members of a usage object.
    fn members(self, wire: Wire) -> Vec<String> {
        let Self {
            input,
            read,
            minutes,
            hour,
            tool,
            output,
            reasoning,
        } = self;
        match wire {
            Wire::Chat | Wire::Responses => {
                let (prompt, completion) = match wire {
                    Wire::Chat => ("prompt", "completion"),
                    _ => ("input", "output"),
                };
                let (all, made) = (input + read + minutes, output + reasoning);
                vec![
                    format!("\"{prompt}_tokens\":{all}"),
                    format!("\"{completion}_tokens\":{made}"),
                    format!("\"total_tokens\":{}", all + made),
                    format!(
                        "\"{prompt}_tokens_details\":{{\"cached_tokens\":{read},\"cache_write_tokens\":{minutes}}}"
                    ),
                    format!("\"{completion}_tokens_details\":{{\"reasoning_tokens\":{reasoning}}}"),
                ]
            }
            Wire::Images => vec![
                format!("\"input_tokens\":{}", input + read),
                format!(
                    "\"input_tokens_details\":{{\"text_tokens\":{input},\"image_tokens\":{read}}}"
                ),
                format!("\"output_tokens\":{output}"),
            ],
            Wire::Messages => vec![
                format!("\"input_tokens\":{input}"),
                format!("\"cache_read_input_tokens\":{read}"),
                format!("\"cache_creation_input_tokens\":{}", minutes + hour),
                format!(
                    "\"cache_creation\":{{\"ephemeral_5m_input_tokens\":{minutes},\"ephemeral_1h_input_tokens\":{hour}}}"
                ),
                format!("\"output_tokens\":{}", output + reasoning),
            ],
            Wire::Generate => vec![
                format!("\"promptTokenCount\":{}", input + read),
                format!("\"cachedContentTokenCount\":{read}"),
                format!("\"toolUsePromptTokenCount\":{tool}"),
                format!("\"candidatesTokenCount\":{output}"),
                format!("\"thoughtsTokenCount\":{reasoning}"),
            ],
            Wire::CachedContent | Wire::Embeddings | Wire::Compaction => {
                panic!("answers no prompt")
            }
        }
    }
}

impl Issued {
    /// Adds the numbers of `more`.
    fn and(self, more: Self) -> Self {
        Self {
            input: self.input + more.input,
            read: self.read + more.read,
            minutes: self.minutes + more.minutes,
            hour: self.hour + more.hour,
            tool: self.tool + more.tool,
            output: self.output + more.output,
            reasoning: self.reasoning + more.reasoning,
        }
    }
}

fn issued() -> impl Strategy<Value = Issued> {
    let count = prop_oneof![Just(0), 1..100u64, 0..1u64 << 27];
    vec(count, 7).prop_map(|counts| Issued {
        input: counts[0],
        read: counts[1],
        minutes: counts[2],
        hour: counts[3],
        tool: counts[4],
        output: counts[5],
        reasoning: counts[6],
    })
}

/// Members that say nothing about usage, though they look like it.
const DECOYS: [&str; 10] = [
    r#""text":"\"usage\":{\"prompt_tokens\":9}""#,
    r#""text":"}],\"usageMetadata\":{\"promptTokenCount\":9}\\""#,
    r#""x":{"usage":{"input_tokens":9},"usageMetadata":{"promptTokenCount":9}}"#,
    r#""x":["usage",{"output_tokens":9},[[{"usage":{"prompt_tokens":9}}]]]"#,
    r#""message":{"usage":{"input_tokens":9}}"#,
    r#""Usage":{"prompt_tokens":9}"#,
    r#""usage":{"prompt_tokens":9}"#,
    r#""n":-1.5e+3"#,
    r#""b":[true,false,null,"é😀\u00e9\ud83d\ude00"]"#,
    r#""":"""#,
];

/// Writes JSON and events in the many ways they can be written: `choices` decides, over and over.
struct EventWriter<'a> {
    choices: core::iter::Cycle<core::slice::Iter<'a, u8>>,
}

impl EventWriter<'_> {
    fn choose<T: Copy>(&mut self, among: &[T]) -> T {
        among[usize::from(*self.choices.next().unwrap()) % among.len()]
    }

    fn place(&mut self, places: usize) -> usize {
        usize::from(*self.choices.next().unwrap()) % places
    }

    /// An object with its members in any order, decoys among them, and spaces around.
    fn object(&mut self, mut members: Vec<String>) -> String {
        for index in 0..self.place(4) {
            // No key of a decoy is one of a table, and none comes twice: each gets a number.
            let decoy = self.choose(&DECOYS);
            members.push(decoy.replacen('"', &format!("\"{index}"), 1));
        }
        for last in (1..members.len()).rev() {
            let other = self.place(last + 1);
            members.swap(last, other);
        }
        let space = self.choose(&["", "", " ", "\t "]);
        let members = members.join(&format!("{space},{space}"));
        format!("{{{space}{members}{space}}}")
    }

    /// The same JSON with a character of some keys escaped.
    fn escape(&mut self, json: &str) -> String {
        let mut json = json.to_owned();
        for (key, escaped) in [
            ("\"usage\"", "\"u\\u0073age\""),
            ("_tokens\"", "\\u005ftokens\""),
            ("TokenCount\"", "TokenC\\u006Funt\""),
        ] {
            if self.place(3) == 0 {
                json = json.replace(key, escaped);
            }
        }
        json
    }

    fn event(&mut self, json: &str) -> String {
        let end = self.choose(&["\n", "\r\n", "\r"]);
        let data = self.choose(&["data: ", "data:"]);
        let noise = self.choose(&["", ": ping", "event: x", "id", "retry: 1"]);
        let noise = if noise.is_empty() {
            String::new()
        } else {
            format!("{noise}{end}")
        };
        // Between two members a line of data may end.
        let json = match json.split_once(",\"usage\"") {
            Some((head, tail)) if self.place(2) == 0 => {
                format!("{head},{end}{data}\"usage\"{tail}")
            }
            _ => json.to_owned(),
        };
        format!("{noise}{data}{json}{end}{end}")
    }
}

/// A stream that issues `first` and then, for good, `last`.
fn stream(wire: Wire, first: Issued, last: Issued, choices: &[u8]) -> String {
    let mut writer = EventWriter {
        choices: choices.iter().cycle(),
    };
    let mut out = String::new();
    for (issued, is_last) in [(first, false), (last, true)] {
        let usage = writer.object(issued.members(wire));
        let beside = format!("\"usage\":{usage}");
        let within = |name: &str| format!("\"{name}\":{{\"usage\":{usage}}}");
        let members = match (wire, is_last) {
            (Wire::Chat, _) => vec![beside],
            (Wire::Responses, false) => {
                vec![
                    "\"type\":\"response.in_progress\"".into(),
                    within("response"),
                ]
            }
            (Wire::Responses, true) => {
                vec!["\"type\":\"response.completed\"".into(), within("response")]
            }
            (Wire::Images, false) => {
                vec!["\"type\":\"image_edit.partial_image\"".into(), beside]
            }
            (Wire::Images, true) => vec!["\"type\":\"image_edit.completed\"".into(), beside],
            (Wire::Messages, false) => {
                vec!["\"type\":\"message_start\"".into(), within("message")]
            }
            (Wire::Messages, true) => vec!["\"type\":\"message_delta\"".into(), beside],
            (Wire::Generate, _) => {
                let reason = if is_last { "\"STOP\"" } else { "null" };
                vec![
                    format!("\"candidates\":[{{\"finishReason\":{reason}}}]"),
                    format!("\"usageMetadata\":{usage}"),
                ]
            }
            (Wire::CachedContent | Wire::Embeddings | Wire::Compaction, _) => {
                panic!("answers no prompt")
            }
        };
        let json = writer.object(members);
        let json = writer.escape(&json);
        out += &writer.event(&json);
        let delta = writer.object(vec!["\"type\":\"x.delta\"".to_owned()]);
        out += &writer.event(&delta);
    }
    match wire {
        Wire::Chat => out += &writer.event("[DONE]"),
        Wire::Messages => out += &writer.event("{\"type\":\"message_stop\"}"),
        _ => {}
    }
    out
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    #[test]
    fn what_is_issued_is_read(
        wire in prop::sample::select(Wire::ALL.to_vec()),
        first in issued(),
        more in issued(),
        choices in vec(any::<u8>(), 1..60),
        cuts in vec(1..200usize, 1..20),
    ) {
        let last = first.and(more);
        let answer = stream(wire, first, last, &choices);
        let mut chunks = Vec::new();
        let mut rest = answer.as_bytes();
        for cut in cuts.iter().cycle() {
            let (chunk, tail) = rest.split_at((*cut).min(rest.len()));
            chunks.push(chunk);
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        let got = read(wire, chunks);
        let mut want = last.expected(wire);
        want.sort_unstable();
        prop_assert_eq!(tokens(&got), Some(want), "{}", answer);
        prop_assert!(got.finished, "{}", answer);
        let usage = got.usage.unwrap();
        let total = got.reported.iter().find(|(name, _)| *name == "total_tokens");
        if let Some((_, total)) = total {
            prop_assert_eq!(usage.input_tokens() + usage.output_tokens(), *total);
        }
    }

    #[test]
    fn any_bytes_are_read_somehow(
        wire in prop::sample::select(Wire::ALL.to_vec()),
        bytes in vec(any::<u8>(), 0..300),
        size in 1..40usize,
    ) {
        prop_assert_eq!(read(wire, bytes.chunks(size)), read(wire, [&bytes[..]]));
    }
}
