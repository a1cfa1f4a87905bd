//! The judge of answers, among the upstream filters of an account's cluster.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

use super::host::{self, Host};
use crate::exchange::JUDGED_HEADER;
use crate::failover::judge::{Judge, MOST_HELD, Verdict};
use crate::host::Timer;

/// The period in which it is looked whether an answer has been held for long enough.
const LOOK: Duration = Duration::from_millis(50);
/// The number of looks in the time for which an answer is held at most.
const MOST_LOOKS: u32 = 6;
const _: () = assert!(LOOK.as_millis() * MOST_LOOKS as u128 == MOST_HELD.as_millis());
/// The number of looks, without an answer that is held, after which there are no more: on a busy worker the next answer does
/// not start the timer anew.
const IDLE_LOOKS: u32 = 40;

/// Bytes of a body that are read at first.
const FIRST_READ: usize = 1 << 10;

/// The root with the id `judge`.
#[derive(Debug)]
pub(super) struct JudgeRoot {
    /// The id of its context.
    id: u32,
    held: Rc<HeldAnswers>,
    /// The looks since an answer was held.
    idle_looks: u32,
}

/// The answers that are held.
#[derive(Debug, Default)]
struct HeldAnswers {
    all: RefCell<Vec<HeldAnswer>>,
    /// Whether it is looked at them.
    is_watched: Cell<bool>,
}

/// An answer that is held.
#[derive(Debug)]
struct HeldAnswer {
    /// The context of its stream.
    stream: u32,
    /// The number of looks until its time is over. The first may come at once, so that it is held for no longer than that.
    looks: u32,
    /// Whether the time is over.
    is_over: Rc<Cell<bool>>,
}

impl JudgeRoot {
    pub(super) fn new(id: u32) -> Self {
        Self {
            id,
            held: Rc::default(),
            idle_looks: 0,
        }
    }

    /// Takes out the answers whose time is over.
    fn due(&self) -> Vec<HeldAnswer> {
        let Ok(mut held) = self.held.all.try_borrow_mut() else {
            return Vec::new();
        };
        for answer in held.iter_mut() {
            answer.looks = answer.looks.saturating_sub(1);
        }
        let (due, kept) = held.drain(..).partition(|it| it.looks == 0);
        *held = kept;
        due
    }
}

impl Context for JudgeRoot {}

impl RootContext for JudgeRoot {
    fn on_tick(&mut self) {
        for held in self.due() {
            held.is_over.set(true);
            host::become_context(held.stream);
            host::resume_response();
            host::become_context(self.id);
        }
        if self.held.all.try_borrow().is_ok_and(|held| held.is_empty()) {
            self.idle_looks = self.idle_looks.saturating_add(1);
        } else {
            self.idle_looks = 0;
        }
        if self.idle_looks >= IDLE_LOOKS {
            self.idle_looks = 0;
            Host.tick_every(Duration::ZERO);
            self.held.is_watched.set(false);
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
    held: Rc<HeldAnswers>,
    is_over: Rc<Cell<bool>>,
    judge: Judge,
}

impl JudgedAnswer {
    /// The answer is held from now on.
    fn hold(&self) {
        let Ok(mut held) = self.held.all.try_borrow_mut() else {
            return;
        };
        if !self.held.is_watched.replace(true) {
            host::become_context(self.root);
            Host.tick_every(LOOK);
            host::become_context(self.id);
        }
        held.push(HeldAnswer {
            stream: self.id,
            looks: MOST_LOOKS,
            is_over: Rc::clone(&self.is_over),
        });
    }

    /// The answer is held no longer.
    fn free(&self) {
        if let Ok(mut held) = self.held.all.try_borrow_mut() {
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
        // Mostly the first event decides.
        let mut read = FIRST_READ;
        let verdict = loop {
            let most = size.min(self.judge.reads());
            let bytes = host::response_body(0, most.min(read));
            let is_all = read >= most;
            let verdict = self.judge.on_body(&bytes, end && is_all);
            if verdict != Verdict::Held || is_all {
                break verdict;
            }
            read = read.saturating_mul(8);
        };
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
        let status = host::response_status();
        let is_event_stream = status == 200 && host::is_event_stream();
        let end = end_of_stream || (!is_event_stream && host::has_no_length());
        let verdict = self.judge.on_head(status, is_event_stream, end);
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
