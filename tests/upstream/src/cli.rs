//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::prelude::*;

use crate::certificate::CertificateKind;
use crate::server::Address;
use crate::tls::{Offer, Tls};

/// The text that `--help` prints.
pub const HELP: &str = "\
Simulates the upstreams of an AI gateway: three protocols, HTTP/1.1 and HTTP/2, steered by request headers.

Usage:
  trilane-upstream serve --listen NAME=IP:PORT [--listen NAME=IP:PORT ...] [--journal on|off] [--threads N]
                         [--tls NAME=DIR ...] [--alpn NAME=h2|http/1.1 ...]
  trilane-upstream certificate --out DIR [--name NAME ...] [--expired | --self-signed]

serve        answers on every listener until it is stopped; prints `listening NAME ADDR` for each
  --tls      the listener NAME speaks TLS, with server.crt and server.key in DIR
  --alpn     in its handshakes it offers this version of HTTP only, else both
certificate  writes ca.crt, server.crt and server.key for localhost, 127.0.0.1 and ::1, unless valid ones are there;
             for other names, and those that no client should accept, always anew
  --expired  it was valid until yesterday
  --self-signed
             it vouches for itself; ca.crt is an authority that has signed nothing
";

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimulatorCommand {
    /// `serve`
    Serve {
        /// The addresses to listen on.
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
        /// The kind of the certificate.
        kind: CertificateKind,
    },
    /// `--help`
    Help,
}

/// Reads the arguments after the program's name.
pub fn parse(
    arguments: impl IntoIterator<Item: Into<OsString>>,
) -> Result<SimulatorCommand, String> {
    let arguments = arguments.into_iter().map(Into::into);
    let mut parser = lexopt::Parser::from_args(arguments);
    match parser.next().map_err(text)? {
        Some(Value(command)) if command == "serve" => serve(&mut parser),
        Some(Value(command)) if command == "certificate" => certificate(&mut parser),
        Some(Short('h') | Long("help")) => Ok(SimulatorCommand::Help),
        Some(other) => Err(format!("{}; see --help", other.unexpected())),
        None => Err("a command is missing: serve or certificate; see --help".to_owned()),
    }
}

fn serve(parser: &mut lexopt::Parser) -> Result<SimulatorCommand, String> {
    let (mut listen, mut journal, mut threads) = (Vec::new(), true, None);
    let (mut tls, mut alpn) = (Vec::new(), Vec::new());
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Long("listen") => listen.push(address(&string(parser)?)?),
            Long("tls") => tls.push(of_listener("tls", &string(parser)?, "DIR")?),
            Long("alpn") => alpn.push(of_listener("alpn", &string(parser)?, "h2")?),
            Long("journal") => match string(parser)?.as_str() {
                "on" => journal = true,
                "off" => journal = false,
                other => return Err(format!("--journal {other}: on or off expected")),
            },
            Long("threads") => match string(parser)?.parse() {
                Ok(count @ 1..) => threads = Some(count),
                _ => return Err("--threads: a number from 1 on expected".to_owned()),
            },
            Short('h') | Long("help") => return Ok(SimulatorCommand::Help),
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
    if let Some((_, Address { name, .. })) = repeated {
        return Err(format!(
            "--listen {name}=…: the name is taken; give each listener its own"
        ));
    }
    for (name, directory) in tls {
        let listener = listen.iter_mut().find(|listener| listener.name == name);
        let listener = listener.ok_or_else(|| format!("--tls {name}=…: no --listen {name}=…"))?;
        listener.tls = Some(Tls {
            directory: directory.into(),
            offer: Offer::Both,
        });
    }
    for (name, protocol) in alpn {
        let listener = listen.iter_mut().find(|listener| listener.name == name);
        let tls = listener
            .and_then(|listener| listener.tls.as_mut())
            .ok_or_else(|| format!("--alpn {name}=…: no --tls {name}=…"))?;
        tls.offer = Offer::only(&protocol)
            .ok_or_else(|| format!("--alpn {name}={protocol}: h2 or http/1.1 expected"))?;
    }
    Ok(SimulatorCommand::Serve {
        listen,
        journal,
        threads,
    })
}

