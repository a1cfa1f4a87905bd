//! The options of `trilane serve`.

use std::path::PathBuf;

/// Serves the configuration document over HTTP, for any number of gateways.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The document is served at --document-path with an etag, and reloaded whenever the file changes. If the gateway would \
reject it, every problem is reported with its path, and the last valid one is still served.

/healthz responds with 200 once the document can be served, else with 503.

There is no TLS and no access control: listen where only gateways can connect. Only digests of keys are served. Many \
keys are the console's: trilane console --help.

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  cannot listen
  2  wrong command line

Examples:
  trilane serve --document gateway.json
  trilane serve --document /in/gateway.json --listen 0.0.0.0:8080")]
pub struct ServeArgs {
    /// The address to listen on; port 0 takes a free one, which is printed
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:10091")]
    pub listen: String,

    /// The gateway's configuration document
    #[arg(long, value_name = "FILE")]
    pub document: PathBuf,

    /// The document's path, as in the loader's source.path
    #[arg(long, value_name = "PATH", default_value = "/gateway.json", value_parser = path)]
    pub document_path: String,

    /// Report everything on standard output, as one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// A path of a request, without a query.
fn path(text: &str) -> Result<String, String> {
    let good = |byte: u8| byte.is_ascii_graphic() && !b"?#".contains(&byte);
    if !text.starts_with('/') || !text.bytes().all(good) {
        return Err("must begin with / and have neither ? nor # nor blanks".to_owned());
    }
    if text == super::HEALTH {
        return Err(format!("{text} tells whether the command is well"));
    }
    Ok(text.to_owned())
}
