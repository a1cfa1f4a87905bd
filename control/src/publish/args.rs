//! The options of `trilane publish`.

use std::path::PathBuf;

use crate::console_api::ServerArgs;

/// Publishes a document at a console, which puts it in force on all of its gateways.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The console checks it first. What would change is printed: the number of places that differ from what is in force, and which keys gain or lose \
which models. Then it asks, unless --yes is given. If somebody else publishes meanwhile nothing is changed, so that nobody's change is lost. \
--if-version says which version the file was made from: it is published only while that one is in force.

Exit codes:
  0  published, or it is in force already
  1  not published: nothing is changed
  2  the document cannot be read, or wrong command line

Examples:
  trilane publish --server https://console.example.com --note 'gpt-5.1 for all' gateway.json
  TRILANE_SERVER=https://console.example.com trilane publish --yes --if-version 12 gateway.json")]
pub struct PublishArgs {
    /// The document; `-`: standard input, with --yes
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub server: ServerArgs,

    /// The reason for this version, in words
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub note: String,

    /// Publish it only while this version is in force; 0: while nothing is
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<i64>,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
