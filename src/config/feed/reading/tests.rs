//! The reading of a feed, driven natively by services of every kind.

mod cases;
mod gateway;
mod histories;
mod service;
mod take_up;

use super::*;
