//! The signals that end a command: SIGTERM and SIGINT.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// A signal that ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM: from a service manager.
    Terminate,
    /// SIGINT: Ctrl-C.
    Interrupt,
}

/// SIGTERM and SIGINT, caught: they no longer end the process, so that what is being written can be finished first.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Catches both from now on. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn catch() -> Result<Self, Failure> {
        Ok(Self {
            terminate: catch(SignalKind::terminate())?,
            interrupt: catch(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next of either; one that arrived since the last call counts.
    pub async fn received(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.terminate.recv() => EndSignal::Terminate,
            _ = self.interrupt.recv() => EndSignal::Interrupt,
        }
    }
}

/// The same with SIGHUP, which means that the terminal was closed, and counts as Ctrl-C.
#[derive(Debug)]
pub struct TerminalSignals {
    ends: Signals,
    hangup: Signal,
}

impl TerminalSignals {
    /// Catches all three from now on. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn catch() -> Result<Self, Failure> {
        Ok(Self {
            ends: Signals::catch()?,
            hangup: catch(SignalKind::hangup())?,
        })
    }

    /// Waits for the next of them; one that arrived since the last call counts.
    pub async fn received(&mut self) -> EndSignal {
        tokio::select! {
            signal = self.ends.received() => signal,
            _ = self.hangup.recv() => EndSignal::Interrupt,
        }
    }
}

fn catch(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::Data(format!("cannot listen to signals: {error}")))
}
