//! The signals to stop, for a command that is not asynchronous.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::signals::Signals;

/// The shortest wait: one turn of the runtime, in which it sees signals that arrived before.
const TURN: Duration = Duration::from_millis(1);

/// SIGTERM and SIGINT, which from now on end nothing by themselves: what is being written is finished first.
pub struct Stop {
    runtime: Runtime,
    signals: RefCell<Signals>,
    came: Cell<bool>,
}

impl Stop {
    /// Listens from now on.
    ///
    /// # Errors
    /// Signals cannot be caught.
    pub fn new() -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::Data(format!("cannot listen to signals: {error}")))?;
        let signals = {
            let _within = runtime.enter();
            Signals::catch()?
        };
        Ok(Self {
            runtime,
            signals: RefCell::new(signals),
            came: Cell::new(false),
        })
    }

    /// Whether one came, now or before; waits so long for it.
    pub fn came_within(&self, time: Duration) -> bool {
        if !self.came.get() {
            let mut signals = self.signals.borrow_mut();
            let wait = async { timeout(time.max(TURN), signals.received()).await };
            self.came.set(self.runtime.block_on(wait).is_ok());
        }
        self.came.get()
    }
}
