//! The options of `trilane models`.

use trilane::protocol::Protocol;
use trilane_console::vendors::protocol_title;

use crate::document::DocumentArg;
use crate::gateway::KeyHolderArgs;
use crate::output::FormatArgs;

/// Lists the models that a key sees, as the gateway would respond.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The list is written by the gateway's own code, from the document alone. The key goes into the header of the \
protocol that asks (--protocol): A and B ask for /v1/models, C for /v1beta/models. With --format json the response's body is \
printed as it is.

Exit codes:
  0  there is a list, perhaps an empty one
  1  the gateway would reject the request: the reason is printed
  2  no result: a file cannot be read, the document is invalid, or wrong command line

Examples:
  trilane models --document gateway.json --group mixed
  trilane models --document gateway.json --key-file key.txt --protocol C --format json")]
pub struct ModelsArgs {
    #[command(flatten)]
    pub document: DocumentArg,

    #[command(flatten)]
    pub whose: KeyHolderArgs,

    /// The protocol that asks [default: the group's own; of a Mixed group: A]
    #[arg(long, value_name = "PROTOCOL")]
    pub protocol: Option<ClientProtocol>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// A protocol, on the command line.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
#[value(rename_all = "verbatim")]
pub enum ClientProtocol {
    /// The protocol of OpenAI.
    #[value(help = protocol_title(Protocol::A))]
    A,
    /// The protocol of Anthropic.
    #[value(help = protocol_title(Protocol::B))]
    B,
    /// The protocol of Gemini.
    #[value(help = protocol_title(Protocol::C))]
    C,
}

impl From<ClientProtocol> for Protocol {
    fn from(asking: ClientProtocol) -> Self {
        match asking {
            ClientProtocol::A => Self::A,
            ClientProtocol::B => Self::B,
            ClientProtocol::C => Self::C,
        }
    }
}
