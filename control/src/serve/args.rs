//! The options of `trilane serve`.

use std::path::PathBuf;

/// Serves the configuration document and a feed of keys over HTTP, for any number of gateways.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The document is served at --document-path with an etag, and reloaded whenever the file changes. If the gateway would \
reject it, every problem is reported with its path, and the last valid one is still served.

The feed of keys is served at --path, in pages of changes, to gateways whose document has keys_feed. Its source is one of

  --keys FILE     one JSON object a line: {\"id\": \"key_01\", \"sha256\": \"<64 hex>\", \"group\": \"mixed\"}, with \
optionally owner, expires_at, disabled and limits, as in a document. Rename (mv) a new file into its place, or append to \
it. A key that is not in the file is removed. A file with a problem is reported and rejected whole.
                  A restart begins a new feed, so every gateway makes a full sync (no key is rejected meanwhile).
  --sqlite FILE   a database, created if it is missing. Any program may change its table keys by plain SQL; \
triggers give each change its version. Several processes may serve one database, and a restart resumes the feed.

/healthz responds with 200 once the document and the feed (of those named) can be served, else with 503.

There is no TLS and no access control: listen where only gateways can connect. Only digests of keys are served.

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  cannot listen, or the database cannot be opened
  2  wrong command line

Examples:
  trilane serve --document gateway.json --keys keys.jsonl
  trilane serve --sqlite /var/lib/trilane/keys.db --listen 127.0.0.1:10091
  sqlite3 /var/lib/trilane/keys.db \"INSERT INTO keys (sha256, id, group_id) \\
    VALUES ('$(printf %s \"$KEY\" | sha256sum | cut -c1-64)', 'key_01', 'mixed')\"")]
pub struct ServeArgs {
    /// Where to listen; port 0 takes a free one, which is printed
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:10091")]
    pub listen: String,

    /// The gateway's configuration document
    #[arg(long, value_name = "FILE", required_unless_present_any = ["keys", "sqlite"])]
    pub document: Option<PathBuf>,

    /// The keys of the feed, one JSON object a line
    #[arg(long, value_name = "FILE", conflicts_with = "sqlite")]
    pub keys: Option<PathBuf>,

    /// The keys of the feed, in a SQLite database
    #[arg(long, value_name = "FILE")]
    pub sqlite: Option<PathBuf>,

    /// The feed's path, as in the document's keys_feed.path
    #[arg(long, value_name = "PATH", default_value = "/keys", value_parser = path)]
    pub path: String,

    /// The document's path, as in the loader's source.path
    #[arg(long, value_name = "PATH", default_value = "/gateway.json", value_parser = path)]
    pub document_path: String,

    /// How long the feed keeps removals; a gateway that was away for longer makes a full sync
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub keep_removals: u32,

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
