//! `trilane up`: a whole gateway, as one program.
//!
//! The [`settings`] are those of the command line, the environment and a [`file`]; a [`plan`] is what they mean for one data
//! directory. Before Envoy starts, the directory is [locked](lock), an Envoy that an earlier run left over is [ended](orphan),
//! [ports](port) are held, and the files are [prepared](prepare): the filter, the document in force, Envoy's configuration.
//! Document and keys may come from a [console](console_link); in a container [its host](console_peer) may connect to it. For a demonstration there is a [`sample`] document and [simulators](demo).
//!
//! A [`supervisor`] starts the [Envoy process](envoy_process) by way of a [`launcher`], waits until it is ready, starts it again when it ends
//! ([`back_off`]) or hangs ([`watchdog`]), and drains it at the end through its [admin interface](admin). Meanwhile a document that is saved is put in force
//! (`crate::render`), the [`ledger`] is rotated, and what [Envoy's log](log) says about vendors that refuse an account,
//! and what is [new](news) of what Envoy itself refuses, is printed. The [`overview`] says what is where, [`metrics`] are served, and credentials that others can [read](readable) are named.

mod back_off;
mod console_link;
mod console_peer;
mod demo;
mod document;
mod envoy_process;
mod file;
mod launcher;
mod ledger;
mod lock;
mod log;
mod metrics;
mod news;
mod orphan;
mod overview;
mod plan;
mod port;
mod prepare;
mod readable;
mod refusal;
mod sample;
mod settings;
mod size;
mod supervisor;
mod watchdog;

pub use launcher::LaunchArgs;
pub use settings::UpArgs;

use crate::failure::Failure;
use crate::runtime;

/// Runs a gateway until a signal.
///
/// # Errors
/// It cannot be started, and what to do.
pub fn run(args: UpArgs) -> Result<(), Failure> {
    let plan = plan::Plan::new(args)?;
    // The demonstration's simulators have threads of their own. Envoy is started from this one, which lives as long as the
    // process: its end is what an Envoy without a supervisor notices.
    runtime::run(2, supervisor::run(plan))
}

/// Becomes Envoy: see [`launcher`].
///
/// # Errors
/// It cannot.
pub fn launch(args: &LaunchArgs) -> Result<(), Failure> {
    launcher::run(args)
}

/// Prints a line. A closed standard output is no reason to stop.
fn tell(line: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", crate::terminal::printable(line)).and_then(|()| out.flush());
}
