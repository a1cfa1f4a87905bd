//! The `trilane-upstream` command; see the library for what it does.

use std::io::{self, Write};
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use trilane_upstream::certificate::{self, CertificateOutcome};
use trilane_upstream::cli::{self, SimulatorCommand};
use trilane_upstream::server::{Address, Server};

fn main() -> ExitCode {
    match cli::parse(std::env::args_os().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("trilane-upstream: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: SimulatorCommand) -> Result<(), String> {
    match command {
        SimulatorCommand::Help => print(cli::HELP),
        SimulatorCommand::Certificate { out, names, kind } => {
            match certificate::write(&out, &names, kind)? {
                CertificateOutcome::Written => print(&format!(
                    "wrote ca.crt, server.crt and server.key to {}\n",
                    out.display()
                )),
                CertificateOutcome::Kept => print(&format!(
                    "kept the certificate in {}: it is still valid\n",
                    out.display()
                )),
            }
        }
        SimulatorCommand::Serve {
            listen,
            journal,
            threads,
        } => {
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            if let Some(threads) = threads {
                runtime.worker_threads(threads);
            }
            let runtime = runtime
                .enable_all()
                .build()
                .map_err(|error| format!("cannot start: {error}"))?;
            let served = runtime.block_on(serve(&listen, journal));
            runtime.shutdown_background();
            served
        }
    }
}

async fn serve(listen: &[Address], journal: bool) -> Result<(), String> {
    let cannot = |error: io::Error| format!("cannot start: {error}");
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let server = Server::bind(listen, journal).await?;
    for (name, address) in server.addresses().map_err(cannot)? {
        print(&format!("listening {name} {address}\n"))?;
    }
    tokio::select! {
        () = server.serve() => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| format!("cannot print: {error}"))
}
