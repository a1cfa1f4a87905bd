//! A gateway without a proxy: a root of the filter over a host in memory, and the stream under way, driven as `filter::http` drives it.

use std::rc::Rc;

use serde_json::Value;
use trilane::config::policy::GroupKind;
use trilane::exchange::{
    BodyEdit, Edits, Exchange, HeaderEdit, Outcome, ResponseHeaders, StreamEnd, is_withheld,
};
use trilane::failover::attempt::{Attempt, AttemptDecision, ResponseDecision};
use trilane::failover::{
    AccountEvent, AttemptReport, MAX_ANSWER, Registry, ToldFailure, WayMark, note_report,
};
use trilane::head::Head;
use trilane::held_body::{HeldBody, split};
use trilane::limits::service::{Descriptors, ServiceTokens};
use trilane::metrics::ExchangeStats;
use trilane::reply::Reply;
use trilane::worker::WorkerRoot;

use crate::memory::{Memory, Page};

/// The header by which the route finds the cluster.
const CLUSTER: &str = "x-trilane-cluster";

/// A gateway with one document in force.
pub struct Gateway {
    pub memory: Memory,
    registry: Rc<Registry>,
    root: WorkerRoot,
    stats: ExchangeStats,
    requests: u32,
}

impl Gateway {
    /// A gateway of its own over what is published already.
    pub fn new(memory: Memory) -> Self {
        let registry = Rc::<Registry>::default();
        registry.note_hop();
        let mut root = WorkerRoot::new(1, Rc::clone(&registry));
        assert!(root.configure(b"{}", &memory), "{:?}", memory.lines);
        Self {
            memory,
            registry,
            root,
            stats: ExchangeStats::default(),
            requests: 0,
        }
    }

