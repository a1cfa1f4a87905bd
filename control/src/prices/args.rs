//! The options of `trilane prices`.

use std::path::PathBuf;

use crate::data_directory::DataArg;
use crate::document::DocumentArg;
use crate::models::ClientProtocol;
use crate::output::FormatArgs;
use crate::system_ca::SystemCaArg;

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
  trilane prices check --document gateway.json
  trilane prices import model_prices_and_context_window.json --vendor openai,anthropic")]
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
    /// Take prices of others' lists into your own catalogue
    Import(PricesImportArgs),
}

/// `trilane prices import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The list is LiteLLM's price file, the JSON of models.dev, or OpenRouter's list of models, as a file or at an https address. \
Each price is taken as the decimal that stands there, with the list and the day beside it. What is taken is shown first.

It is written into prices.json in the data directory, which comes before the catalogue of this command wherever a document \
says \"prices\": \"catalogue\". Documents beside that file use it, and so does the console of `trilane up`; another console has \
--prices FILE.

Exit codes:
  0  done, or nothing is new
  1  not done: the list cannot be read, has no such vendor or model, or nobody said yes
  2  wrong command line

Examples:
  trilane prices import model_prices_and_context_window.json
  trilane prices import https://models.dev/api.json --vendor xai,mistral --yes")]
pub struct PricesImportArgs {
    /// The list
    #[arg(value_name = "FILE|URL")]
    pub list: String,

    /// Only these vendors, by the list's names [default: those that have a preset here]
    #[arg(long = "vendor", value_name = "NAME", value_delimiter = ',')]
    pub vendors: Vec<String>,

    /// Only these models
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub models: Vec<String>,

    #[command(flatten)]
    pub data: DataArg,

    /// The certificate authorities of the address, where they are not the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

    #[command(flatten)]
    pub system_ca: SystemCaArg,

    /// Take them without a question
    #[arg(long)]
    pub yes: bool,
}

/// `trilane prices list`.
#[derive(Debug, clap::Args)]
pub struct PricesListArgs {
    #[command(flatten)]
    pub data: DataArg,

    /// Only models of this protocol
    #[arg(long, value_name = "PROTOCOL")]
    pub protocol: Option<ClientProtocol>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// `trilane prices show`.
#[derive(Debug, clap::Args)]
pub struct PricesShowArgs {
    #[command(flatten)]
    pub data: DataArg,

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
