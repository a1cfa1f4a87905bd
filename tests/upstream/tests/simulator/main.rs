//! The simulator, by requests. All tests are one program: each would link everything anew.

mod command;
mod endings;
mod endpoints;
mod journal;
mod steering;
mod streams;
mod support;
mod tls;
mod totals;
mod usage;
