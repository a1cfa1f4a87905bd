//! Files of cases: exchanges as the proxy's callbacks bring them, with what is expected of each behind it, indented.
//!
//! ```text
//! # name of a case
//! POST /v1/responses              the request's head: one line, and its headers
//! authorization: Bearer trilane-demo-a
//! body {"model":"gpt-5.1"}        a piece of the body; `bytes` has escapes, `empty` is none. The last one ends the request
//! trailers                        the request ends with trailers
//! wait 1500                       milliseconds pass
//! from 192.0.2.7:4711             requests come from this address from now on
//! publish changed.json            another document comes
//! answer 200 via_upstream         the response's head: status, Envoy's details of it, and its headers
//! data {"id":"x"}                 a piece of a response: an event; `event NAME DATA` has a name, `body` and `bytes` are as above
//! report 429                      Envoy logs that the attempt failed: status or `-`, flags, and why there was no connection
//! attempt                         the next attempt comes to the filter of attempts, by way of the account hop
//! attempted 200                   its response does: status, and the hop's report
//! leave                           the client goes; `over DETAILS`: the stream ends, with these details of Envoy
//! ```
//!
//! What ends by itself need not say so, and a whole body has its length. A forwarded request without an `answer` gets one of `{}`.
//! Behind `each NAME` stand values, each behind `- `: the case runs with each of them in the place of the name, and says in a line
//! what came of it. `document` names the document, for the case or for all that follow; its feed has what stands in `feeds` under the same name. `hold` leaves a request as it is, until
//! `resume`. `counters` shows the counters. `«x×100»` in a piece is so many `x`, and `«words 100-200»` some of a long text.

use std::borrow::Cow;

/// One step of a case: its lines without what is expected of it.
#[derive(Debug, Clone)]
pub struct Step {
    pub lines: Vec<String>,
}

impl Step {
    /// The first word, and the rest of the first line.
    pub fn words(&self) -> (&str, &str) {
        self.lines[0]
            .split_once(' ')
            .unwrap_or((&self.lines[0], ""))
    }

    /// Headers behind the first line.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let pairs = self.lines.iter().skip(1).map(|line| {
            let (name, value) = line.split_once(':').expect("a header");
            (name.to_owned(), unescaped(&filled(value.trim_start())))
        });
        pairs.collect()
    }

    /// Whether it begins an exchange: a method stands first.
    pub fn is_request(&self) -> bool {
        let (word, rest) = self.words();
        !rest.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'-')
    }

    /// The bytes of a piece of a body; `None` for other steps.
    pub fn piece(&self) -> Option<Vec<u8>> {
        let (word, rest) = self.words();
        Some(match word {
            "empty" => Vec::new(),
            "body" => filled(rest).as_bytes().to_vec(),
            "bytes" => unescaped(&filled(rest)),
            "data" => format!("data: {}\n\n", filled(rest)).into_bytes(),
            "event" => {
                let (name, data) = rest.split_once(' ').expect("an event's data");
                format!("event: {name}\ndata: {}\n\n", filled(data)).into_bytes()
            }
            "request" | "response" => of_vendor(word, rest),
            "file" => {
                let path = format!("{}/tests/fixtures/{rest}", env!("CARGO_MANIFEST_DIR"));
                std::fs::read(&path).expect(&path)
            }
            _ => return None,
        })
    }

    fn is_continued_by(&self, line: &str) -> bool {
        let name = line.split(':').next().unwrap_or_default();
        (self.is_request() || self.words().0 == "answer")
            && line.contains(':')
            && !name.contains(' ')
    }
}

/// One case.
#[derive(Debug, Clone, Default)]
pub struct Case {
    pub steps: Vec<Step>,
    /// The name in whose place each of the values stands in turn.
    pub name: String,
    pub values: Vec<String>,
    pub document: Option<String>,
}

impl Case {
    /// The steps with this value in the name's place.
    pub fn with(&self, value: &str) -> Vec<Step> {
        let name = &self.name;
        let lines = |step: &Step| {
            step.lines
                .iter()
                .map(|line| line.replacen(name, value, 1))
                .collect()
        };
        self.steps
            .iter()
            .map(|step| Step { lines: lines(step) })
            .collect()
    }
}

