//! The options of `trilane check`.

use std::path::PathBuf;

use crate::output::FormatArgs;

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
  trilane check --document gateway.json
  trilane check --strict --format json --document configurations/*.json")]
pub struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Take warnings for problems
    #[arg(long)]
    pub strict: bool,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// The documents that are checked.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct DocumentArgs {
    /// A configuration document, or several; `-`: standard input
    #[arg(long = "document", value_name = "FILE", num_args = 1..)]
    documents: Vec<PathBuf>,

    /// The same, as 0.1 takes it
    #[arg(value_name = "DOCUMENT", hide = true)]
    positional: Vec<PathBuf>,
}

impl Args {
    /// The documents, in their order.
    pub fn documents(&self) -> impl Iterator<Item = &PathBuf> {
        let DocumentArgs {
            documents,
            positional,
        } = &self.documents;
        documents.iter().chain(positional)
    }
}
