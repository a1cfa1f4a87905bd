//! Carries out a case, step by step.

use std::cell::RefCell;
use std::collections::BTreeMap;

use trilane::host::Clocks as _;
use trilane::ledger::Writability;

use crate::gateway::{Answer, Gateway, Over, Stream, published};
use crate::memory::Memory;
use crate::script::{Case, Step};

/// Hosts with the documents published, by their names.
#[derive(Debug, Default)]
pub struct Documents(RefCell<BTreeMap<String, Memory>>);

impl Documents {
    /// `new` behind a name: no account has answered yet.
    fn published(&self, name: &str) -> Memory {
        let mut hosts = self.0.borrow_mut();
        let host = hosts.entry(name.to_owned()).or_insert_with(|| {
            let file = name.trim_end_matches(" new");
            let page =
                std::fs::read(crate::directory().join("feeds").join(file)).unwrap_or_default();
            published(&read_document(file), page, file == name)
        });
        host.clone()
    }
}

/// The text of a document.
fn read_document(file: &str) -> String {
    let path = crate::directory().join("documents").join(file);
    std::fs::read_to_string(path).expect(file)
}

/// The outcome of a case: behind its steps, or of each value.
#[derive(Debug, Default)]
pub struct CaseResult {
    pub after_step: BTreeMap<usize, Vec<String>>,
    pub of_values: Vec<String>,
}

/// Runs a case, with each of its values.
pub fn case(case: &Case, documents: &Documents) -> CaseResult {
    let document = case.document.as_deref().expect("a document");
    let host = documents.published(document);
    if case.values.is_empty() {
        let after_step = Run::new(&host).all(&case.steps).0;
        return CaseResult {
            after_step,
            of_values: Vec::new(),
        };
    }
    let of_value = |value: &String| Run::new(&host).all(&case.with(value)).1;
    CaseResult {
        after_step: BTreeMap::new(),
        of_values: case.values.iter().map(of_value).collect(),
    }
}

/// A case that is carried out.
struct Run {
    gateway: Gateway,
    /// The stream under way, and the step that it is at.
    stream: Option<Stream>,
    /// Streams that others passed.
    held: Vec<Stream>,
    after: BTreeMap<usize, Vec<String>>,
    briefs: Vec<String>,
}

impl Run {
    fn new(host: &Memory) -> Self {
        Self {
            gateway: Gateway::new(host.clone()),
            stream: None,
            held: Vec::new(),
            after: BTreeMap::new(),
            briefs: Vec::new(),
        }
    }

    fn all(mut self, steps: &[Step]) -> (BTreeMap<usize, Vec<String>>, String) {
        for (place, step) in steps.iter().enumerate() {
            let next = steps.get(place + 1);
            self.step(step, &steps[place + 1..], place);
            let lines = self
                .stream
                .as_mut()
                .map(|it| core::mem::take(&mut it.shown.lines));
            self.after
                .entry(place)
                .or_default()
                .extend(lines.unwrap_or_default());
            if next.is_none_or(Step::is_request) {
                self.end(place);
            }
        }
        (self.after, self.briefs.join(" / "))
    }

    fn step(&mut self, step: &Step, behind: &[Step], place: usize) {
        let next = behind.first();
        self.gateway.memory.pass_ms(1);
        let gateway = &mut self.gateway;
        let (word, rest) = step.words();
        if step.is_request() {
            let promises = step
                .headers()
                .iter()
                .any(|(name, value)| name == "content-length" && value != b"0");
            let has_body = promises
                || next.is_some_and(|next| next.piece().is_some() || next.words().0 == "trailers");
            let mut headers = step.headers();
            let pieces: Vec<Vec<u8>> = behind.iter().map_while(Step::piece).collect();
            let is_framed = headers
                .iter()
                .any(|(name, _)| name == "transfer-encoding" || name == "content-length");
            if !pieces.is_empty() && !is_framed {
                let length = pieces.concat().len().to_string();
                headers.push(("content-length".to_owned(), length.into_bytes()));
            }
            let stream = gateway.begin(word, rest, headers);
            let stream = self.stream.insert(stream);
            stream.on_head(!has_body, gateway);
            return;
        }
        match word {
            "from" => return *gateway.memory.peer.borrow_mut() = rest.to_owned(),
            "wait" => return gateway.memory.pass_ms(rest.parse().expect("milliseconds")),
            "publish" => return gateway.publish(&read_document(rest)),
            "full" => {
                let unwritable = Writability { writable: false };
                return unwritable.publish(gateway.memory.steady_ms(), &gateway.memory);
            }
            "counters" => {
                self.end(place);
                let counters = self.gateway.counters();
                self.briefs.extend(counters.iter().cloned());
                self.after.entry(place).or_default().extend(counters);
                return;
            }
            "resume" => {
                self.end(place);
                self.stream = self.held.pop();
                return;
            }
            _ => {}
        }
        let stream = self.stream.as_mut().expect("a request");
        match word {
            "unfinished" => {}
            "hold" => self.held.extend(self.stream.take()),
            "trailers" => stream.on_trailers(gateway),
            "report" => stream.on_report(rest, gateway),
            "attempt" => stream.on_attempt(gateway),
            "attempted" => stream.on_attempted(rest, gateway),
            "answer" => {
                let (status, details) = rest.split_once(' ').unwrap_or((rest, "via_upstream"));
                let answer = Answer {
                    status: status.parse().expect("a status"),
                    details: details.to_owned(),
                    headers: step.headers(),
                };
                stream.on_answer(&answer, gateway);
            }
            "leave" => self.over("downstream_remote_disconnect"),
            "over" => self.over(rest),
            _ => {
                let piece = step
                    .piece()
                    .unwrap_or_else(|| panic!("no step: {}", step.lines[0]));
                if stream.is_answered {
                    stream.on_piece(&piece, false, gateway);
                } else {
                    let is_last = next.is_none_or(|next| {
                        next.piece().is_none()
                            && !matches!(next.words().0, "trailers" | "unfinished")
                    });
                    stream.on_body(&piece, is_last, gateway);
                }
            }
        }
    }

    fn over(&mut self, details: &str) {
        let stream = self.stream.as_mut().expect("a request");
        let over = Over {
            details: details.to_owned(),
            attempts: 1,
        };
        stream.on_done(&over, &self.gateway);
    }

    /// Ends the stream under way in good order, if it has not ended.
    fn end(&mut self, place: usize) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        if !stream.has_ended {
            if stream.is_forwarded && !stream.is_replied {
                self.gateway.memory.pass_ms(1);
                if !stream.is_answered {
                    let answer = Answer {
                        status: 200,
                        details: "via_upstream".to_owned(),
                        headers: Vec::new(),
                    };
                    stream.on_answer(&answer, &self.gateway);
                    stream.on_piece(b"{}", false, &self.gateway);
                }
                stream.on_piece(&[], true, &self.gateway);
            }
            self.over("via_upstream");
        }
        if let Some(stream) = self.stream.take() {
            self.after
                .entry(place)
                .or_default()
                .extend(stream.shown.lines);
            self.briefs.push(stream.shown.brief);
        }
    }
}
