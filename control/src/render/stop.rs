//! The wish to stop, for a command that is not asynchronous.

use std::cell::{Cell, RefCell};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::signals::Signals;

/// The shortest wait: one turn of the runtime, in which it sees signals that arrived before.
const TURN: Duration = Duration::from_millis(1);

/// A wish to stop. What is being written is finished first.
pub struct Stop {
    source: StopSource,
    came: Cell<bool>,
}

/// The origin of a wish to stop.
enum StopSource {
    /// SIGTERM and SIGINT, which from now on end nothing by themselves.
    Signals(Runtime, RefCell<Signals>),
    /// Another thread, which drops its end.
    Thread(Receiver<()>),
}

impl Stop {
    /// Listens for signals from now on.
    ///
    /// # Errors
    /// Signals cannot be caught.
    pub fn by_signals() -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::Data(format!("cannot listen to signals: {error}")))?;
        let signals = {
            let _within = runtime.enter();
            Signals::catch()?
        };
        Ok(Self::of(StopSource::Signals(
            runtime,
            RefCell::new(signals),
        )))
    }

    /// Creates a stop that comes when the returned sender is dropped.
    pub fn by_thread() -> (Sender<()>, Self) {
        let (sender, receiver) = mpsc::channel();
        (sender, Self::of(StopSource::Thread(receiver)))
    }

    const fn of(source: StopSource) -> Self {
        let came = Cell::new(false);
        Self { source, came }
    }

    /// Whether it came, now or before; waits so long for it.
    pub fn came_within(&self, time: Duration) -> bool {
        if !self.came.get() {
            self.came.set(match &self.source {
                StopSource::Signals(runtime, signals) => {
                    let mut signals = signals.borrow_mut();
                    let wait = async { timeout(time.max(TURN), signals.received()).await };
                    runtime.block_on(wait).is_ok()
                }
                StopSource::Thread(dropped) => {
                    dropped.recv_timeout(time) != Err(RecvTimeoutError::Timeout)
                }
            });
        }
        self.came.get()
    }
}
