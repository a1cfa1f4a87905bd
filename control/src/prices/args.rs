//! The options of `trilane prices`.

use crate::document::DocumentArg;
use crate::models::ClientProtocol;
use crate::output::FormatArgs;

/// Lists the price catalogue, and compares a document with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The catalogue has the prices of models as their vendors state them, in USD: per million tokens, per image, per call. \
Every price was read on a page of the vendor, which is named with the day of reading. A model without such a page is \
not in the catalogue. Prices change: look at the page before you rely on one.

A model of a document may say \"prices\": \"catalogue\". Check, render and serve put the numbers in its place, so the \
published document has numbers.

Exit codes:
  0  done; for check: no price differs
  1  check: a price differs. show: the catalogue does not know the model
  2  the document cannot be read or is invalid, or wrong command line

Examples:
  trilane prices list --protocol B
  trilane prices show claude-opus-4-8
  trilane prices check --document gateway.json")]
pub struct PricesArgs {
    #[command(subcommand)]
    pub command: PricesCommand,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
pub enum PricesCommand {
    /// List the models with their prices, and where these were read
    List(PricesListArgs),
    /// Show all that the catalogue says of a model
    Show(PricesShowArgs),
    /// Compare the prices of a document with the catalogue
    Check(PricesCheckArgs),
}

/// `trilane prices list`.
#[derive(Debug, clap::Args)]
pub struct PricesListArgs {
    /// Only models of this protocol
    #[arg(long, value_name = "PROTOCOL")]
    pub protocol: Option<ClientProtocol>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// `trilane prices show`.
#[derive(Debug, clap::Args)]
pub struct PricesShowArgs {
    /// The vendor's name of the model, in any spelling that means it
    #[arg(value_name = "MODEL")]
    pub model: String,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// `trilane prices check`.
#[derive(Debug, clap::Args)]
pub struct PricesCheckArgs {
    #[command(flatten)]
    pub document: DocumentArg,

    #[command(flatten)]
    pub format: FormatArgs,
}
