//! The synchronisation, driven natively by services of every kind.

mod cases;
mod compaction;
mod gateway;
mod histories;
mod resume;
mod service;

use super::*;
