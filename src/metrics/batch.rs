//! Counters that are gathered in the VM and written to Envoy with its ticks: a host call for each counter that has moved
//! since, not for each time that it does.

use core::num::NonZeroUsize;
use std::collections::VecDeque;

use crate::host::{StatId, StatKind, Stats};

/// The maximum number of counters that one tick writes. A worker does nothing else meanwhile: this takes some tenths of a
/// millisecond. Those that have waited longest come first.
const AT_ONCE: usize = 1000;

/// The most that Envoy adds to a counter; a greater number would not be counted at all.
const MOST: u64 = i64::MAX.unsigned_abs();

/// A counter of a [`CounterBatch`], defined when it is first used.
#[derive(Debug, Default)]
pub(super) struct BatchedCounter(Option<NonZeroUsize>);

/// The increments of some counters since the last write.
#[derive(Debug, Default)]
pub(super) struct CounterBatch {
    gathered: Vec<CounterIncrement>,
    /// The places of those that have gathered something, in the order in which they began to.
    waiting: VecDeque<usize>,
    /// Whether nobody will write any more what is gathered.
    over: bool,
}

/// The increment of one counter since the last write.
#[derive(Debug)]
struct CounterIncrement {
    id: StatId,
    count: u64,
}

impl CounterBatch {
    /// Defines a counter under this name, if it is not yet.
    pub(super) fn define(
        &mut self,
        counter: &mut BatchedCounter,
        name: impl FnOnce() -> String,
        stats: &impl Stats,
    ) {
        self.place(counter, name, stats);
    }

    /// Adds to a counter of this name.
    pub(super) fn add(
        &mut self,
        counter: &mut BatchedCounter,
        count: u64,
        name: impl FnOnce() -> String,
        stats: &impl Stats,
    ) {
        let place = self.place(counter, name, stats);
        let Some(gathered) = self.gathered.get_mut(place) else {
            return;
        };
        if self.over {
            return stats.add(gathered.id, count);
        }
        if count == 0 || count > MOST {
            return;
        }
        if gathered.count == 0 {
            self.waiting.push_back(place);
        }
        let sum = gathered.count.saturating_add(count);
        gathered.count = if sum > MOST {
            stats.add(gathered.id, gathered.count);
            count
        } else {
            sum
        };
    }

    /// Writes what is gathered, as much of it as a tick may.
    pub(super) fn write(&mut self, stats: &impl Stats) {
        self.write_some(AT_ONCE, stats);
    }

    /// Writes all that is gathered: the VM, or this part of it, ends. What is added from now on is written at once.
    pub(super) fn end(&mut self, stats: &impl Stats) {
        self.over = true;
        self.write_some(usize::MAX, stats);
    }

    fn write_some(&mut self, most: usize, stats: &impl Stats) {
        let most = most.min(self.waiting.len());
        for place in self.waiting.drain(..most) {
            if let Some(gathered) = self.gathered.get_mut(place) {
                stats.add(gathered.id, core::mem::take(&mut gathered.count));
            }
        }
    }

