//! The command line: one subcommand a room.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::Failure;
use crate::{check, explain, filter, key, models, reference, render, serve, usage};

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
    /// Say everything that is wrong with configuration documents
    Check(check::Args),
    /// Say what the gateway would do with a request, or what happened to one, and why
    Explain(explain::Args),
    /// List the models that a key sees, as the gateway would answer
    Models(models::Args),
    /// Create, list, switch off, exchange and remove account keys of a document
    Key(key::Args),
    /// Add up what the gateway's ledger (its access log) says was used and charged
    Usage(usage::Args),
    /// Turn the document's upstream accounts into files that Envoy reads: clusters and secrets
    Render(render::Args),
    /// Copy the filter to where Envoy reads it
    Filter(filter::Args),
    /// Serve the document and a feed of keys to gateways, from files or from SQLite
    Serve(serve::Args),
    /// Print a script that makes a shell complete this command
    Completions(reference::Completions),
    /// Print a manual page
    Man(reference::Man),
}

impl Command {
    /// Runs it.
    ///
    /// # Errors
    /// Why it could not be done, or not wholly.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Check(args) => check::run(&args),
            Self::Explain(args) => explain::run(&args),
            Self::Models(args) => models::run(&args),
            Self::Key(args) => key::run(&args),
            Self::Usage(args) => usage::run(&args),
            Self::Render(args) => render::run(&args),
            Self::Filter(args) => filter::run(&args),
            Self::Serve(args) => serve::run(args),
            Self::Completions(args) => reference::completions(&args, Cli::command()),
            Self::Man(args) => reference::man(&args, Cli::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
