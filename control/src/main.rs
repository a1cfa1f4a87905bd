//! The `trilane` command: what an operator needs beside the gateway. Each subcommand has a room of its own.
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::string_slice,
        reason = "a test may panic"
    )
)]

mod cli;
mod failure;
mod render;
mod serve;
mod terminal;
mod usage;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match cli::Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            failure.exit_code()
        }
    }
}