/// One line of a file, or a step.
#[derive(Debug)]
pub enum Part {
    /// Kept as it is.
    Line(String),
    /// The step with this number of the case with this number.
    Step(usize, usize),
    /// The value with this number of the case with this number.
    Value(usize, usize),
}

/// A file of cases.
#[derive(Debug, Default)]
pub struct Script {
    pub cases: Vec<Case>,
    pub parts: Vec<Part>,
}

impl Script {
    pub fn parse(text: &str) -> Self {
        let mut script = Self::default();
        let mut document = None;
        for line in text.lines().filter(|line| !line.starts_with("    ")) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            if word == "#" {
                let document: &Option<String> = &document;
                script.cases.push(Case {
                    document: document.clone(),
                    ..Case::default()
                });
            }
            let number = script.cases.len().saturating_sub(1);
            let part = match (word, script.cases.last_mut()) {
                ("document", case) => {
                    *case.map_or(&mut document, |case| &mut case.document) = Some(rest.to_owned());
                    Part::Line(line.to_owned())
                }
                ("" | "#" | "//", _) => Part::Line(line.to_owned()),
                ("each", Some(case)) => {
                    case.name = rest.to_owned();
                    Part::Line(line.to_owned())
                }
                ("-", Some(case)) => {
                    case.values.push(rest.to_owned());
                    Part::Value(number, case.values.len() - 1)
                }
                (_, Some(case)) => {
                    if let Some(step) = case
                        .steps
                        .last_mut()
                        .filter(|step| step.is_continued_by(line))
                    {
                        step.lines.push(line.to_owned());
                        continue;
                    }
                    case.steps.push(Step {
                        lines: vec![line.to_owned()],
                    });
                    Part::Step(number, case.steps.len() - 1)
                }
                (_, None) => panic!("no case yet: {line}"),
            };
            script.parts.push(part);
        }
        script
    }
}

/// The request or the response of one of the vendors' cases.
fn of_vendor(side: &str, name: &str) -> Vec<u8> {
    thread_local! {
        static CASES: serde_json::Value = {
            let text = include_str!("../fixtures/vendors/cases.json");
            serde_json::from_str(text).expect("JSON")
        };
    }
    let member = if side == "request" { "request" } else { "body" };
    CASES.with(|cases| {
        let mut cases = cases["cases"].as_array().expect("cases").iter();
        let case = cases.find(|case| case["name"] == name).expect(name);
        case[member].as_str().expect(member).as_bytes().to_vec()
    })
}

thread_local! {
    /// A long text, no part of which stands there twice.
    static WORDS: String = (0..2000)
        .map(|number| format!("and {number} times the quick brown fox jumps over the lazy dog "))
        .collect();
}

/// Text with what is repeated in it.
fn filled(text: &str) -> Cow<'_, str> {
    let Some((before, rest)) = text.split_once('«') else {
        return Cow::Borrowed(text);
    };
    let (spec, after) = rest.split_once('»').expect("the end of what is repeated");
    let middle = if let Some(span) = spec.strip_prefix("words ") {
        let (from, to) = span.split_once('-').expect("from where to where");
        let (from, to): (usize, usize) = (from.parse().expect(span), to.parse().expect(span));
        WORDS.with(|words| words[from..to].to_owned())
    } else {
        let (text, count) = spec
            .rsplit_once('×')
            .expect("what is repeated, and how often");
        text.repeat(count.parse().expect("a number"))
    };
    Cow::Owned(format!("{before}{middle}{}", filled(after)))
}

/// Bytes of a text with the escapes of `escape_ascii`.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, behind) {
            (b'\\', [b'x', high, low, behind @ ..]) => {
                let digits = [*high, *low];
                let digits = core::str::from_utf8(&digits).expect("digits");
                bytes.push(u8::from_str_radix(digits, 16).expect(text));
                rest = behind;
            }
            (b'\\', [escape, behind @ ..]) => {
                bytes.push(match escape {
                    b'r' => b'\r',
                    b'n' => b'\n',
                    b't' => b'\t',
                    other => *other,
                });
                rest = behind;
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    bytes
}
