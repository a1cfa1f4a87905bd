//! Progress, on a terminal.

use std::cell::Cell;
use std::io::{self, IsTerminal as _, Write as _};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The interval between updates.
const PERIOD: Duration = Duration::from_millis(200);

/// A line on the terminal with the progress. Erased when dropped.
#[derive(Debug)]
pub struct ProgressLine {
    shown: bool,
    began: Instant,
    due: Instant,
    taken: Rc<Cell<u64>>,
    size: Option<u64>,
}

impl ProgressLine {
    /// Shows on standard error how many of `size` bytes are `taken`; `None` if that is not a terminal, so that no log
    /// contains it.
    pub fn new(taken: Rc<Cell<u64>>, size: Option<u64>) -> Option<Self> {
        let began = Instant::now();
        let due = began.checked_add(PERIOD)?;
        io::stderr().is_terminal().then_some(Self {
            shown: false,
            began,
            due,
            taken,
            size,
        })
    }

    /// Updates the line when it is due.
    pub fn tick(&mut self, lines: u64) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
        self.due = now.checked_add(PERIOD).unwrap_or(now);
        self.shown = true;
        let text = text(
            self.taken.get(),
            self.size,
            lines,
            now.duration_since(self.began),
        );
        let _ = write!(io::stderr(), "\r{text}\x1b[K");
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Writes a line such as `1.2 of 4.5 GB (27 %), 3400000 lines, 410000 lines/s`.
fn text(taken: u64, size: Option<u64>, lines: u64, time: Duration) -> String {
    let mega = |bytes: u64| bytes.div_euclid(1_000_000);
    let part = |size: u64| {
        u128::from(taken)
            .checked_mul(100)?
            .checked_div(u128::from(size))
    };
    let bytes = match size.and_then(|size| Some((size, part(size)?.min(100)))) {
        Some((size, percent)) => format!("{} of {} MB ({percent} %)", mega(taken), mega(size)),
        None => format!("{} MB", mega(taken)),
    };
    let rate = u128::from(lines)
        .saturating_mul(1000)
        .checked_div(time.as_millis())
        .unwrap_or(0);
    format!("{bytes}, {lines} lines, {rate} lines/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let second = Duration::from_secs(1);
        let cases = [
            (
                "size known",
                1_500_000,
                Some(6_000_000),
                "1 of 6 MB (25 %), 9 lines, 9 lines/s",
            ),
            (
                "size not known",
                1_500_000,
                None,
                "1 MB, 9 lines, 9 lines/s",
            ),
            ("empty file", 0, Some(0), "0 MB, 9 lines, 9 lines/s"),
            (
                "grown since",
                9_000_000,
                Some(6_000_000),
                "9 of 6 MB (100 %), 9 lines, 9 lines/s",
            ),
        ];
        for (case, taken, size, want) in cases {
            assert_eq!(text(taken, size, 9, second), want, "{case}");
        }
        assert!(text(0, None, 9, Duration::ZERO).ends_with(" 0 lines/s"));
    }
}
