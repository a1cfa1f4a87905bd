//! The options of `trilane explain`.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::gateway::{Place, Whose};

/// Says what the gateway would do with a request, and why; or what happened to one that is over.
#[derive(Debug, clap::Args)]
#[command(override_usage = "\
trilane explain [OPTIONS] <DOCUMENT> <METHOD> <PATH>
       trilane explain [--ledger FILE]… [--document FILE] [--json] <REQUEST>")]
#[command(after_help = "\
REQUEST is the id of a request that is over (the x-request-id of its answer, or the vendor's id of it), which is \
looked for in ledgers, or its line of a ledger, or - for lines on standard input. Told is who asked for what, how it \
was decided, what was tried, how and why it ended, what was used and charged, and what a person can do. Without \
--ledger it is looked for in the files that TRILANE_LEDGER names (with : between them), else in those of `make run`.

The decision is made by the gateway's own code, with the document in force and nothing counted yet against \
any limit (but what the document itself says was spent). Nothing is sent anywhere. What Envoy does before \
the filter is not done here: give the path normalised (no dot segments or double slashes) and the body \
unpacked (no content-encoding). The x-request-id that Envoy gives each request, and that stands in some \
answers, can be given with -H.

The key goes into the header of the endpoint's protocol, or where --key-in says. A key, and any credential \
in a header, is never shown. Arguments are seen by others on this host in the list of processes, so rather \
give a key with --key-file, or only name it with --key-id, and keep it out of -H.

Exit codes:
  0  the request is forwarded, or answered with what it asks for; or what happened to it is told
  1  it is refused; or there is none of this id
  2  it cannot be told: a file cannot be read, the document is not good, or wrong command line

Examples:
  trilane explain gateway.json --key-id key_01 POST /v1/chat/completions --body request.json
  trilane explain gateway.json --key-file key.txt -H 'anthropic-version: 2023-06-01' \\
    --body - POST /v1/messages < request.json
  trilane explain gateway.json --group mixed --json GET /v1/models
  trilane explain 6f3c1d5e-7a10-4c7e-9d13-df448d0f0f4a --ledger access.log --document gateway.json
  grep 6f3c1d5e access.log | trilane explain -")]
pub struct Args {
    /// The gateway's configuration document; `-`: standard input. Alone: a request that is over
    #[arg(value_name = "DOCUMENT|REQUEST")]
    pub document: PathBuf,

    /// The request's method
    #[arg(
        value_name = "METHOD",
        default_value = "",
        hide_default_value = true,
        requires = "path"
    )]
    pub method: String,

    /// The request's path, and perhaps a query. It begins with /
    #[arg(value_name = "PATH", default_value = "", hide_default_value = true)]
    pub path: String,

    /// Look for REQUEST in this ledger, plain or gzip; may be repeated; `-`: standard input
    #[arg(long, value_name = "FILE")]
    pub ledger: Vec<PathBuf>,

    /// Tell of a REQUEST's charge by this document's prices, and what it says of the key now
    #[arg(long = "document", value_name = "FILE", id = "now")]
    pub now: Option<PathBuf>,

    #[command(flatten)]
    pub whose: Whose,

    /// Where the key stands in the request [default: as the endpoint's protocol has it]
    #[arg(long, value_name = "PLACE", requires = "Whose")]
    pub key_in: Option<Place>,

    /// A header of the request, `name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<Header>,

    /// The request's body is in this file; `-`: standard input [default: no body]
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,

    /// Tell it as JSON: one object
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// Whether a request that is over is asked about.
    ///
    /// # Errors
    /// Options that belong to the other kind of request.
    pub fn is_past(&self) -> Result<bool, Failure> {
        let past = self.method.is_empty();
        let described = self.whose.is_named()
            || self.key_in.is_some()
            || self.body.is_some()
            || !self.headers.is_empty();
        if past && described {
            let why = "keys, headers and bodies are for a request that is described: give DOCUMENT, METHOD and PATH";
            return Err(Failure::Usage(why.to_owned()));
        }
        if !past && (self.now.is_some() || !self.ledger.is_empty()) {
            let why = "--ledger and --document are for a request that is over: give its id or its line, without METHOD and PATH";
            return Err(Failure::Usage(why.to_owned()));
        }
        Ok(past)
    }
}

/// A header as given on the command line. `Debug` prints nothing of it, for it may be a credential.
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
