//! The events of a stream, and their repetitions: the whole script, or another ending of it.

use crate::fixture::Script;
use crate::report::UsagePlace;
use crate::scenario::{Placing, Scenario, StreamEnding};
use crate::template::Template;

/// An event and its repetitions.
#[derive(Clone, Copy, Debug)]
pub struct StreamStep {
    /// The event.
    pub event: &'static Template,
    /// The number of times that the event comes.
    pub times: u64,
    /// The number of times that would make it whole: what grows has grown up in the last of them.
    pub of: u64,
    /// Only the first half of it is written.
    pub torn: bool,
}

impl StreamStep {
    fn once(event: &'static Template) -> Self {
        Self::repeated(event, 1)
    }

    fn repeated(event: &'static Template, times: u64) -> Self {
        Self {
            event,
            times,
            of: times,
            torn: false,
        }
    }
}

/// The steps of `script` with this number of deltas, and of images where it makes images.
pub fn steps(
    script: &'static Script,
    scenario: &Scenario,
    deltas: u64,
    images: u64,
) -> Vec<StreamStep> {
    let cumulative = scenario.placing == Placing::Cumulative;
    let mut steps: Vec<_> = script
        .events
        .iter()
        .map(|event| match &script.running {
            Some(running) if cumulative && event.place() == Some(UsagePlace::Ended) => {
                StreamStep::repeated(running, 3)
            }
            _ => StreamStep::once(event),
        })
        .collect();
    let delta = steps.iter().position(|step| step.event.is_delta());
    let after_deltas = delta.map_or(steps.len(), |at| at + 1);
    if let Some(step) = delta.and_then(|at| steps.get_mut(at)) {
        step.times = deltas;
        // The last delta is not the last event, and leaves it something to add.
        step.of = deltas.saturating_add(1);
    }
    if let Some(last) = steps.last_mut().filter(|_| script.makes_images) {
        *last = StreamStep::repeated(last.event, images);
    }
    let other = match scenario.ending {
        StreamEnding::Whole => None,
        StreamEnding::Error => {
            steps.truncate(after_deltas);
            Some(&script.error)
        }
        StreamEnding::Truncated => {
            steps.truncate(after_deltas);
            None
        }
        StreamEnding::Torn => {
            steps.truncate(after_deltas + 1);
            if let Some(last) = steps.last_mut() {
                last.times = 1;
                last.torn = true;
            }
            None
        }
        StreamEnding::Failed => {
            steps.truncate(after_deltas);
            script.failed.as_ref()
        }
        StreamEnding::Incomplete => {
            steps.pop();
            script.incomplete.as_ref()
        }
        StreamEnding::NoEnd => {
            if let Some(last) = steps.last_mut() {
                last.times -= 1;
            }
            None
        }
    };
    steps.extend(other.map(StreamStep::once));
    steps.retain(|step| step.times > 0);
    steps
}
