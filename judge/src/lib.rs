//! The judge of answers: a filter of its own among the upstream filters of an account's cluster, so that an answer costs no
//! more calls than the judge needs.
//!
//! Envoy calls only what a module exports. This one has nothing for requests, and no table of contexts: a stream is known
//! here while its answer is held. What is taken out of Envoy is dear (`docs/benchmarks.md`), so the bytes of a body are, once for
//! most answers, and the status only where it matters. The decision is `trilane::failover::judge`.
//!
//! Outside WebAssembly it is empty, so that building the whole workspace needs no host.
#![cfg(target_arch = "wasm32")]
#![forbid(unsafe_code)]

mod held;

use std::cell::RefCell;

use trilane::exchange::JUDGED_HEADER;
use trilane::failover::judge::{Judge, Verdict};
use trilane_abi::{Action, HeaderBlock, ResponseFilter};

use held::HeldAnswers;

/// Bytes of a body that are read at first.
const FIRST_READ: usize = 1 << 10;

trilane_abi::response_filter!(JudgeFilter);

thread_local! {
    /// The answers that are held. A VM has one thread.
    static HELD: RefCell<HeldAnswers> = const { RefCell::new(HeldAnswers::new()) };
}

struct JudgeFilter;

impl ResponseFilter for JudgeFilter {
    fn on_headers(stream: u32, end: bool) -> Action {
        let verdict = Judge::on_head(end, status);
        if verdict == Verdict::Held {
            with_held(|held| held.hold(stream));
        }
        act(verdict)
    }

    fn on_body(stream: u32, size: usize, end: bool) -> Action {
        let judged = with_held(|held| {
            let verdict = judge(held.judge(stream)?, size, end);
            if verdict != Verdict::Held {
                held.free(stream);
            }
            Some(verdict)
        });
        judged.flatten().map_or(Action::Continue, act)
    }

    fn on_trailers(stream: u32) -> Action {
        Self::on_body(stream, usize::MAX, true)
    }

    fn on_done(stream: u32) {
        with_held(|held| held.free(stream));
    }

    fn on_tick() {
        for stream in with_held(HeldAnswers::on_look).into_iter().flatten() {
            if trilane_abi::become_context(stream) {
                trilane_abi::resume_response();
            }
        }
    }
}

/// Calls a function with the answers that are held. `None` inside of another such call, of which there is none.
fn with_held<T>(function: impl FnOnce(&mut HeldAnswers) -> T) -> Option<T> {
    HELD.with(|held| Some(function(&mut *held.try_borrow_mut().ok()?)))
}

/// Judges an answer of which `size` bytes have come.
fn judge(judge: &mut Judge, size: usize, end: bool) -> Verdict {
    let most = size.min(judge.reads(size, end));
    // Mostly the first event decides.
    let mut read = FIRST_READ;
    loop {
        let bytes = trilane_abi::response_body(most.min(read)).unwrap_or_default();
        let is_all = read >= most;
        let verdict = judge.on_body(&bytes, end && is_all, status);
        if verdict != Verdict::Held || is_all {
            return verdict;
        }
        read = read.saturating_mul(8);
    }
}

/// Carries out a judgement.
fn act(verdict: Verdict) -> Action {
    match verdict {
        Verdict::Held => return Action::Pause,
        Verdict::Passes => {}
        Verdict::Failed(told) => {
            let told = told.to_header();
            trilane_abi::set_header(HeaderBlock::Response, JUDGED_HEADER, told.as_bytes());
        }
    }
    Action::Continue
}

/// The status of the response at hand.
fn status() -> u16 {
    let status = trilane_abi::header_value(HeaderBlock::Response, ":status").unwrap_or_default();
    core::str::from_utf8(&status)
        .ok()
        .and_then(|status| status.parse().ok())
        .unwrap_or(0)
}
