//! The options of `trilane check`.

use std::path::PathBuf;

use crate::console_api::ServerArgs;
use crate::output::FormatArgs;

/// Reports every problem of configuration documents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The gateway's own code checks the document, so both always agree. Problems keep a document from taking effect; \
warnings are allowed, but look unintended. For each upstream account it prints the URL of a POST. No other value of the document is printed, because it may be a secret in a wrong place. Files that \
the document names, and what Envoy needs for its accounts, are checked by `trilane render --check`.

With --server a console checks it, beside what that has in force: its own prices, the keys of its database that gain or lose models, and \
the credentials that it keeps. Nothing is changed there.

Exit codes:
  0  every document is valid
  1  one has problems; with --strict: or warnings
  2  one cannot be read, or wrong command line

Examples:
  trilane check --document gateway.json
  trilane check --strict --format json --document configurations/*.json
  trilane check --server https://console.example.com --document gateway.json")]
pub struct CheckArgs {
    #[command(flatten)]
    documents: CheckedDocuments,

    #[command(flatten)]
    pub server: ServerArgs,

    /// Treat warnings as problems
    #[arg(long)]
    pub strict: bool,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// The documents that are checked.
#[derive(Debug, clap::Args)]
#[group(skip)]
struct CheckedDocuments {
    /// One or more configuration documents, which are required; `-`: standard input
    #[arg(
        long = "document",
        value_name = "FILE",
        num_args = 1..,
        required_unless_present = "positional"
    )]
    documents: Vec<PathBuf>,

    /// The same without `--document`
    #[arg(value_name = "DOCUMENT", hide = true)]
    positional: Vec<PathBuf>,
}

impl CheckArgs {
    /// The documents, in their order.
    pub fn documents(&self) -> impl Iterator<Item = &PathBuf> {
        let CheckedDocuments {
            documents,
            positional,
        } = &self.documents;
        documents.iter().chain(positional)
    }
}
