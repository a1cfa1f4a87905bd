//! The judge of answers, among the upstream filters of an account's cluster.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

use super::host::{self, Host};
use crate::exchange::JUDGED_HEADER;
use crate::failover::judge::{Judge, MOST_HELD, Verdict};
use crate::host::{Clocks, Timer};

/// The period in which it is looked whether an answer has been held for long enough, while one is held.
const LOOK: Duration = Duration::from_millis(50);

/// The root with the id `judge`.
#[derive(Debug)]
pub(super) struct JudgeRoot {
    /// The id of its context.
    id: u32,
    held: Rc<RefCell<Vec<HeldAnswer>>>,
}

/// An answer that is held.
#[derive(Debug)]
struct HeldAnswer {
    /// The context of its stream.
    stream: u32,
    /// Until when, in microseconds of the steady clock.
    until_us: u64,
    /// Whether the time is over.
    is_over: Rc<Cell<bool>>,
}

impl JudgeRoot {
    pub(super) fn new(id: u32) -> Self {
        Self {
            id,
            held: Rc::default(),
        }
    }

    /// Takes out the answers whose time is over.
    fn due(&self, now_us: u64) -> Vec<HeldAnswer> {
        let Ok(mut held) = self.held.try_borrow_mut() else {
            return Vec::new();
        };
        let (due, kept) = held.drain(..).partition(|it| it.until_us <= now_us);
        *held = kept;
        due
    }
}

impl Context for JudgeRoot {}

impl RootContext for JudgeRoot {
    fn on_tick(&mut self) {
        for held in self.due(Host.steady_us()) {
            held.is_over.set(true);
            host::become_context(held.stream);
            host::resume_response();
        }
        host::become_context(self.id);
        if self.held.try_borrow().is_ok_and(|held| held.is_empty()) {
            Host.tick_every(Duration::ZERO);
        }
    }

    fn create_http_context(&self, context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(JudgedAnswer {
            id: context_id,
            root: self.id,
            held: Rc::clone(&self.held),
            is_over: Rc::default(),
            judge: Judge::default(),
        }))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

/// One answer.
#[derive(Debug)]
struct JudgedAnswer {
    id: u32,
    root: u32,
    held: Rc<RefCell<Vec<HeldAnswer>>>,
    is_over: Rc<Cell<bool>>,
    judge: Judge,
}

impl JudgedAnswer {
    /// The answer is held from now on.
    fn hold(&self) {
        let until_us = Host
            .steady_us()
            .saturating_add(u64::try_from(MOST_HELD.as_micros()).unwrap_or(u64::MAX));
        let Ok(mut held) = self.held.try_borrow_mut() else {
            return;
        };
        if held.is_empty() {
            host::become_context(self.root);
            Host.tick_every(LOOK);
            host::become_context(self.id);
        }
        held.push(HeldAnswer {
            stream: self.id,
            until_us,
            is_over: Rc::clone(&self.is_over),
        });
    }

    /// The answer is held no longer.
    fn free(&self) {
        if let Ok(mut held) = self.held.try_borrow_mut() {
            held.retain(|held| held.stream != self.id);
        }
    }

    /// Carries out a judgement on an answer that is held.
    fn act(&self, verdict: Verdict) -> Action {
        match verdict {
            Verdict::Held => return Action::Pause,
            Verdict::Passes => {}
            Verdict::Failed(told) => host::set_response_header(JUDGED_HEADER, &told.to_header()),
        }
        self.free();
        Action::Continue
    }

    fn on_body(&mut self, size: usize, end: bool) -> Action {
        if self.is_over.get() {
            self.judge.let_go();
        }
        if self.judge == Judge::Idle {
            return Action::Continue;
        }
        let bytes = host::response_body(0, size.min(self.judge.reads()));
        let verdict = self.judge.on_body(&bytes, end);
        self.act(verdict)
    }
}

impl Context for JudgedAnswer {
    /// Upstream filters have no `on_log`.
    fn on_done(&mut self) -> bool {
        self.free();
        true
    }
}

impl HttpContext for JudgedAnswer {
    fn on_http_response_headers(&mut self, _num_headers: usize, end_of_stream: bool) -> Action {
        let end = end_of_stream || host::has_no_length();
        let verdict = self
            .judge
            .on_head(host::response_status(), host::is_event_stream(), end);
        if verdict == Verdict::Held {
            self.hold();
        }
        self.act(verdict)
    }

    fn on_http_response_body(&mut self, body_size: usize, end_of_stream: bool) -> Action {
        self.on_body(body_size, end_of_stream)
    }

    fn on_http_response_trailers(&mut self, _num_trailers: usize) -> Action {
        self.on_body(usize::MAX, true)
    }
}