    /// The place of a counter, which is defined if it is not yet.
    fn place(
        &mut self,
        counter: &mut BatchedCounter,
        name: impl FnOnce() -> String,
        stats: &impl Stats,
    ) -> usize {
        if let Some(number) = counter.0 {
            return number.get().saturating_sub(1);
        }
        let place = self.gathered.len();
        self.gathered.push(CounterIncrement {
            id: stats.define(StatKind::Counter, &name()),
            count: 0,
        });
        counter.0 = NonZeroUsize::new(place.saturating_add(1));
        place
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Stats that remember what was written to them, by the counter's id.
    #[derive(Debug, Default)]
    struct RecordedStats(RefCell<Vec<String>>, RefCell<Vec<(u32, u64)>>);

    impl RecordedStats {
        fn take(&self) -> Vec<(u32, u64)> {
            self.1.take()
        }
    }

    impl Stats for RecordedStats {
        fn define(&self, kind: StatKind, name: &str) -> StatId {
            assert_eq!(kind, StatKind::Counter);
            let mut names = self.0.borrow_mut();
            names.push(name.to_owned());
            Some(u32::try_from(names.len() - 1).unwrap())
        }

        fn add(&self, id: StatId, count: u64) {
            self.1.borrow_mut().push((id.unwrap(), count));
        }

        fn record(&self, _: StatId, _: u64) {
            panic!("a counter is added to");
        }
    }

    #[test]
    fn a_counter_is_defined_once_and_written_with_the_tick() {
        let (stats, mut batch) = (RecordedStats::default(), CounterBatch::default());
        let [mut a, mut b] = [(), ()].map(|()| BatchedCounter::default());
        batch.define(&mut b, || "b".to_owned(), &stats);
        for count in [1, 2, 0, 4] {
            batch.add(&mut a, count, || "a".to_owned(), &stats);
        }
        assert_eq!(*stats.0.borrow(), ["b", "a"]);
        assert_eq!(stats.take(), [], "before the tick");
        batch.write(&stats);
        assert_eq!(stats.take(), [(1, 7)], "what has not moved costs nothing");
        batch.write(&stats);
        assert_eq!(stats.take(), [], "written once");
        batch.add(&mut a, 1, || "a".to_owned(), &stats);
        batch.add(&mut b, 1, || "b".to_owned(), &stats);
        batch.write(&stats);
        assert_eq!(stats.take(), [(1, 1), (0, 1)], "in their order");
    }

    #[test]
    fn a_tick_writes_only_so_many_and_the_next_goes_on() {
        let (stats, mut batch) = (RecordedStats::default(), CounterBatch::default());
        let mut counters: Vec<_> = (0..AT_ONCE + 2)
            .map(|_| BatchedCounter::default())
            .collect();
        let mut add = |batch: &mut CounterBatch| {
            for counter in &mut counters {
                batch.add(counter, 1, || "c".to_owned(), &stats);
            }
        };
        add(&mut batch);
        batch.write(&stats);
        assert_eq!(stats.take().len(), AT_ONCE);
        // Those that were not written yet come first, with all that they have gathered.
        add(&mut batch);
        batch.write(&stats);
        let [last, end] = [AT_ONCE, AT_ONCE + 1].map(|place| u32::try_from(place).unwrap());
        let written = stats.take();
        assert_eq!(written[..3], [(last, 2), (end, 2), (0, 1)]);
        assert_eq!(written.len(), AT_ONCE);
        batch.write(&stats);
        assert_eq!(stats.take().len(), 2);
    }

    #[test]
    fn nothing_is_left_at_the_end_nor_gathered_after_it() {
        let (stats, mut batch) = (RecordedStats::default(), CounterBatch::default());
        let mut counters: Vec<_> = (0..AT_ONCE + 2)
            .map(|_| BatchedCounter::default())
            .collect();
        for counter in &mut counters {
            batch.add(counter, 3, || "c".to_owned(), &stats);
        }
        batch.end(&stats);
        assert_eq!(stats.take().len(), AT_ONCE + 2);
        batch.add(&mut counters[5], 4, || "c".to_owned(), &stats);
        assert_eq!(stats.take(), [(5, 4)], "a stream that ends later");
    }

    /// Envoy's counters take a signed number.
    #[test]
    fn no_more_is_gathered_than_envoy_adds() {
        let (stats, mut batch) = (RecordedStats::default(), CounterBatch::default());
        let mut counter = BatchedCounter::default();
        let mut add = |count| batch.add(&mut counter, count, || "c".to_owned(), &stats);
        add(MOST - 1);
        add(MOST + 1);
        add(1);
        assert_eq!(stats.take(), []);
        add(2);
        assert_eq!(stats.take(), [(0, MOST)]);
        batch.write(&stats);
        assert_eq!(stats.take(), [(0, 2)]);
    }
}