fn certificate(parser: &mut lexopt::Parser) -> Result<SimulatorCommand, String> {
    let mut out = None;
    let mut names = Vec::new();
    let mut kind = CertificateKind::Good;
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Long("name") => {
                names.push(parser.value().map_err(text)?.to_string_lossy().into_owned())
            }
            Long("expired") if kind == CertificateKind::Good => kind = CertificateKind::Expired,
            Long("self-signed") if kind == CertificateKind::Good => {
                kind = CertificateKind::SelfSigned
            }
            Long("out") => out = Some(PathBuf::from(parser.value().map_err(text)?)),
            Short('h') | Long("help") => return Ok(SimulatorCommand::Help),
            other => return Err(format!("{}; see --help", other.unexpected())),
        }
    }
    out.map(|out| SimulatorCommand::Certificate { out, names, kind })
        .ok_or_else(|| "certificate needs --out DIR".to_owned())
}

fn address(text: &str) -> Result<Address, String> {
    match text.split_once('=') {
        Some((name, address)) if !name.is_empty() && !address.is_empty() => Ok(Address {
            name: name.to_owned(),
            address: address.to_owned(),
            tls: None,
        }),
        _ => Err(format!(
            "--listen {text}: NAME=IP:PORT expected, such as a_official=127.0.0.1:9101"
        )),
    }
}

/// Reads what is said of one listener.
fn of_listener(option: &str, text: &str, value: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("--{option} {text}: NAME={value} expected")),
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
            tls: None,
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
            Ok(SimulatorCommand::Serve {
                listen: vec![address("a", "127.0.0.1:0"), address("b", "[::1]:1")],
                journal: false,
                threads: Some(2)
            })
        );
        assert_eq!(
            parse(["certificate", "--out", "x"]),
            Ok(SimulatorCommand::Certificate {
                out: "x".into(),
                names: Vec::new(),
                kind: CertificateKind::Good,
            })
        );
        assert_eq!(
            parse(["certificate", "--expired", "--out=x", "--name", "y"]),
            Ok(SimulatorCommand::Certificate {
                out: "x".into(),
                names: vec!["y".to_owned()],
                kind: CertificateKind::Expired,
            })
        );
        assert_eq!(parse(["--help"]), Ok(SimulatorCommand::Help));
    }

    #[test]
    fn reads_what_makes_listeners_speak_tls() {
        let command = parse([
            "serve",
            "--alpn",
            "b=h2",
            "--tls",
            "b=two",
            "--tls=c=any",
            "--listen",
            "a=x:0",
            "--listen",
            "b=x:0",
            "--listen",
            "c=x:0",
        ]);
        let Ok(SimulatorCommand::Serve { listen, .. }) = command else {
            panic!("{command:?}");
        };
        let tls = |directory: &str, offer| {
            let directory = directory.into();
            Some(Tls { directory, offer })
        };
        let found: Vec<_> = listen.into_iter().map(|listener| listener.tls).collect();
        assert_eq!(
            found,
            [None, tls("two", Offer::Two), tls("any", Offer::Both)]
        );
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
            (&["serve", "--listen", "a=x:1", "--tls", "a"], "NAME=DIR"),
            (
                &["serve", "--listen", "a=x:1", "--tls", "b=x"],
                "no --listen b",
            ),
            (
                &["serve", "--listen", "a=x:1", "--alpn", "a=h2"],
                "no --tls a",
            ),
            (
                &["serve", "--listen=a=x:1", "--tls=a=x", "--alpn=a=h3"],
                "h2 or http/1.1",
            ),
            (&["certificate"], "--out"),
            (
                &["certificate", "--out=x", "--expired", "--self-signed"],
                "self-signed",
            ),
        ] {
            let problem = parse(arguments).unwrap_err();
            assert!(problem.contains(part), "{arguments:?}: {problem}");
        }
    }
}
