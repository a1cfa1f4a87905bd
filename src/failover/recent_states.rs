//! States of sources' accounts that a VM has read lately: a source with a hundred requests in ten milliseconds needs one reading.

use std::cell::RefCell;
use std::rc::Rc;

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::states::{self, States};
use crate::shared_data::{SharedData, is_fresh};

/// The maximum number of sources that are remembered.
const MOST: usize = 512;

/// The time at which a source's states were read, in microseconds of the steady clock, and the states.
type StatesReading = (u64, Rc<States>);

/// The states read in the last ten milliseconds, by the source's group.
#[derive(Debug, Default)]
pub(super) struct RecentStates(RefCell<HashMap<SmolStr, StatesReading>>);

impl RecentStates {
    /// Returns the known state of a source's accounts, ten milliseconds old at the most.
    pub(super) fn at(&self, now_us: u64, source: &str, shared: &impl SharedData) -> Rc<States> {
        let Ok(mut sources) = self.0.try_borrow_mut() else {
            return Rc::new(states::read(source, shared));
        };
        if let Some((read_us, states)) = sources.get(source)
            && is_fresh(*read_us, now_us)
        {
            return Rc::clone(states);
        }
        let states = Rc::new(states::read(source, shared));
        if sources.len() >= MOST {
            sources.clear();
        }
        sources.insert(source.into(), (now_us, Rc::clone(&states)));
        states
    }

    /// Something else is known of a source's accounts now.
    pub(super) fn forget(&self, source: &str) {
        if let Ok(mut sources) = self.0.try_borrow_mut() {
            sources.remove(source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AccountEvent::{Answered, NotReady};
    use super::super::Registry;
    use super::super::fixtures::source;
    use super::*;
    use crate::host::fake::{FakeHost, FakeProcess};
    use crate::shared_data::FRESH_US;

    #[test]
    fn a_source_is_read_once_in_ten_milliseconds() {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let (here, elsewhere) = (Registry::default(), Registry::default());
        let source = source(2);
        let accounts = source.accounts.as_deref().unwrap();
        let marks = &accounts.marks[0];
        let begin = 1_000_000;
        // (case, what another worker notes before, when it is read, whether the account is known to answer)
        let cases = [
            ("nothing is known", None, begin, false),
            ("noted", Some(Answered), begin + FRESH_US - 1, false),
            ("ten milliseconds later", None, begin + FRESH_US, true),
            ("a clock that was set back", Some(NotReady), begin, false),
        ];
        for (case, event, now_us, known) in cases {
            process.steady_us.set(now_us);
            if let Some(event) = event {
                elsewhere.note(event, "s", accounts, 0, &host);
            }
            let states = here.states(now_us, "s", &host);
            assert_eq!(states.has_answered(marks), known, "{case}");
        }
        let second = &accounts.marks[1];
        here.note(Answered, "s", accounts, 1, &host);
        let states = here.states(begin + 1, "s", &host);
        assert!(states.has_answered(second), "noted by this worker");
    }

    #[test]
    fn it_stays_small() {
        let host = FakeHost::of(&FakeProcess::start());
        let recent = RecentStates::default();
        for source in 0..3 * MOST {
            recent.at(1, &source.to_string(), &host);
            assert!(recent.0.borrow().len() <= MOST);
        }
    }
}
