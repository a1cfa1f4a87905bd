//! Whether the console answers.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::client::ConsoleError;

/// Whether the console answers, and takes this agent.
#[derive(Debug)]
pub struct ConsoleContact(Mutex<Contact>);

#[derive(Debug, Clone, Copy)]
struct Contact {
    /// The time of the latest answer; at first, the time of the start.
    answered_at: Instant,
    refused: bool,
    counts: ContactCounts,
}

/// Requests to the console by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContactCounts {
    /// It answered, whatever it said.
    pub answered: u64,
    /// It did not answer.
    pub away: u64,
    /// It did not take the agent's credential.
    pub refused: u64,
}

impl Default for ConsoleContact {
    fn default() -> Self {
        Self(Mutex::new(Contact {
            answered_at: Instant::now(),
            refused: false,
            counts: ContactCounts::default(),
        }))
    }
}

impl ConsoleContact {
    fn contact(&self) -> MutexGuard<'_, Contact> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how a request ended.
    pub fn note<T>(&self, ended: &Result<T, ConsoleError>) {
        let mut contact = self.contact();
        let counts = &mut contact.counts;
        let count = match ended {
            Err(ConsoleError::Away(_)) => &mut counts.away,
            Err(ConsoleError::Refused(_)) => &mut counts.refused,
            _ => &mut counts.answered,
        };
        *count = count.saturating_add(1);
        if matches!(ended, Err(ConsoleError::Away(_))) {
            return;
        }
        contact.answered_at = Instant::now();
        contact.refused = matches!(ended, Err(ConsoleError::Refused(_)));
    }

    /// Returns the time since the latest answer of the console.
    pub fn age(&self) -> Duration {
        self.contact().answered_at.elapsed()
    }

    /// Whether its last answer was that it does not take this agent.
    pub fn is_refused(&self) -> bool {
        self.contact().refused
    }

    /// Requests by how they ended.
    pub fn counts(&self) -> ContactCounts {
        self.contact().counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_says() {
        let contact = ConsoleContact::default();
        let long_ago = Instant::now().checked_sub(Duration::from_secs(90)).unwrap();
        for (case, ended, answered, refused) in [
            ("good", Ok(()), true, false),
            (
                "refused",
                Err(ConsoleError::Refused("no".to_owned())),
                true,
                true,
            ),
            (
                "away",
                Err(ConsoleError::Away("no".to_owned())),
                false,
                true,
            ),
            (
                "an error",
                Err(ConsoleError::Other("500".to_owned())),
                true,
                false,
            ),
        ] {
            contact.contact().answered_at = long_ago;
            contact.note(&ended);
            assert_eq!(contact.age() < Duration::from_secs(60), answered, "{case}");
            assert_eq!(contact.is_refused(), refused, "{case}");
        }
        let counts = ContactCounts {
            answered: 2,
            away: 1,
            refused: 1,
        };
        assert_eq!(contact.counts(), counts);
    }
}
