//! The API of a console, as commands with `--server` ask it: in the name of a person, with a [token] that is never on a command line.

mod args;
mod client;
mod document;
mod error;
mod pages;
mod token;

pub use args::{SERVER_VARIABLE, ServerArgs};
pub use client::ConsoleApi;
pub use document::DocumentCheck;
pub use error::{ApiError, ApiFault, PlacedFinding};
