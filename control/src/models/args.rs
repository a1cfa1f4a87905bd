//! The options of `trilane models`.

use std::path::PathBuf;

use trilane::protocol::Protocol;

use crate::gateway::Whose;

/// Lists the models that a key sees, as the gateway would answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The list is written by the gateway's own code, from the document alone. The key goes into the header of the \
protocol that asks: A and B ask for /v1/models, C for /v1beta/models.

Exit codes:
  0  there is a list, perhaps an empty one
  1  the gateway would refuse to tell: the reason is said
  2  it cannot be told: a file cannot be read, the document is not good, or wrong command line

Examples:
  trilane models gateway.json --group mixed
  trilane models gateway.json --key-file key.txt --protocol C --json")]
pub struct Args {
    /// The gateway's configuration document; `-`: standard input
    #[arg(value_name = "DOCUMENT")]
    pub document: PathBuf,

    #[command(flatten)]
    pub whose: Whose,

    /// The protocol that asks [default: the group's own; of a Mixed group: A]
    #[arg(long, value_name = "PROTOCOL")]
    pub protocol: Option<Asking>,

    /// Print the answer's body as it is
    #[arg(long)]
    pub json: bool,
}

/// A protocol, as the command line names it.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
#[value(rename_all = "verbatim")]
pub enum Asking {
    /// Responses, Chat Completions
    A,
    /// Messages
    B,
    /// Native generate-content
    C,
}

impl From<Asking> for Protocol {
    fn from(asking: Asking) -> Self {
        match asking {
            Asking::A => Self::A,
            Asking::B => Self::B,
            Asking::C => Self::C,
        }
    }
}
