//! The options of `trilane init`.

use std::path::PathBuf;

use super::credential::CredentialSource;
use super::vendor_arg::VendorArg;
use crate::data_directory::DataArg;
use crate::envoy_program::FetchingArg;
use crate::key::LimitArgs;
use crate::models::ClientProtocol;
use crate::system_ca::SystemCaArg;
use trilane::protocol::Protocol;
use trilane_console::vendors::{OwnPrice, protocol_style};

/// Makes a document, credentials and a first key for real vendors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --vendor it asks. With --vendor it asks nothing, for scripts.

It tests each credential with one request that costs nothing, for the vendor's list of models, and says what came back. \
Prices come from the catalogue (`trilane prices list`), from OpenRouter's own list, from --price, or from you; none is \
invented. A model without a \
price can be used, but what it costs is not counted, and no key that may use it can have a budget.

Written are DIR/gateway.json, DIR/credentials/ (directory 0700, files 0400) and the first key in DIR. A document that is \
there stays, unless --add or --force says otherwise. The environment's HTTPS_PROXY and NO_PROXY are respected, and the \
proxy is written into the account.

Exit codes:
  0  done
  1  not done: the vendor did not give its list, something is there already, or a file cannot be written
  2  wrong command line

Examples:
  trilane init
  trilane init --data ~/trilane --vendor anthropic --credential-file key.txt --budget-day 10
  trilane init --vendor openai --vendor anthropic   # credentials in OPENAI_API_KEY and ANTHROPIC_API_KEY
  trilane init --vendor compatible=http://127.0.0.1:11434/v1 --group ollama --no-credential --free
  trilane init --add --vendor gemini --key-id gemini")]
pub struct InitArgs {
    #[command(flatten)]
    pub data: DataArg,

    /// A vendor: openai, anthropic, gemini, openrouter, deepseek, or compatible=URL; NAME=URL for another address
    #[arg(long = "vendor", value_name = "NAME[=URL]", value_parser = VendorArg::parse)]
    pub vendors: Vec<VendorArg>,

    /// The protocol of a compatible address.
    #[arg(long, value_name = "PROTOCOL", requires = "vendors", help = protocol_help())]
    pub protocol: Option<ClientProtocol>,

    /// The id of the vendor's group [default: the vendor's name]
    #[arg(long, value_name = "ID", requires = "vendors")]
    pub group: Option<String>,

    #[command(flatten)]
    pub credential: CredentialArgs,

    /// The models to take, or `all` [default: those with a price in the catalogue; all if there is none]
    #[arg(long, value_name = "ID", value_delimiter = ',', requires = "vendors")]
    pub models: Vec<String>,

    /// The price of a model that the catalogue does not know: MODEL=INPUT/CACHED/OUTPUT, dollars for a million tokens.
    /// +TOKENS:INPUT/CACHED/OUTPUT behind it: for requests whose whole input is longer
    #[arg(long = "price", value_name = "MODEL=INPUT/CACHED/OUTPUT", value_parser = OwnPrice::parse, requires = "vendors")]
    pub prices: Vec<OwnPrice>,

    /// Models without a known price cost nothing: your own server
    #[arg(long, requires = "vendors")]
    pub free: bool,

    /// The certificate authorities of the vendor's address, where they are not the system's
    #[arg(long, value_name = "FILE", requires = "vendors")]
    pub ca: Option<PathBuf>,

    #[command(flatten)]
    pub system_ca: SystemCaArg,

    /// The id of the first key
    #[arg(long, value_name = "ID", default_value = "first")]
    pub key_id: String,

    /// Write the first key to this new file [default: its id, .key, in the data directory]
    #[arg(long, value_name = "FILE")]
    pub key_out: Option<PathBuf>,

    #[command(flatten)]
    pub terms: LimitArgs,

    /// Add the vendors to the document that is there, and a key for them: of its group `all`, which serves them too
    #[arg(long, conflicts_with = "force")]
    pub add: bool,

    /// With --add: leave the group `all` as it is; the key is for the first of the vendors
    #[arg(long, requires = "add")]
    pub apart: bool,

    /// Add the credential as another account of the group that has this vendor: it is used where those before it fail
    #[arg(long, requires = "add", requires = "vendors", conflicts_with_all = ["models", "prices", "free", "key_out"])]
    pub another_key: bool,

    /// Replace the document that is there; it stays as gateway.json.before
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub fetching: FetchingArg,

    /// The URL at which clients will reach the gateway, for the printed lines
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:10000",
        env = "TRILANE_GATEWAY"
    )]
    pub gateway: String,
}

/// The options that locate the credential. With several vendors each credential is in its usual environment variable.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(multiple = false)]
pub struct CredentialArgs {
    /// The file with the vendor's credential
    #[arg(long, value_name = "FILE", requires = "vendors")]
    pub credential_file: Option<PathBuf>,

    /// The environment variable with the vendor's credential [default: the one that its own tools use]
    #[arg(long, value_name = "NAME", requires = "vendors")]
    pub credential_env: Option<String>,

    /// The address asks for no credential
    #[arg(long, requires = "vendors")]
    pub no_credential: bool,
}

impl CredentialArgs {
    /// The place that is named, if one is.
    pub fn source(&self) -> Option<CredentialSource> {
        if self.no_credential {
            return Some(CredentialSource::None);
        }
        let file = self.credential_file.clone().map(CredentialSource::File);
        file.or_else(|| self.credential_env.clone().map(CredentialSource::Variable))
    }
}

/// Says which protocols a compatible address may have.
fn protocol_help() -> String {
    let all = [Protocol::A, Protocol::B, Protocol::C];
    let all = all.map(|protocol| format!("{protocol} ({})", protocol_style(protocol)));
    format!(
        "The protocol of a compatible address: {} [default: A]",
        all.join(", ")
    )
}
