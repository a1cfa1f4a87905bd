//! A load generator and a mock model source, both as cheap as they can be, so that what lies between
//! them is what is measured.
//!
//! The generator keeps a number of connections (HTTP/1.1, one thread) busy: *closed loop*, each sends
//! its next request when the answer is there, which finds the most that a gateway can do; or *open
//! loop*, requests fall due at a fixed rate whether or not the gateway keeps up, and a request's
//! latency counts from the moment it was due. It prints one JSON object ([`report`]). Or it sends a
//! number of requests of many kinds, however fast that goes ([`mix`]).
//!
//! The mock reads each request whole and answers from memory: a chat answer of 1 KB, or a stream of
//! events that each bear the time they were sent. Both read the same clock, so the generator knows
//! how long every event was on its way.

mod body;
mod cli;
mod client;
mod clock;
mod cpu;
mod json_answer;
mod latency;
mod load;
mod mix;
mod mock;
mod report;
mod request;
mod sse;
mod target;
mod timeline;

use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match cli::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = runtime
        .map_err(|error| format!("no runtime: {error}"))
        .and_then(|runtime| {
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, async {
                match command {
                    cli::LoadCommand::Help => {
                        print!("{}", cli::HELP);
                        Ok(())
                    }
                    cli::LoadCommand::Mock(listen) => mock::serve(listen).await,
                    cli::LoadCommand::Mix(mixture) => mix::run(&mixture).await,
                    cli::LoadCommand::Load(plan) => load::run(*plan).await.map(|report| {
                        println!("{}", report.to_json());
                    }),
                }
            })
        });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
