//! The signals to stop.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// Waits for SIGTERM and SIGINT, which from now on end nothing by themselves: what is being written is brought to its
/// end first.
pub struct Stop {
    heard: Receiver<()>,
    came: Cell<bool>,
}

impl Stop {
    /// Listens from now on.
    ///
    /// # Errors
    /// Signals cannot be heard.
    pub fn new() -> Result<Self, Failure> {
        let mut signals = Signals::new([SIGTERM, SIGINT])
            .map_err(|error| Failure::Data(format!("cannot listen to signals: {error}")))?;
        let (say, heard) = channel();
        thread::spawn(move || {
            for _ in signals.forever() {
                let _ = say.send(());
            }
        });
        Ok(Self {
            heard,
            came: Cell::new(false),
        })
    }

    /// Whether one came, now or before; waits so long for it.
    pub fn came_within(&self, time: Duration) -> bool {
        if !self.came.get() {
            let heard = self.heard.recv_timeout(time);
            self.came.set(heard != Err(RecvTimeoutError::Timeout));
        }
        self.came.get()
    }
}
