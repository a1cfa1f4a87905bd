//! Threads that do one thing again and again.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use super::standing::AgentProgress;
use crate::failure::Failure;

/// The longest pause after failures.
const LONGEST: Duration = Duration::from_secs(5);

/// Tasks with a thread each, which end when this is dropped.
#[derive(Debug, Default)]
pub struct RunningTasks(Vec<Sender<Infallible>>);

/// Whether there is more to do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More work is due at once.
    AtOnce,
    /// Not before the next pause is over.
    Later,
}

/// One thing that an agent does again and again.
pub trait PeriodicTask: Send + 'static {
    /// The name of the task, for messages about it.
    const NAME: &'static str;
    /// The pause between two times.
    const PAUSE: Duration;

    /// Does it once.
    ///
    /// # Errors
    /// The failure, as text.
    fn run(&mut self) -> Result<Next, String>;
}

impl RunningTasks {
    /// Begins a thread for a task. A failure is told once while it lasts, and tried again ever later.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn begin<C: PeriodicTask>(
        &mut self,
        mut task: C,
        standing: &Arc<AgentProgress>,
    ) -> Result<(), Failure> {
        standing.is_up_to_date(C::NAME);
        let standing = Arc::clone(standing);
        let (goes_on, ended) = mpsc::channel();
        let go_on = move || {
            let mut pause = C::PAUSE;
            loop {
                let done = task.run();
                standing.note(C::NAME, done.as_ref().err().map(String::as_str));
                let wait = match done {
                    Ok(next) => {
                        pause = C::PAUSE;
                        match next {
                            Next::AtOnce => Duration::ZERO,
                            Next::Later => {
                                standing.is_up_to_date(C::NAME);
                                pause
                            }
                        }
                    }
                    Err(_) => {
                        pause = pause.saturating_mul(2).min(LONGEST);
                        pause
                    }
                };
                if ended.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name(C::NAME.to_owned());
        let begun = thread.spawn(go_on);
        begun.map_err(|error| Failure::Data(format!("cannot begin: {error}")))?;
        self.0.push(goes_on);
        Ok(())
    }
}
