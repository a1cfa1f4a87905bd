//! The command line: its subcommands, each in a module of its own.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::Failure;
use crate::{
    agent, check, console, diff, envoy_config, envoy_program, explain, filter, init, key, models,
    prices, publish, reference, render, serve, sign_in, up, usage,
};

/// Tools for operating the trilane gateway.
#[derive(Debug, Parser)]
#[command(name = "trilane", version)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: TrilaneCommand,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum TrilaneCommand {
    /// Run the gateway on this machine: Envoy, supervised, with the filter and the document
    Up(Box<up::UpArgs>),
    /// Make a document, credentials and a first key for real vendors
    Init(init::InitArgs),
    /// Check configuration documents and report every problem
    Check(check::CheckArgs),
    /// Show the differences between documents, or from the one that a console has in force
    Diff(diff::DiffArgs),
    /// Publish a document at a console
    Publish(publish::PublishArgs),
    /// Explain what the gateway would do with a request, or what happened to one, and why
    Explain(explain::ExplainArgs),
    /// List the models that a key sees, as the gateway would respond
    Models(models::ModelsArgs),
    /// List the price catalogue, and compare a document with it
    Prices(prices::PricesArgs),
    /// Create, list, limit, disable, rotate and remove the API keys of a document, or of a console
    Key(key::KeyArgs),
    /// Add up usage and charges from the gateway's ledger (its access log), or of a console
    Usage(usage::UsageArgs),
    /// Turn the document's upstream accounts into files that Envoy reads: clusters and secrets
    Render(render::Args),
    /// Copy the filter to where Envoy reads it
    Filter(filter::FilterArgs),
    /// Install the Envoy that this release is tested with
    Envoy(envoy_program::EnvoyArgs),
    /// Print Envoy's configuration for a laptop, a sidecar, a container or the Helm chart
    EnvoyConfig(envoy_config::EnvoyConfigArgs),
    /// Serve the document and a feed of keys to gateways, from files or from SQLite
    Serve(serve::ServeArgs),
    /// Serve the control plane's API: keys, documents, usage and spend in one database
    Console(console::ConsoleArgs),
    /// Stand beside an Envoy: document and keys from the console, the ledger to the console
    Agent(agent::AgentArgs),
    /// Sign in at a console, for coding agents on this machine or for this command
    Login(sign_in::LoginArgs),
    /// Print a key of the person who is signed in, for programs that ask a command for theirs
    Token(sign_in::TokenArgs),
    /// Start a coding agent that is set up for the gateway
    Run(sign_in::RunArgs),
    /// Sign out
    Logout(sign_in::LogoutArgs),
    /// Become Envoy, and end with the supervisor
    #[command(name = "become-envoy", hide = true)]
    BecomeEnvoy(up::LaunchArgs),
    /// Print a script for shell completion
    Completions(reference::Completions),
    /// Print a manual page
    Man(reference::Man),
}

impl TrilaneCommand {
    /// Runs it.
    ///
    /// # Errors
    /// The reason that it failed, or did not do all of it.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Up(args) => up::run(*args),
            Self::BecomeEnvoy(args) => up::launch(&args),
            Self::Init(args) => init::run(&args),
            Self::Check(args) => check::run(&args),
            Self::Diff(args) => diff::run(&args),
            Self::Publish(args) => publish::run(&args),
            Self::Explain(args) => explain::run(&args),
            Self::Models(args) => models::run(&args),
            Self::Prices(args) => prices::run(&args),
            Self::Key(args) => key::run(&args),
            Self::Usage(args) => usage::run(&args),
            Self::Render(args) => render::run(&args),
            Self::Filter(args) => filter::run(&args),
            Self::Envoy(args) => envoy_program::run(&args),
            Self::EnvoyConfig(args) => envoy_config::run(&args),
            Self::Serve(args) => serve::run(args),
            Self::Console(args) => console::run(&args),
            Self::Agent(args) => agent::run(args),
            Self::Login(args) => sign_in::login(&args),
            Self::Token(args) => sign_in::token(&args),
            Self::Run(args) => sign_in::run(&args),
            Self::Logout(args) => sign_in::logout(&args),
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
