//! The options of `trilane key`.

use std::path::PathBuf;

use time::{Duration, OffsetDateTime};

use super::issued;
use super::terms::Terms;
use crate::document::DocumentArg;
use crate::output::FormatArgs;
use crate::timestamp;

/// Account keys in a document: created, listed, limited, switched off and on, ended, exchanged, removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The document's text is changed in the one place that must change, and replaced whole by a rename: with the \
same mode and owner, never half written. A document that the gateway would refuse afterwards is not written, \
and one that somebody else changes at the same time is not overwritten. A gateway that reads this very file \
has the change in force within a second; a document that is published otherwise (trilane render --publish) \
is to be published again.

An owner stands in the document, so gateways write it into their ledgers. A label, and when a key was made, stand \
only in a file beside the document, gateway.json.issued, which no gateway reads.

A new key's value is printed once and kept nowhere: the document has its SHA-256 alone. No subcommand \
takes a value.

Exit codes:
  0  done, or nothing to do
  1  not done: the document is as it was
  2  a document that cannot be read, or wrong command line

Examples:
  trilane key create --document gateway.json --id key_01 --group mixed --expires-in 90d --key-out key_01.txt
  trilane key create --document gateway.json --id key_02 --group mixed --owner sales --label 'Ann, laptop' \\
    --budget-month 200 --rpm 60
  trilane key limit --document gateway.json --id key_02 --budget-month 300 --rpm none
  trilane key rotate --document gateway.json --id key_01 --overlap 7d
  trilane key list --document gateway.json")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make a new key
    Create(Create),
    /// List the keys: id, owner, label, group, state, limits, budgets, when made, end
    List(List),
    /// Switch a key off
    Disable(One),
    /// Switch a key on again
    Enable(One),
    /// Change what a key may use
    Limit(Limit),
    /// Say when a key ends
    Expire(Expire),
    /// Give a key a new value
    Rotate(Rotate),
    /// Take a key out
    Remove(One),
}

/// `trilane key create`.
#[derive(Debug, clap::Args)]
pub struct Create {
    #[command(flatten)]
    pub one: One,

    /// The group that the key is bound to
    #[arg(long, value_name = "ID")]
    pub group: String,

    /// When the key ends: RFC 3339, or a day in UTC [default: never]
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_or_day, conflicts_with = "expires_in")]
    pub expires_at: Option<OffsetDateTime>,

    /// In what time the key ends, such as 12h or 90d
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_duration)]
    pub expires_in: Option<Duration>,

    /// Whose the key is: gateways write it into their ledgers
    #[arg(long, value_name = "TEXT", value_parser = issued::text)]
    pub owner: Option<String>,

    /// A note that stays beside the document: no gateway, feed or ledger has it
    #[arg(long, value_name = "TEXT", value_parser = issued::text)]
    pub label: Option<String>,

    #[command(flatten)]
    pub terms: Terms,

    #[command(flatten)]
    pub shown: Shown,
}

/// `trilane key limit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What is not named stays as it is; `none` takes one away. A budget wants every model of the key's group to have prices, \
or \"free\": true. What was used so far counts on.")]
pub struct Limit {
    #[command(flatten)]
    pub one: One,

    #[command(flatten)]
    pub terms: Terms,

    /// Take every limit and budget away that is not named
    #[arg(long)]
    pub only: bool,
}

/// `trilane key list`.
#[derive(Debug, clap::Args)]
pub struct List {
    #[command(flatten)]
    pub document: DocumentArg,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// One key of a document.
#[derive(Debug, clap::Args)]
pub struct One {
    #[command(flatten)]
    pub document: DocumentArg,

    /// The key's id, which is no secret
    #[arg(long, value_name = "ID")]
    pub id: String,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// `trilane key expire`.
#[derive(Debug, clap::Args)]
pub struct Expire {
    #[command(flatten)]
    pub one: One,

    #[command(flatten)]
    pub end: End,
}

/// When a key ends.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct End {
    /// Then: RFC 3339, or a day in UTC
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_or_day)]
    pub at: Option<OffsetDateTime>,

    /// In this time, such as 12h or 90d
    #[arg(long = "in", value_name = "TIME", value_parser = timestamp::parse_duration)]
    pub within: Option<Duration>,

    /// At once
    #[arg(long)]
    pub now: bool,

    /// Never
    #[arg(long)]
    pub never: bool,
}

/// `trilane key rotate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --overlap the old value is refused as soon as the document is in force. With it the old value goes \
on under an id of its own, `<id>-old-<time>`, until it ends by itself; `trilane key expire --now` ends it \
earlier, and `trilane key remove` takes it out. Limits and budgets count for each id apart, so for as long \
as both are good they hold for each of them.")]
pub struct Rotate {
    #[command(flatten)]
    pub one: One,

    /// How long the old value stays good, such as 12h or 7d [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_duration)]
    pub overlap: Option<Duration>,

    #[command(flatten)]
    pub shown: Shown,
}

/// Where a new key goes.
#[derive(Debug, clap::Args)]
pub struct Shown {
    /// Write the new key into this new file, readable for its owner alone, instead of to standard output
    #[arg(long, value_name = "FILE")]
    pub key_out: Option<PathBuf>,
}
