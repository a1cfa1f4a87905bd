//! The options of `trilane explain`.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use crate::gateway::{Place, Whose};

/// Says what the gateway would do with a request, and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The decision is made by the gateway's own code, with the document in force and nothing counted yet against \
any limit (but what the document itself says was spent). Nothing is sent anywhere. What Envoy does before \
the filter is not done here: give the path normalised (no dot segments or double slashes) and the body \
unpacked (no content-encoding). The x-request-id that Envoy gives each request, and that stands in some \
answers, can be given with -H.

The key goes into the header of the endpoint's protocol, or where --key-in says. A key, and any credential \
in a header, is never shown. Arguments are seen by others on this host in the list of processes, so rather \
give a key with --key-file, or only name it with --key-id, and keep it out of -H.

Exit codes:
  0  the request is forwarded, or answered with what it asks for
  1  it is refused
  2  it cannot be told: a file cannot be read, the document is not good, or wrong command line

Examples:
  trilane explain gateway.json --key-id key_01 POST /v1/chat/completions --body request.json
  trilane explain gateway.json --key-file key.txt -H 'anthropic-version: 2023-06-01' \\
    --body - POST /v1/messages < request.json
  trilane explain gateway.json --group mixed --json GET /v1/models")]
pub struct Args {
    /// The gateway's configuration document; `-`: standard input
    #[arg(value_name = "DOCUMENT")]
    pub document: PathBuf,

    /// The request's method
    #[arg(value_name = "METHOD")]
    pub method: String,

    /// The request's path, and perhaps a query. It begins with /
    #[arg(value_name = "PATH")]
    pub path: String,

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
