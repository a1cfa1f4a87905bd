//! The options of `trilane key`.

use std::path::{Path, PathBuf};

use time::{Duration, OffsetDateTime};

use super::access::AccessArgs;
use super::place::KeyPlaceArgs;
use super::terms::LimitArgs;
use crate::failure::Failure;
use crate::output::FormatArgs;
use crate::timestamp;

/// Creates, lists, shows, limits, narrows, disables, expires, rotates and removes the API keys of a document, or of a console.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Only the necessary part of the document's text changes. The file is replaced whole by a rename, with the same mode and \
owner. A document that the gateway would reject is not written, and a concurrent change is not overwritten. If the \
gateway reads this file, the change takes effect within a second; a document that is published (trilane render \
--publish) must be published again.

With --server the keys are those of a console: the same options and the same output, in the name of the person whose token it is. \
Gateways have a change within seconds. A key that somebody else has changed meanwhile stays as it is. Nobody's token stands on a \
command line: it is in $TRILANE_TOKEN, in the file that --token-file names, or from trilane login --api. With $TRILANE_SERVER \
the console need not be named where no document is.

The owner and the team are written into the document, so gateways write them into their ledgers.

A new key's value is printed once and stored nowhere: the document contains its SHA-256 only. No subcommand takes a \
value.

Exit codes:
  0  done, or nothing to do
  1  not done: nothing is changed
  2  the document cannot be read, or wrong command line

Examples:
  trilane key create --document gateway.json --id key_01 --group mixed --expires-in 90d --key-out key_01.txt
  trilane key create --document gateway.json --id key_02 --group mixed --owner sales \\
    --budget-month 200 --rpm 60
  trilane key create --document gateway.json --id key_03 --group mixed --models gpt-5.1,gpt-5.4 --multiplier 0.15 --team east
  trilane key limit --document gateway.json --id key_02 --budget-month 300 --rpm none
  trilane key access --document gateway.json --id key_03 --models all --multiplier 0.2
  trilane key rotate --document gateway.json --id key_01 --overlap 7d
  trilane key list --document gateway.json
  trilane key create --server https://console.example.com --id key_01 --group all --owner ann --key-out key_01.txt
  trilane key list --server https://console.example.com --format json")]
pub struct KeyArgs {
    #[command(subcommand)]
    pub command: KeyCommand,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
pub enum KeyCommand {
    /// Create a key
    Create(KeyCreateArgs),
    /// List the keys: id, owner, team, group, models, multiplier, state, limits, budget, end
    List(KeyListArgs),
    /// Show a key, with what a console knows of it
    Show(OneKeyArgs),
    /// Disable a key
    Disable(OneKeyArgs),
    /// Enable a disabled key
    Enable(OneKeyArgs),
    /// Change the limits and budgets of a key
    Limit(KeyLimitArgs),
    /// Change the models, the multiplier, the team and the addresses of a key
    Access(KeyAccessArgs),
    /// Set when a key expires
    Expire(KeyExpireArgs),
    /// Give a key a new value
    Rotate(KeyRotateArgs),
    /// Remove a key
    Remove(OneKeyArgs),
}

/// `trilane key create`.
#[derive(Debug, clap::Args)]
pub struct KeyCreateArgs {
    #[command(flatten)]
    pub one: OneKeyArgs,

    /// The key's group
    #[arg(long, value_name = "ID")]
    pub group: String,

    /// Time at which the key expires: RFC 3339, or a day in UTC [default: never]
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_or_day, conflicts_with = "expires_in")]
    pub expires_at: Option<OffsetDateTime>,

    /// After what time the key expires, such as 12h or 90d
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_duration)]
    pub expires_in: Option<Duration>,

    /// The key's owner, which gateways write into their ledgers
    #[arg(long, value_name = "TEXT", value_parser = owner)]
    pub owner: Option<String>,

    /// Confirm an owner that a console does not know: neither a person nor an owner of other keys. A document takes any
    #[arg(long, requires = "owner")]
    pub new_owner: bool,

    #[command(flatten)]
    pub access: AccessArgs,

    #[command(flatten)]
    pub terms: LimitArgs,

    #[command(flatten)]
    pub shown: KeyOutArgs,

    /// Make it although the gateway of this machine does not read the document: it is for a gateway elsewhere
    #[arg(long, conflicts_with = "server")]
    pub elsewhere: bool,
}

