//! The answers of one VM that are held, and the timer that lets them go.

use core::time::Duration;
use std::collections::BTreeMap;

use trilane::failover::judge::{Judge, MOST_HELD};

/// The period in which it is looked whether an answer has been held for long enough.
const LOOK: Duration = Duration::from_millis(50);
/// The number of looks in the time for which an answer is held at most.
const MOST_LOOKS: u32 = 6;
const _: () = assert!(LOOK.as_millis() * MOST_LOOKS as u128 == MOST_HELD.as_millis());
/// The number of looks, without an answer that is held, after which there are no more: on a busy worker the next answer does
/// not start the timer anew.
const IDLE_LOOKS: u32 = 40;

/// The answers that are held, by the context of their stream.
pub(crate) struct HeldAnswers {
    all: BTreeMap<u32, HeldAnswer>,
    /// Whether it is looked at them.
    is_watched: bool,
    /// The looks since an answer was held.
    idle_looks: u32,
}

/// An answer that is held.
struct HeldAnswer {
    judge: Judge,
    /// The number of looks until its time is over. The first may come at once, so that it is held for no longer than that.
    looks: u32,
}

impl HeldAnswers {
    pub(crate) const fn new() -> Self {
        Self {
            all: BTreeMap::new(),
            is_watched: false,
            idle_looks: 0,
        }
    }

    /// Holds the answer of a stream.
    pub(crate) fn hold(&mut self, stream: u32) {
        if !self.is_watched {
            self.is_watched = true;
            trilane_abi::tick_every(LOOK);
        }
        let answer = HeldAnswer {
            judge: Judge::default(),
            looks: MOST_LOOKS,
        };
        self.all.insert(stream, answer);
    }

    /// The judge of a stream's answer, while that is held.
    pub(crate) fn judge(&mut self, stream: u32) -> Option<&mut Judge> {
        self.all.get_mut(&stream).map(|answer| &mut answer.judge)
    }

    /// Holds the answer of a stream no longer.
    pub(crate) fn free(&mut self, stream: u32) {
        self.all.remove(&stream);
    }

    /// Takes out the streams whose time is over, at each look.
    pub(crate) fn on_look(&mut self) -> Vec<u32> {
        let mut due = Vec::new();
        self.all.retain(|stream, answer| {
            answer.looks = answer.looks.saturating_sub(1);
            if answer.looks == 0 {
                due.push(*stream);
            }
            answer.looks > 0
        });
        self.idle_looks = match self.all.is_empty() {
            true => self.idle_looks.saturating_add(1),
            false => 0,
        };
        if self.idle_looks >= IDLE_LOOKS {
            self.idle_looks = 0;
            self.is_watched = false;
            trilane_abi::tick_every(Duration::ZERO);
        }
        due
    }
}
