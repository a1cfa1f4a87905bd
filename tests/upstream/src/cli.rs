//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::prelude::*;

use crate::server::Address;

/// What `--help` prints.
pub const HELP: &str = "\
Simulates the upstreams of an AI gateway: three protocols, HTTP/1.1 and HTTP/2, steered by request headers.

Usage:
  trilane-upstream serve --listen NAME=IP:PORT [--listen NAME=IP:PORT ...] [--journal on|off] [--threads N]
  trilane-upstream certificate --out DIR [--name NAME ...]

serve        answers on every listener until it is stopped; prints `listening NAME ADDR` for each
certificate  writes ca.crt, server.crt and server.key for localhost, 127.0.0.1 and ::1, unless valid ones are there;
             for other names always anew
";

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `serve`
    Serve {
        /// Where to listen.
        listen: Vec<Address>,
        /// Remember requests.
        journal: bool,
        /// Number of worker threads; one per core if not given.
        threads: Option<usize>,
    },
    /// `certificate`
    Certificate {
        /// The directory to write to.
        out: PathBuf,
        /// The names it is for, where they are not those of loopback.
        names: Vec<String>,
    },
    /// `--help`
    Help,
}

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl IntoIterator<Item: Into<OsString>>) -> Result<Command, String> {
    let arguments = arguments.into_iter().map(Into::into);
    let mut parser = lexopt::Parser::from_args(arguments);
    match parser.next().map_err(text)? {
        Some(Value(command)) if command == "serve" => serve(&mut parser),
        Some(Value(command)) if command == "certificate" => certificate(&mut parser),
        Some(Short('h') | Long("help")) => Ok(Command::Help),
        Some(other) => Err(format!("{}; see --help", other.unexpected())),
        None => Err("a command is missing: serve or certificate; see --help".to_owned()),
    }
}

fn serve(parser: &mut lexopt::Parser) -> Result<Command, String> {
    let (mut listen, mut journal, mut threads) = (Vec::new(), true, None);
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Long("listen") => listen.push(address(&string(parser)?)?),
            Long("journal") => match string(parser)?.as_str() {
                "on" => journal = true,
                "off" => journal = false,
                other => return Err(format!("--journal {other}: on or off expected")),
            },
            Long("threads") => match string(parser)?.parse() {
                Ok(count @ 1..) => threads = Some(count),
                _ => return Err("--threads: a number from 1 on expected".to_owned()),
            },
            Short('h') | Long("help") => return Ok(Command::Help),
            other => return Err(format!("{}; see --help", other.unexpected())),
        }
    }
    if listen.is_empty() {
        return Err(
            "serve needs at least one --listen NAME=IP:PORT, such as a_official=127.0.0.1:9101"
                .to_owned(),
        );
    }
    let repeated = listen
        .iter()
        .enumerate()
        .find(|(index, one)| listen[..*index].iter().any(|two| two.name == one.name));
    match repeated {
        Some((_, Address { name, .. })) => Err(format!(
            "--listen {name}=…: the name is taken; give each listener its own"
        )),
        None => Ok(Command::Serve {
            listen,
            journal,
            threads,
        }),
    }
}

fn certificate(parser: &mut lexopt::Parser) -> Result<Command, String> {
    let mut out = None;
    let mut names = Vec::new();
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Long("name") => {
                names.push(parser.value().map_err(text)?.to_string_lossy().into_owned())
            }
            Long("out") => out = Some(PathBuf::from(parser.value().map_err(text)?)),
            Short('h') | Long("help") => return Ok(Command::Help),
            other => return Err(format!("{}; see --help", other.unexpected())),
        }
    }
    out.map(|out| Command::Certificate { out, names })
        .ok_or_else(|| "certificate needs --out DIR".to_owned())
}

fn address(text: &str) -> Result<Address, String> {
    match text.split_once('=') {
        Some((name, address)) if !name.is_empty() && !address.is_empty() => Ok(Address {
            name: name.to_owned(),
            address: address.to_owned(),
        }),
        _ => Err(format!(
            "--listen {text}: NAME=IP:PORT expected, such as a_official=127.0.0.1:9101"
        )),
    }
}

fn string(parser: &mut lexopt::Parser) -> Result<String, String> {
    parser.value().and_then(ValueExt::string).map_err(text)
}

fn text(error: lexopt::Error) -> String {
    format!("{error}; see --help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_commands() {
        let address = |name: &str, address: &str| Address {
            name: name.to_owned(),
            address: address.to_owned(),
        };
        assert_eq!(
            parse([
                "serve",
                "--listen",
                "a=127.0.0.1:0",
                "--listen=b=[::1]:1",
                "--journal",
                "off",
                "--threads=2"
            ]),
            Ok(Command::Serve {
                listen: vec![address("a", "127.0.0.1:0"), address("b", "[::1]:1")],
                journal: false,
                threads: Some(2)
            })
        );
        assert_eq!(
            parse(["certificate", "--out", "x"]),
            Ok(Command::Certificate {
                out: "x".into(),
                names: Vec::new()
            })
        );
        assert_eq!(parse(["--help"]), Ok(Command::Help));
    }

    #[test]
    fn says_what_is_wrong() {
        for (arguments, part) in [
            (&[][..], "serve or certificate"),
            (&["run"], "run"),
            (&["serve"], "--listen NAME=IP:PORT"),
            (&["serve", "--listen", "127.0.0.1:1"], "NAME=IP:PORT"),
            (
                &["serve", "--listen", "a=x:1", "--listen", "a=x:2"],
                "taken",
            ),
            (&["serve", "--threads", "0"], "from 1 on"),
            (&["certificate"], "--out"),
        ] {
            let problem = parse(arguments).unwrap_err();
            assert!(problem.contains(part), "{arguments:?}: {problem}");
        }
    }
}
