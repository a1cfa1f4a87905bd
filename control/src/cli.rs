//! The command line: one subcommand a room.

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::{render, serve, usage};

/// Tools for operating the trilane gateway.
#[derive(Debug, Parser)]
#[command(name = "trilane", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Add up what the gateway's ledger (its access log) says was used and charged
    Usage(usage::Args),
    /// Turn the document's upstream accounts into files that Envoy reads: clusters and secrets
    Render(render::Args),
    /// Serve the document and a feed of keys to gateways, from files or from SQLite
    Serve(serve::Args),
}

impl Command {
    /// Runs it.
    ///
    /// # Errors
    /// Why it could not be done, or not wholly.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Usage(args) => usage::run(&args),
            Self::Render(args) => render::run(&args),
            Self::Serve(args) => serve::run(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
