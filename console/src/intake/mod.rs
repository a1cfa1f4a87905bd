//! The ledger is taken in exactly once.
//!
//! An agent sends what its Envoy's ledger file has, in [`LedgerBatch`]es: bytes, and where they begin in the file. [`take`] takes
//! the whole lines in one transaction: it locks the file's position, compares, adds up (`batch_sums.rs`), and moves the position
//! behind the last whole line. A batch that comes again finds the position past it and changes nothing. One that does not begin
//! at the position is refused with it, so the agent goes on from there, whatever either of them has forgotten.
//!
//! Every line that is not counted is kept aside, so all bytes below the position are accounted for. Lines that somebody has made
//! void (`void.rs`) are kept aside, too: those that had been counted are taken from all sums again.

mod batch;
mod batch_sums;
mod spent;
mod sums;
mod take;
pub mod void;

pub use batch::{InvalidBatch, LedgerBatch};
pub use spent::SpentLines;
pub use take::{IntakeError, TakenBatch, take};
