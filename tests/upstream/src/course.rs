//! The course of an exchange: its state, and the usage that its response has told so far.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::http::StatusCode;

use crate::totals::Totals;
use crate::usage::SimulatedUsage;

/// A stage of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeStage {
    /// The request body is arriving.
    Receiving,
    /// It has arrived; nothing is answered yet.
    RequestComplete,
    /// The peer went away before the request was complete.
    RequestAborted,
    /// The response is on its way.
    Answering,
    /// All of it was handed over.
    Answered,
    /// The peer went away before that, or the simulator was told to cut or stall.
    AnswerAborted,
}

impl ExchangeStage {
    /// All states, in the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::Receiving,
        Self::RequestComplete,
        Self::RequestAborted,
        Self::Answering,
        Self::Answered,
        Self::AnswerAborted,
    ];

    /// Whether nothing more comes.
    pub fn is_over(self) -> bool {
        matches!(
            self,
            Self::RequestAborted | Self::Answered | Self::AnswerAborted
        )
    }

    /// Returns the name in responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Receiving => "receiving",
            Self::RequestComplete => "request_complete",
            Self::RequestAborted => "request_aborted",
            Self::Answering => "answering",
            Self::Answered => "answered",
            Self::AnswerAborted => "answer_aborted",
        }
    }
}

/// The course of one exchange. Every step of it counts in the totals at once.
#[derive(Debug)]
pub struct ExchangeCourse {
    stand: Mutex<Stand>,
    totals: Arc<Totals>,
}

/// The state of an exchange at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Stand {
    pub(crate) state: ExchangeStage,
    pub(crate) status: Option<StatusCode>,
    pub(crate) events_sent: u64,
    /// All usage in events that are with the transport whole.
    pub(crate) issued: Option<SimulatedUsage>,
}

impl ExchangeCourse {
    /// The course of a request whose head has just arrived.
    pub fn new(totals: Arc<Totals>) -> Self {
        totals.begun(ExchangeStage::Receiving);
        Self {
            stand: Mutex::new(Stand {
                state: ExchangeStage::Receiving,
                status: None,
                events_sent: 0,
                issued: None,
            }),
            totals,
        }
    }

    /// Returns the present state of the exchange.
    pub fn stand(&self) -> Stand {
        *self.lock()
    }

    /// Records the end of the request body.
    pub fn request_complete(&self) {
        let mut stand = self.lock();
        if stand.state == ExchangeStage::Receiving {
            self.enter(&mut stand, ExchangeStage::RequestComplete);
        }
    }

    /// Records that the response begins.
    pub fn answering(&self, status: StatusCode) {
        let mut stand = self.lock();
        stand.status = Some(status);
        self.enter(&mut stand, ExchangeStage::Answering);
    }

    /// Records that another event is with the transport, and all that was told with it.
    pub fn event_sent(&self, told: Option<SimulatedUsage>) {
        let mut stand = self.lock();
        stand.events_sent += 1;
        if let Some(told) = told {
            self.totals.issued(stand.issued, told);
            stand.issued = Some(told);
        }
    }

    /// Records that the response is.
    pub fn answered(&self) {
        self.enter(&mut self.lock(), ExchangeStage::Answered);
    }

    /// Records that nothing more will happen.
    fn closed(&self) {
        let mut stand = self.lock();
        match stand.state {
            ExchangeStage::Receiving => self.enter(&mut stand, ExchangeStage::RequestAborted),
            ExchangeStage::RequestComplete | ExchangeStage::Answering => {
                self.enter(&mut stand, ExchangeStage::AnswerAborted);
            }
            ExchangeStage::RequestAborted
            | ExchangeStage::Answered
            | ExchangeStage::AnswerAborted => {}
        }
    }

    fn enter(&self, stand: &mut Stand, state: ExchangeStage) {
        self.totals.moved(stand.state, state);
        stand.state = state;
    }

    fn lock(&self) -> MutexGuard<'_, Stand> {
        self.stand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds a course for as long as its exchange lives: whatever ends that early is seen by the drop.
#[derive(Debug)]
pub struct Guard(pub Arc<ExchangeCourse>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.closed();
    }
}
