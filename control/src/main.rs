//! The `trilane` command: what an operator needs beside the gateway. Each subcommand has a module of its own.
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::string_slice,
        reason = "a test may panic"
    )
)]

mod ads;
mod agent;
mod agent_feeds;
mod base_directory;
mod carried_filter;
mod check;
mod cli;
mod console;
mod console_api;
mod console_http;
mod data_directory;
mod destination;
mod diff;
mod document;
mod envoy_admin;
mod envoy_config;
mod envoy_program;
mod event_printer;
mod explain;
mod failure;
mod files;
mod filter;
mod gateway;
mod host_port;
mod in_force;
mod init;
mod ink;
mod key;
mod ledger_ballast;
mod ledger_disk;
mod ledger_files;
mod metrics_listener;
mod models;
mod open_files;
mod output;
mod prices;
mod publish;
mod reference;
mod render;
mod run_directory;
mod running_envoys;
mod runtime;
mod serve;
mod shell_line;
mod sign_in;
mod signals;
mod system_ca;
mod terminal;
mod up;
mod usage;
mod watched_files;

use std::process::ExitCode;

use clap::Parser as _;
use trilane_console::timestamp;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    open_files::raise_limit();
    match cli::Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            failure.exit_code()
        }
    }
}