impl KeyCreateArgs {
    /// The time at which the key expires; `None`: never.
    ///
    /// # Errors
    /// It is too far away.
    pub fn ends(&self) -> Result<Option<OffsetDateTime>, Failure> {
        match self.expires_in {
            Some(span) => timestamp::from_now(span).map(Some).map_err(Failure::Usage),
            None => Ok(self.expires_at),
        }
    }

    /// Those for a key in a new file, reported for people.
    pub fn first(
        document: &Path,
        id: String,
        group: String,
        terms: LimitArgs,
        key_out: PathBuf,
    ) -> Self {
        Self {
            one: OneKeyArgs {
                place: KeyPlaceArgs::of(document),
                id,
                format: FormatArgs::TABLE,
            },
            group,
            expires_at: None,
            expires_in: None,
            owner: None,
            new_owner: false,
            access: AccessArgs::default(),
            terms,
            shown: KeyOutArgs {
                key_out: Some(key_out),
            },
            // It is what the first gateway will read.
            elsewhere: true,
        }
    }
}

/// `trilane key limit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Limits that are not named stay; `none` removes one. A budget requires that every model of the key's group has prices, \
or \"free\": true. Usage so far still counts.")]
pub struct KeyLimitArgs {
    #[command(flatten)]
    pub one: OneKeyArgs,

    #[command(flatten)]
    pub terms: LimitArgs,

    /// Remove every limit and budget that is not named
    #[arg(long)]
    pub only: bool,
}

/// `trilane key access`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is not named stays. `all`, `group`, `none` and `any` remove what is the key's own, so that its group's holds again. The models \
must be among those that the group may use. In a Mixed group the multiplier replaces that of every entry.")]
pub struct KeyAccessArgs {
    #[command(flatten)]
    pub one: OneKeyArgs,

    #[command(flatten)]
    pub access: AccessArgs,
}

/// `trilane key list`.
#[derive(Debug, clap::Args)]
pub struct KeyListArgs {
    #[command(flatten)]
    pub place: KeyPlaceArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// The options that select one key.
#[derive(Debug, clap::Args)]
pub struct OneKeyArgs {
    #[command(flatten)]
    pub place: KeyPlaceArgs,

    /// The key's id, which is not secret
    #[arg(long, value_name = "ID")]
    pub id: String,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// `trilane key expire`.
#[derive(Debug, clap::Args)]
pub struct KeyExpireArgs {
    #[command(flatten)]
    pub one: OneKeyArgs,

    #[command(flatten)]
    pub end: KeyEndArgs,
}

/// The time at which a key expires.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct KeyEndArgs {
    /// At this time: RFC 3339, or a day in UTC
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_or_day)]
    pub at: Option<OffsetDateTime>,

    /// After this time, such as 12h or 90d
    #[arg(long = "in", value_name = "TIME", value_parser = timestamp::parse_duration)]
    pub within: Option<Duration>,

    /// Now
    #[arg(long)]
    pub now: bool,

    /// Never
    #[arg(long)]
    pub never: bool,
}

/// `trilane key rotate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --overlap the old value is rejected as soon as the document takes effect. With it the old value stays valid \
under an id of its own, `<id>-old-<time>`, until it expires; `trilane key expire --now` ends it earlier, and `trilane \
key remove` removes it. In a document limits and budgets are counted for each id, so while both are valid each has the full limits; \
in a console both count together.")]
pub struct KeyRotateArgs {
    #[command(flatten)]
    pub one: OneKeyArgs,

    /// Time for which the old value stays valid, such as 12h or 7d [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_duration)]
    pub overlap: Option<Duration>,

    #[command(flatten)]
    pub shown: KeyOutArgs,
}

/// The destination of a new key.
#[derive(Debug, clap::Args)]
pub struct KeyOutArgs {
    /// Write the new key to this new file, readable only by its owner, instead of to standard output
    #[arg(long, value_name = "FILE")]
    pub key_out: Option<PathBuf>,
}

/// Reads an owner: any text of one line.
///
/// # Errors
/// The expected form, as text.
fn owner(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 128 || text.chars().any(char::is_control) {
        return Err("must be 1 to 128 bytes without control characters".to_owned());
    }
    Ok(text.to_owned())
}
