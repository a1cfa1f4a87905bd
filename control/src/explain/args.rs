//! The options of `trilane explain`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::gateway::{KeyHolderArgs, KeyPlaceArg};
use crate::output::FormatArgs;

/// Explains what the gateway would do with a request, and why; or what happened to one that is over.
#[derive(Debug, clap::Args)]
#[command(override_usage = "\
trilane explain --document <FILE> [OPTIONS] <METHOD> <PATH>
       trilane explain [--ledger <FILE>]… [--document <FILE>] [--format <FORMAT>] <REQUEST>")]
#[command(after_help = "\
REQUEST is the id of a request that is over (the x-request-id of its response, or the vendor's id), which is looked up \
in ledgers, or its ledger line, or - for lines on standard input. The explanation says who sent it, how it was decided, \
which accounts were tried, how and why it ended, what was used and charged, and what helps. Without --ledger it is \
looked up in the ledger of `trilane up`, which TRILANE_LEDGER or TRILANE_DATA names as for that, and in those of the gateways that \
you run here; in each the files that were set aside, too.

The gateway's own code decides, by the document and as if nothing had been used of any limit (except what the document \
says was spent). Nothing is sent anywhere. Envoy's work before the filter is not done here: give the path normalised \
(no dot segments or double slashes) and the body without content-encoding. The x-request-id that Envoy gives each \
request, and that some responses contain, can be given with -H.

The key goes into the header of the endpoint's protocol, or where --key-in says. Keys and credentials in headers are \
never shown. Other users of this host see arguments in the list of processes, so give a key with --key-file or name it \
with --key-id, and keep it out of -H.

Exit codes:
  0  the request is forwarded, or answered with what it asks for; or what happened to it is explained
  1  it is rejected; or no request has this id
  2  no result: a file cannot be read, the document is invalid, or wrong command line

Examples:
  trilane explain --document gateway.json --key-id key_01 POST /v1/chat/completions --body request.json
  trilane explain --document gateway.json --key-file key.txt -H 'anthropic-version: 2023-06-01' \\
    --body - POST /v1/messages < request.json
  trilane explain --document gateway.json --group mixed --format json GET /v1/models
  trilane explain 6f3c1d5e-7a10-4c7e-9d13-df448d0f0f4a --ledger access.log --document gateway.json
  grep 6f3c1d5e access.log | trilane explain -")]
pub struct ExplainArgs {
    /// The gateway's configuration document; `-`: standard input. With REQUEST: charges are explained by its prices, and it
    /// is told what it says of the key now
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,

    /// The request's method; or alone a request that is over
    #[arg(value_name = "METHOD|REQUEST")]
    first: OsString,

    /// The request's path, and perhaps a query. It begins with /
    #[arg(value_name = "PATH")]
    second: Option<OsString>,

    /// Look for REQUEST in this ledger, plain or gzip; may be repeated; `-`: standard input
    #[arg(long, value_name = "FILE")]
    pub ledger: Vec<PathBuf>,

    #[command(flatten)]
    pub whose: KeyHolderArgs,

    /// The place of the key in the request [default: the place of the endpoint's protocol]
    #[arg(long, value_name = "PLACE", requires = "KeyHolderArgs")]
    pub key_in: Option<KeyPlaceArg>,

    /// A header of the request, `name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<Header>,

    /// The request's body is in this file; `-`: standard input [default: no body]
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// The request to explain: a described one, or a past one.
#[derive(Debug)]
pub enum Question<'a> {
    /// A document, and a request that is described.
    Described(&'a Path, DescribedTarget<'a>),
    /// A request that is over: its id, its ledger line, or `-`.
    Past(&'a OsStr),
}

/// The request line that the command line has.
#[derive(Debug, Clone, Copy)]
pub struct DescribedTarget<'a> {
    /// The method.
    pub method: &'a str,
    /// The path, perhaps with a query.
    pub path: &'a str,
}

impl ExplainArgs {
    /// The request to explain: a described one, or a past one.
    ///
    /// # Errors
    /// Options that belong to the other kind of request, or a document that is missing.
    pub fn question(&self) -> Result<Question<'_>, Failure> {
        let usage = |why: &str| Failure::Usage(why.to_owned());
        let Some(second) = &self.second else {
            let is_described = self.whose.is_named()
                || self.key_in.is_some()
                || self.body.is_some()
                || !self.headers.is_empty();
            return if is_described {
                Err(usage(
                    "keys, headers and bodies are for a request that is described: give --document, METHOD and PATH",
                ))
            } else {
                Ok(Question::Past(&self.first))
            };
        };
        if !self.ledger.is_empty() {
            return Err(usage(
                "--ledger is for a request that is over: give its id or its line, without METHOD and PATH",
            ));
        }
        let Some(document) = &self.document else {
            return Err(usage("name the document: --document FILE"));
        };
        let described = DescribedTarget {
            method: utf8(&self.first)?,
            path: utf8(second)?,
        };
        Ok(Question::Described(document, described))
    }

    /// The document by which a request that is over is explained.
    pub fn document_now(&self) -> Option<&Path> {
        self.document.as_deref()
    }
}

fn utf8(text: &OsString) -> Result<&str, Failure> {
    let why = "METHOD and PATH must be UTF-8: write other bytes of a path as %XX";
    text.to_str().ok_or_else(|| Failure::Usage(why.to_owned()))
}

/// A header as given on the command line. `Debug` does not print it, because it may be a credential.
#[derive(Clone)]
pub struct Header(pub Vec<u8>);

impl From<OsString> for Header {
    fn from(text: OsString) -> Self {
        Self(text.into_vec())
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Header(..)")
    }
}
