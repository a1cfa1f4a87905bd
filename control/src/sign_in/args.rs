//! The options of `trilane login`, `token`, `run` and `logout`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::agents::CodingAgent;
use crate::console_http::ConsoleUrl;

/// The variable that names the file of the sign-in.
pub const VARIABLE: &str = "TRILANE_SIGN_IN";
/// The scopes that a token of the API gets by signing in.
const SCOPES: [&str; 6] = [
    "keys:read",
    "keys:write",
    "usage:read",
    "documents:read",
    "documents:write",
    "accounts:read",
];

/// Signs in at a console: for coding agents on this machine, which use its gateway without a key that anybody hands out, or with --api
/// for this command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It shows a code and waits until you have let this machine in, in a browser in which you are signed in at the console. What it gets \
stands in a file that only you can read. It ends after 90 days, with trilane logout, or on the page Me of the console.

With --api it gets a token of the console's API instead, for commands with --server. The page shows its scopes before you let it in. \
You may do with it what your role may, and no more than the scopes say. It ends after twelve hours, with trilane logout, or on the \
page Tokens of the console. The file is beside the other one. Programs have a token of their own (TRILANE_TOKEN, --token-file).

Exit codes:
  0  signed in
  1  not let in, or the console cannot be reached
  2  wrong command line

Examples:
  trilane login https://ai.example.com
  trilane run claude
  trilane login --api https://console.example.com
  trilane key list --server https://console.example.com")]
pub struct LoginArgs {
    /// The address of the console, or of the gateway if it passes signing in on
    #[arg(value_name = "URL")]
    pub url: ConsoleUrl,

    /// Trust the certificate authorities in this file instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// Get a token of the console's API, for commands with --server
    #[arg(long, conflicts_with = "gateway")]
    pub api: bool,

    /// The scopes of that token, with commas between them
    #[arg(
        long,
        value_name = "SCOPE,…",
        requires = "api",
        value_delimiter = ',',
        value_parser = SCOPES,
        default_value = "keys:write,usage:read,documents:write,accounts:read"
    )]
    pub scope: Vec<String>,

    /// The address of the gateway [default: what the console says]
    #[arg(long, value_name = "URL")]
    pub gateway: Option<String>,

    /// The file of the sign-in [default: trilane/sign-in.json in $XDG_CONFIG_HOME, or in ~/.config]
    #[arg(long, value_name = "FILE", env = VARIABLE)]
    pub file: Option<PathBuf>,
}

/// Prints a key of the person who is signed in, which is good for ten minutes at least.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For programs that ask a command for their key: Claude Code's apiKeyHelper, Codex's auth.command, token providers of SDKs. It never \
asks anything and opens no browser. A key is good for an hour; another one is fetched ten minutes before that ends.

Exit codes:
  0  the key is printed
  1  nobody is signed in any more, or the console cannot be reached
  2  wrong command line")]
pub struct TokenArgs {
    /// The file of the sign-in [default: trilane/sign-in.json in $XDG_CONFIG_HOME, or in ~/.config]
    #[arg(long, value_name = "FILE", env = VARIABLE)]
    pub file: Option<PathBuf>,
}

/// Starts a coding agent that is set up for the gateway.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What the agent needs stands in its environment and on its command line; of its own files none is changed. Claude Code and \
Codex ask for their key again; Gemini CLI and opencode read it once, so theirs is good for a working day.

Exit codes: those of the agent, and
  1  nobody is signed in, or the agent is not installed
  2  wrong command line

Examples:
  trilane run claude
  trilane run codex -- exec 'Say hello'
  trilane run gemini -- --model gemini-2.5-flash")]
pub struct RunArgs {
    /// The coding agent
    #[arg(value_name = "AGENT")]
    pub agent: CodingAgent,

    /// The file of the sign-in [default: trilane/sign-in.json in $XDG_CONFIG_HOME, or in ~/.config]
    #[arg(long, value_name = "FILE", env = VARIABLE)]
    pub file: Option<PathBuf>,

    /// Its own arguments
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

/// Signs out: key and token of the API are refused from then on.
#[derive(Debug, clap::Args)]
pub struct LogoutArgs {
    /// The file of the sign-in [default: trilane/sign-in.json in $XDG_CONFIG_HOME, or in ~/.config]
    #[arg(long, value_name = "FILE", env = VARIABLE)]
    pub file: Option<PathBuf>,
}
