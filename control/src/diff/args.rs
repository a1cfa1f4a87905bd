//! The options of `trilane diff`.

use std::path::PathBuf;

use crate::console_api::ServerArgs;
use crate::output::FormatArgs;

/// Shows the differences between two documents, or between the one in force at a console and a file or a draft.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Two files are compared with each other. One file, or a draft, is compared with the document that the console (--server, or \
$TRILANE_SERVER) has in force. Lists whose items have ids are compared by them, so an item that is removed shifts nothing. `+` is what is new, \
`-` what is gone, `~` what is another.

Exit codes:
  0  no differences
  1  there are some
  2  a document cannot be read, or wrong command line

Examples:
  trilane diff gateway.json new.json
  trilane diff --server https://console.example.com gateway.json
  trilane diff --server https://console.example.com --draft first-run")]
pub struct DiffArgs {
    /// The documents, JSON files; `-`: standard input. With a console, one; without any, the draft
    #[arg(value_name = "FILE", num_args = 0..=2)]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub server: ServerArgs,

    /// The draft of the console [default: the only one]
    #[arg(long, value_name = "ID", conflicts_with = "files")]
    pub draft: Option<String>,

    #[command(flatten)]
    pub format: FormatArgs,
}
