//! The options of `trilane login`, `token`, `run` and `logout`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::agents::CodingAgent;
use crate::agent::ConsoleUrl;

/// The variable that names the file of the sign-in.
const VARIABLE: &str = "TRILANE_SIGN_IN";

/// Signs in at a console, so that coding agents on this machine use its gateway without a key that anybody hands out.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It shows a code and waits until you have let this machine in, in a browser in which you are signed in at the console. What it gets \
stands in a file that only you can read. It ends after 90 days, with trilane logout, or on the page Me of the console.

Exit codes:
  0  signed in
  1  not let in, or the console cannot be reached
  2  wrong command line

Examples:
  trilane login https://ai.example.com
  trilane run claude")]
pub struct LoginArgs {
    /// The address of the console, or of the gateway if it passes signing in on
    #[arg(value_name = "URL")]
    pub url: ConsoleUrl,

    /// Trust the certificate authorities in this file instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

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

/// Signs out: the key is refused from then on.
#[derive(Debug, clap::Args)]
pub struct LogoutArgs {
    /// The file of the sign-in [default: trilane/sign-in.json in $XDG_CONFIG_HOME, or in ~/.config]
    #[arg(long, value_name = "FILE", env = VARIABLE)]
    pub file: Option<PathBuf>,
}
