//! Exchanges driven natively, through everything but the host calls: `make instructions` counts what they execute, and
//! the micro-benchmarks take their bodies and answers.

pub mod exchange;
pub mod head;
pub mod kinds;
pub mod payloads;