    /// Another document comes, and a second passes.
    pub fn publish(&mut self, document: &str) {
        let configuration = format!(r#"{{"inline": {document}}}"#);
        assert!(self.root.configure(configuration.as_bytes(), &self.memory));
        for _ in 0..50 {
            self.memory.pass_ms(20);
            self.root.on_tick(&self.memory);
        }
    }

    /// The counters of exchanges, as they are now.
    pub fn counters(&self) -> Vec<String> {
        self.stats.end(&self.memory);
        let stats = self.memory.stats.borrow();
        let ours = stats
            .iter()
            .filter(|(name, value)| **value > 0 && name.contains(';'));
        ours.map(|(name, value)| format!("{name} {value}"))
            .collect()
    }

    /// Begins an exchange.
    pub fn begin(&mut self, method: &str, path: &str, headers: Vec<(String, Vec<u8>)>) -> Stream {
        self.requests += 1;
        let pseudo = [
            (":method", method),
            (":path", path),
            (":authority", "gateway"),
            (":scheme", "http"),
        ];
        let mut head: Vec<(String, Vec<u8>)> = Vec::new();
        for (name, value) in pseudo {
            head.push((name.to_owned(), value.as_bytes().to_vec()));
        }
        let id = format!("req-{}", self.requests);
        head.push(("x-request-id".to_owned(), id.clone().into_bytes()));
        head.extend(headers);
        Stream {
            id,
            head,
            ..Stream::default()
        }
    }
}

/// A host with a document published. `page` is what its feed has.
pub fn published(document: &str, page: Vec<u8>, has_answered: bool) -> Memory {
    let (memory, registry) = (Memory::with_page(page), Rc::<Registry>::default());
    let mut root = WorkerRoot::new(1, Rc::clone(&registry));
    let configuration = format!(r#"{{"inline": {document}}}"#);
    assert!(
        root.configure(configuration.as_bytes(), &memory),
        "{:?}",
        memory.lines
    );
    let worker = root.worker();
    let mut in_force = None;
    while in_force.is_none() {
        assert!(memory.passed_ms() < 10_000, "{:?}", memory.lines);
        memory.pass_ms(20);
        root.on_tick(&memory);
        in_force = worker.environment(&memory).in_force();
    }
    // A feed is asked behind the document.
    while !memory.page.is_empty() && memory.passed_ms() < 5000 {
        memory.pass_ms(20);
        root.on_tick(&memory);
        for call in memory.calls.take() {
            root.on_response(call, Some(&Page(memory.page.clone())), &memory);
        }
    }
    for group in in_force
        .iter()
        .filter(|_| has_answered)
        .flat_map(|it| it.policy.groups())
    {
        if let GroupKind::Source(source) = &group.kind
            && let Some(accounts) = &source.accounts
        {
            // Else all would go by way of the account hop.
            for (index, marks) in accounts.marks.iter().enumerate() {
                let event = AccountEvent::Answered;
                registry.note(event, &source.group, accounts, index, &memory);
                registry.note_usage_option(WayMark::of_account(marks), true, &memory);
            }
        }
    }
    memory.pass_ms(20);
    memory
}

/// The outcome of an exchange: lines for people, and the same in a word.
#[derive(Debug, Default)]
pub struct Shown {
    pub lines: Vec<String>,
    pub brief: String,
}

impl Shown {
    fn line(&mut self, line: String) {
        self.lines.push(line);
    }
}

/// One stream.
#[derive(Debug, Default)]
pub struct Stream {
    id: String,
    /// The cluster of its last attempt.
    cluster: String,
    attempt: Attempt,
    head: Vec<(String, Vec<u8>)>,
    exchange: Exchange,
    body: HeldBody,
    /// The bytes that the proxy holds of the request.
    held: Vec<u8>,
    sent: Vec<u8>,
    forwarded: Vec<u8>,
    pub is_forwarded: bool,
    pub is_answered: bool,
    pub is_replied: bool,
    pub has_ended: bool,
    pub shown: Shown,
    answer: Answer,
    held_answer: Vec<u8>,
    relayed: Vec<u8>,
    answered: Vec<u8>,
}

impl Stream {
    /// The head comes.
    pub fn on_head(&mut self, end: bool, gateway: &Gateway) {
        let worker = gateway.root.worker();
        let environment = worker.environment(&gateway.memory);
        let head = Head::new(self.head.clone());
        let in_force = environment.in_force();
        let outcome = self
            .exchange
            .on_request_head(&head, end, in_force.as_deref(), &environment);
        self.apply(outcome, end);
    }

    /// A part of the body comes.
    pub fn on_body(&mut self, piece: &[u8], end: bool, gateway: &Gateway) {
        if self.is_replied {
            return;
        }
        self.sent.extend_from_slice(piece);
        self.held.extend_from_slice(piece);
        let withheld = self.body.take_withheld();
        self.held.splice(0..0, withheld.iter().copied());
        let size = self.held.len();
        let (pieces, rest) = split(self.body.unread(size));
        for piece in pieces {
            self.exchange.on_request_bytes(&self.held[piece]);
        }
        let worker = gateway.root.worker();
        let environment = worker.environment(&gateway.memory);
        let outcome = self
            .exchange
            .on_request_body(&self.held[rest], end, &environment);
        self.body.hold(size);
        self.apply(outcome, end);
    }

    /// The request ends with trailers.
    pub fn on_trailers(&mut self, gateway: &Gateway) {
        let worker = gateway.root.worker();
        let environment = worker.environment(&gateway.memory);
        let outcome = self.exchange.on_request_trailers(&environment);
        self.apply(outcome, true);
    }

    fn apply(&mut self, outcome: Outcome, end: bool) {
        match outcome {
            Outcome::Continue(edits) => self.release(&edits),
            Outcome::Pause => {}
            Outcome::Reply(reply) => self.reply(&reply),
        }
        let is_whole = end && self.is_forwarded && !self.is_replied;
        if is_whole && self.forwarded != self.sent {
            self.shown.line(format!("body {}", text(&self.forwarded)));
            self.shown.brief += &format!(" body {}", text(&self.forwarded));
        }
    }

    fn release(&mut self, edits: &Edits) {
        if !self.is_forwarded {
            self.is_forwarded = true;
            self.show_head(&edits.headers);
        }
        for (name, value) in edits.descriptors.iter().flat_map(Descriptors::state) {
            self.shown.line(format!("{name} = {value}"));
        }
        let withheld = self.held.split_off(self.held.len() - edits.withheld);
        for BodyEdit { span, bytes } in edits.body.iter().rev() {
            self.held.splice(span.clone(), bytes.iter().copied());
        }
        self.forwarded.append(&mut self.held);
        self.body.release(withheld);
    }

    fn show_head(&mut self, edits: &[HeaderEdit]) {
        let cluster = edits.iter().find_map(|edit| match edit {
            HeaderEdit::Set(CLUSTER, value) => Some(text(value)),
            _ => None,
        });
        self.cluster = cluster.unwrap_or_else(|| "no cluster".to_owned());
        let to = format!("to {}", self.cluster);
        self.shown.brief = to.clone();
        self.shown.line(to);
        let changes = head_changes(edits, &self.head, &[CLUSTER]);
        self.shown.brief += &changes
            .iter()
            .map(|line| format!("; {line}"))
            .collect::<String>();
        self.shown.lines.extend(changes);
    }

    fn reply(&mut self, reply: &Reply) {
        self.is_replied = true;
        let code = reply
            .headers
            .iter()
            .find(|(name, _)| *name == "x-trilane-error");
        let body = match &*reply.body {
            [] => Value::Null,
            body => serde_json::from_slice(body).expect("JSON"),
        };
        let message = body["error"]["message"].as_str().unwrap_or_default();
        let code = code.map_or("", |(_, code)| code);
        let brief = format!("{} {code} {message}", reply.status)
            .trim_end()
            .to_owned();
        if self.shown.brief.is_empty() {
            self.shown.brief = brief;
        } else {
            self.shown.brief += &format!(", then {brief}");
        }
        self.shown.line(format!("reply {}", reply.status));
        for (name, value) in &reply.headers {
            self.shown.line(format!("{name}: {value}"));
        }
        if !reply.body.is_empty() {
            self.shown.line(text(&reply.body));
        }
    }

    /// Envoy logs that the last attempt did not go well.
    pub fn on_report(&mut self, words: &str, gateway: &Gateway) {
        let mut words = words.splitn(3, ' ');
        let (status, judged) = judged(words.next().unwrap_or_default());
        let report = AttemptReport {
            request_id: self.id.clone().into_bytes(),
            cluster: self.cluster.clone(),
            status: status.parse().ok(),
            judged,
            told_wait: None,
            flags: words
                .next()
                .map_or(0, |flags| flags.parse().expect("flags")),
            transport_failure: words.next().unwrap_or_default().to_owned(),
        };
        note_report(&report, &gateway.registry, &gateway.memory);
    }

    /// The next attempt comes to the filter of attempts.
    pub fn on_attempt(&mut self, gateway: &Gateway) {
        gateway.memory.attempt.borrow_mut().0 = self.id.clone();
        self.attempt = Attempt::default();
        let mut decision = self.attempt.on_request(&gateway.registry, &gateway.memory);
        if decision == AttemptDecision::Wait {
            let held = self
                .attempt
                .on_request_body(0, true, &gateway.registry, &gateway.memory);
            decision = held.unwrap_or(decision);
        }
        self.cluster = "account/hop".to_owned();
        self.shown.line(match decision {
            AttemptDecision::To {
                cluster,
                path,
                model,
                without_usage,
                is_held,
            } => {
                let path = path.map(|path| String::from_utf8(path).expect("a path"));
                let model = match model {
                    Some(model) => format!(", model: {model}"),
                    None if without_usage.is_some() => ", without usage".to_owned(),
                    None if is_held => ", its own length".to_owned(),
                    None => String::new(),
                };
                format!("To {{ cluster: {cluster:?}, path: {path:?}{model} }}")
            }
            other => format!("{other:?}"),
        });
    }

    /// The response to the attempt comes to the filter of attempts.
    pub fn on_attempted(&mut self, words: &str, gateway: &Gateway) {
        let (words, answer) = words.split_once(" | ").unwrap_or((words, ""));
        gateway.memory.attempt_answer.replace(answer.to_owned());
        let (status, report) = words.split_once(' ').unwrap_or((words, ""));
        let (status, judged) = judged(status);
        gateway.memory.judged.replace(judged);
        let seen = (
            self.id.clone(),
            status.parse().expect("a status"),
            report.to_owned(),
        );
        gateway.memory.attempt.replace(seen);
        let (registry, memory) = (&gateway.registry, &gateway.memory);
        let mut decision = self.attempt.on_response(false, registry, memory);
        if decision == ResponseDecision::Held {
            decision = self
                .attempt
                .on_response_body(answer.len(), true, registry, memory);
        }
        match decision {
            ResponseDecision::Passes | ResponseDecision::Held => {}
            ResponseDecision::Final => self.shown.line("no other attempt".to_owned()),
            ResponseDecision::AskedAgain => self.shown.line("asked again".to_owned()),
        }
        self.attempt.on_done();
    }

    /// The response's head comes.
    pub fn on_answer(&mut self, answer: &Answer, gateway: &Gateway) {
        self.is_answered = true;
        let worker = gateway.root.worker();
        let environment = worker.environment(&gateway.memory);
        self.answer = answer.clone();
        let outcome = self.exchange.on_response_head(answer, false, &environment);
        self.apply_to_answer(outcome);
    }

    fn apply_to_answer(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Continue(edits) => {
                let changes = head_changes(&edits.headers, &self.answer.headers, &[]);
                for change in changes {
                    self.shown.line(format!("relayed {change}"));
                    self.shown.brief += &format!("; relayed {change}");
                }
            }
            Outcome::Pause => self.shown.line("held".to_owned()),
            Outcome::Reply(reply) => self.reply(&reply),
        }
    }

    /// A part of the response comes.
    pub fn on_piece(&mut self, piece: &[u8], end: bool, gateway: &Gateway) {
        let worker = gateway.root.worker();
        let environment = worker.environment(&gateway.memory);
        let mut piece = piece;
        let held;
        if self.exchange.holds_response() {
            self.held_answer.extend_from_slice(piece);
            if !end && self.held_answer.len() <= MAX_ANSWER {
                return;
            }
            held = core::mem::take(&mut self.held_answer);
            let words = &held[..held.len().min(MAX_ANSWER + 1)];
            let outcome = self
                .exchange
                .on_held_response(&self.answer, words, &environment);
            self.apply_to_answer(outcome);
            if self.is_replied {
                return;
            }
            piece = &held;
        }
        let bytes = if self.exchange.reads_response() {
            piece
        } else {
            &[]
        };
        let edited = self
            .exchange
            .on_response_body(bytes, piece.len(), end, &environment);
        self.answered.extend_from_slice(piece);
        self.relayed
            .extend_from_slice(edited.as_deref().unwrap_or(piece));
    }

    /// The stream is over.
    pub fn on_done(&mut self, over: &Over, gateway: &Gateway) {
        self.has_ended = true;
        if self.relayed != self.answered {
            self.shown
                .line(format!("relayed body {}", text(&self.relayed)));
            self.shown.brief += &format!("; relayed body {}", text(&self.relayed));
        }
        let worker = gateway.root.worker();
        let environment = worker.environment(&gateway.memory);
        let Some(record) = self.exchange.on_done(over, &environment) else {
            self.shown.line("no record".to_owned());
            return;
        };
        let members = record.to_members();
        let line = format!(
            "{{{}}}",
            String::from_utf8(members)
                .expect("UTF-8")
                .trim_start_matches(',')
        );
        let ledger: Value = serde_json::from_str(&line).expect("JSON");
        for name in [
            "trilane.outcome",
            "trilane.usage.status",
            "error.type",
            "trilane.charge",
        ] {
            // What the reply says already is left out.
            if let Some(value) = ledger[name].as_str()
                && !(self.shown.brief.contains(value)
                    || matches!(value, "refused" | "none" | "answered"))
            {
                self.shown.brief += &format!(", {value}");
            }
        }
        self.shown.line(format!("ledger {line}"));
        for (name, value) in record.counted.into_iter().flat_map(ServiceTokens::state) {
            self.shown.line(format!("{name} = {value}"));
        }
        gateway.stats.count(&record, &gateway.memory);
    }
}

/// A status, and what the response was judged to be, as its header has it: `400`, `400/unauthorized`, `400/unauthorized{"type":"x"}`.
fn judged(words: &str) -> (&str, Option<ToldFailure>) {
    let (status, kind) = words.split_once('/').unwrap_or((words, ""));
    (status, ToldFailure::of_header(kind))
}

/// The changes of a head, one line for each header that is set, and one for those that go.
fn head_changes(edits: &[HeaderEdit], head: &[(String, Vec<u8>)], but: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut gone: Vec<&str> = Vec::new();
    for edit in edits {
        match edit {
            HeaderEdit::Set(name, value) if !but.contains(name) => {
                lines.push(format!("{name}: {}", text(value)));
            }
            HeaderEdit::Set(..) => {}
            // It may take out what is not there, for good measure.
            HeaderEdit::Remove(name) if head.iter().any(|(known, _)| known == name) => {
                gone.push(name)
            }
            HeaderEdit::Remove(_) => {}
        }
    }
    gone.sort_unstable();
    gone.dedup();
    if !gone.is_empty() {
        lines.push(format!("without {}", gone.join(", ")));
    }
    lines
}

/// Text as it is, other bytes escaped, and of what is long its ends.
pub fn text(bytes: &[u8]) -> String {
    const ENDS: usize = 400;
    let whole = match core::str::from_utf8(bytes) {
        Ok(text) if !text.contains(|c: char| c.is_control()) => text.to_owned(),
        _ => bytes.escape_ascii().to_string(),
    };
    let length = whole.chars().count();
    if length <= 3 * ENDS {
        return whole;
    }
    let begins: String = whole.chars().take(ENDS).collect();
    let ends: String = whole.chars().skip(length - ENDS).collect();
    let sum = bytes.iter().fold(0_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
    });
    format!("{begins}… {} bytes, sum {sum:x} …{ends}", bytes.len())
}

/// The head of a response.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub status: u16,
    pub details: String,
    pub headers: Vec<(String, Vec<u8>)>,
}

impl ResponseHeaders for Answer {
    fn status(&self) -> u16 {
        self.status
    }

    fn details(&self) -> Vec<u8> {
        self.details.clone().into_bytes()
    }

    fn header(&self, name: &'static str) -> Option<String> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        String::from_utf8(found?.1.clone()).ok()
    }

    fn withheld_headers(&self) -> Vec<String> {
        let names = self.headers.iter().map(|(name, _)| name);
        names
            .filter(|name| is_withheld(name.as_bytes()))
            .cloned()
            .collect()
    }
}

/// The end of a stream, in Envoy's words, and the number of attempts that it counted.
#[derive(Debug)]
pub struct Over {
    pub details: String,
    pub attempts: u64,
}

impl StreamEnd for Over {
    fn details(&self) -> Vec<u8> {
        self.details.clone().into_bytes()
    }

    fn attempts(&self) -> u64 {
        self.attempts
    }
}
