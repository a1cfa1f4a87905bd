//! The options of `trilane check`.

use std::path::PathBuf;

/// Says everything that is wrong with configuration documents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A document is judged by the code that the gateway judges it with: what is good here is taken there. Problems \
keep it from coming into force; warnings are allowed, yet look unintended. Of each account it says to which URL \
a POST goes, and a note tells where 0.1 sent it elsewhere. No other value of the document is repeated, for it \
may be a secret in a wrong place. Whether the files that a document names are there, and \
what Envoy needs for its accounts, `trilane render --check` says.

Exit codes:
  0  every document is good
  1  one has problems; with --strict: or warnings
  2  one cannot be read, or wrong command line

Examples:
  trilane check gateway.json
  trilane check --strict --json configurations/*.json")]
pub struct Args {
    /// Configuration documents; `-`: standard input
    #[arg(value_name = "DOCUMENT", required = true)]
    pub documents: Vec<PathBuf>,

    /// Take warnings for problems
    #[arg(long)]
    pub strict: bool,

    /// Say it as JSON: one object
    #[arg(long)]
    pub json: bool,
}
