//! The command, run as an operator runs it. All tests are one program: each would link everything anew.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod bad_input;
mod check;
mod command_output;
mod console;
mod desk;
mod envoy_config;
mod explain;
mod filter;
mod formats;
#[path = "../../../console/tests/console/golden.rs"]
mod golden;
mod help;
mod init;
mod key;
mod models;
mod prices;
mod reference;
mod render;
mod serve;
mod server;
mod support;
mod up;
mod usage_inputs;
mod usage_spent;
mod usage_stream;
mod usage_totals;
