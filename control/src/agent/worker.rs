//! Threads that do one thing again and again.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::standing::AgentProgress;

/// The longest pause after failures.
const LONGEST: Duration = Duration::from_secs(5);

/// Ends the threads of an agent.
#[derive(Debug, Clone, Default)]
pub struct AgentStop(Arc<(Mutex<bool>, Condvar)>);

impl AgentStop {
    /// Lets all threads end that wait for it.
    pub fn now(&self) {
        let (stopped, condition) = &*self.0;
        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        condition.notify_all();
    }

    /// Waits for so long. Whether they are to end.
    pub fn within(&self, pause: Duration) -> bool {
        let (stopped, condition) = &*self.0;
        let guard = stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = condition.wait_timeout_while(guard, pause, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

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

/// Begins a thread for it, which ends with `stop`. A failure is told once while it lasts, and tried again ever later.
///
/// # Errors
/// The thread cannot be started.
pub fn begin<C: PeriodicTask>(
    mut task: C,
    standing: Arc<AgentProgress>,
    stop: AgentStop,
) -> std::io::Result<JoinHandle<()>> {
    standing.is_up_to_date(C::NAME);
    let go_on = move || {
        let mut pause = C::PAUSE;
        loop {
            let done = task.run();
            standing.note(C::NAME, done.as_ref().err().map(String::as_str));
            if matches!(done, Ok(Next::Later)) {
                standing.is_up_to_date(C::NAME);
            }
            let wait = match done {
                Ok(next) => {
                    pause = C::PAUSE;
                    match next {
                        Next::AtOnce => Duration::ZERO,
                        Next::Later => pause,
                    }
                }
                Err(_) => {
                    pause = pause.saturating_mul(2).min(LONGEST);
                    pause
                }
            };
            if stop.within(wait) {
                return;
            }
        }
    };
    thread::Builder::new().name(C::NAME.to_owned()).spawn(go_on)
}
