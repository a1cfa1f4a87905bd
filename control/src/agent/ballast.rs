//! Keeps a ballast beside the ledger.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::standing::AgentProgress;
use super::worker::{Next, PeriodicTask};
use crate::ledger_ballast::LedgerBallast;

/// Gives the ballast up when the disk is full, and makes it when there is room.
#[derive(Debug)]
pub struct BallastKeeper {
    ballast: LedgerBallast,
    standing: Arc<AgentProgress>,
}

impl BallastKeeper {
    /// Returns the keeper of this ledger's ballast.
    pub fn new(ledger: &Path, standing: Arc<AgentProgress>) -> Self {
        Self {
            ballast: LedgerBallast::beside(ledger),
            standing,
        }
    }
}

impl PeriodicTask for BallastKeeper {
    const NAME: &'static str = "ballast";
    const PAUSE: Duration = Duration::from_millis(500);

    fn run(&mut self) -> Result<Next, String> {
        let kept = self.ballast.keep();
        self.standing.has_ballast(self.ballast.bytes());
        match kept {
            Ok(Some(said)) => self.standing.tell(&format!("ledger: {said}")),
            Ok(None) => {}
            Err(error) => return Err(format!("the ballast of the ledger cannot be kept: {error}")),
        }
        Ok(Next::Later)
    }
}
