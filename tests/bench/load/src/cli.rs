//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;

use crate::client::Slowness;
use crate::target::Target;

/// The text that `--help` prints.
pub const HELP: &str = "\
Usage:
  trilane-load mock --listen IP:PORT
  trilane-load load --to IP:PORT --path PATH [options]
  trilane-load mix --to IP:PORT --requests N --every N --connections N FILE

mock  a model source that answers from memory; prints `listening ADDR`. The request header `x-bench-events: N` asks
      for a stream of N events instead of JSON, `x-bench-gap-us: T` for T microseconds between two of them,
      `x-bench-answer-bytes: N` for JSON of N bytes, `x-bench-vendors-headers: 1` for the headers of a vendor. `GET
      /bench/seen` tells how many requests it has had since it was last asked, and how many at once at the most
load  keeps a gateway busy and prints one JSON object; `--to @FILE` reads the address from a file for each connection:
  --method NAME            POST with a body, else GET
  --header 'name: value'   may be repeated; a run of # in a value becomes a number below --keys, padded with zeros
  --keys N                 how many numbers there are (1)
  --body FILE              the request's body
  --connections N          kept alive (8)
  --seconds S              for how long (1)
  --warmup S               before that, not counted (0)
  --rate R                 open loop: R requests a second. Without it closed loop
  --expect STATUS          anything else is a failure (200)
  --also STATUS            but for this, which is as good; a stream is only of the other. May be repeated
  --events N               answers are streams of N events
  --cpu NAME=PID           the processor time of that process while it was counted; may be repeated
  --patience S             for how long after its time an exchange may go on (5)
  --timeline MS            also what ended, failed, and took longest in every so many milliseconds
  --slow S                 for so long, from the beginning of each exchange, a client is slow:
  --send-piece N           it sends N bytes of the request a second
  --read-piece N           it reads N bytes of the answer a second
mix   sends requests of the kinds in FILE, a JSON array, drawn by their weight, and prints one JSON object each `--every`
      requests; the last tells each kind apart. A kind has `name`, `weight`, `path`, and, where they are not the usual,
      `method`, `headers`, `body` (a file), `abort_after_ms` (the client leaves) and `expect` (a status, or how it fails)
";

/// The command that the arguments select, with its settings.
#[derive(Debug)]
pub enum LoadCommand {
    /// `mock`
    Mock(SocketAddr),
    /// `load`
    Load(Box<LoadPlan>),
    /// `mix`
    Mix(Mixture),
    /// `--help`
    Help,
}

/// The load to make.
#[derive(Debug)]
pub struct LoadPlan {
    /// The gateway.
    pub to: Target,
    /// The request target.
    pub path: String,
    /// The method, where it is not what the body suggests.
    pub method: Option<String>,
    /// Header lines.
    pub headers: Vec<String>,
    /// The number of different numbers that may stand for a run of `#`.
    pub keys: u64,
    /// The file with the body.
    pub body: Option<PathBuf>,
    /// Connections at once.
    pub connections: usize,
    /// For how long it is counted.
    pub time: Duration,
    /// For how long before that it is not.
    pub warmup: Duration,
    /// Requests a second; `None` for as many as come.
    pub rate: Option<f64>,
    /// The status that every answer must have.
    pub expect: u16,
    /// Further statuses that it may have.
    pub also: Vec<u16>,
    /// The number of events that every response must have, where it is a stream.
    pub events: Option<u64>,
    /// Processes whose processor time is asked for.
    pub cpu: Vec<(String, u32)>,
    /// The time for which an exchange may go on after the counted time.
    pub patience: Duration,
    /// The width of a step of the timeline; `None` for no timeline.
    pub step: Option<Duration>,
    /// The slowness of the clients.
    pub slow: Slowness,
}

/// Requests of many kinds.
#[derive(Debug)]
pub struct Mixture {
    /// The gateway.
    pub to: Target,
    /// The file with the kinds.
    pub kinds: PathBuf,
    /// The total number of requests.
    pub requests: u64,
    /// After how many it is told how it stands.
    pub every: u64,
    /// Connections at once.
    pub connections: usize,
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// The mistake in them, as text.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<LoadCommand, String> {
    let mut parser = lexopt::Parser::from_args(arguments);
    match parser.next().map_err(text)? {
        Some(Value(command)) if command == "mock" => mock(&mut parser),
        Some(Value(command)) if command == "load" => load(&mut parser).map_err(text),
        Some(Value(command)) if command == "mix" => mix(&mut parser).map_err(text),
        Some(Short('h') | Long("help")) => Ok(LoadCommand::Help),
        Some(other) => Err(format!("{}; see --help", other.unexpected())),
        None => Err("a command is missing: mock, load or mix; see --help".to_owned()),
    }
}

fn mock(parser: &mut lexopt::Parser) -> Result<LoadCommand, String> {
    let mut listen = None;
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Long("listen") => listen = Some(parser.value().and_then(|v| v.parse()).map_err(text)?),
            other => return Err(text(other.unexpected())),
        }
    }
    listen
        .map(LoadCommand::Mock)
        .ok_or_else(|| "--listen is missing".to_owned())
}

fn load(parser: &mut lexopt::Parser) -> Result<LoadCommand, lexopt::Error> {
    let mut to = None;
    let mut plan = LoadPlan {
        to: Target::At(([127, 0, 0, 1], 0).into()),
        path: String::new(),
        method: None,
        headers: Vec::new(),
        keys: 1,
        body: None,
        connections: 8,
        time: Duration::from_secs(1),
        warmup: Duration::ZERO,
        rate: None,
        expect: 200,
        also: Vec::new(),
        events: None,
        cpu: Vec::new(),
        patience: Duration::from_secs(5),
        step: None,
        slow: Slowness::default(),
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("to") => to = Some(parser.value()?.parse_with(Target::parse)?),
            Long("path") => plan.path = parser.value()?.string()?,
            Long("method") => plan.method = Some(parser.value()?.string()?),
            Long("header") => plan.headers.push(parser.value()?.string()?),
            Long("keys") => plan.keys = parser.value()?.parse()?,
            Long("body") => plan.body = Some(parser.value()?.into()),
            Long("connections") => plan.connections = parser.value()?.parse()?,
            Long("seconds") => plan.time = parser.value()?.parse_with(seconds)?,
            Long("warmup") => plan.warmup = parser.value()?.parse_with(seconds)?,
            Long("rate") => plan.rate = Some(parser.value()?.parse_with(rate)?),
            Long("expect") => plan.expect = parser.value()?.parse()?,
            Long("also") => plan.also.push(parser.value()?.parse()?),
            Long("events") => plan.events = Some(parser.value()?.parse()?),
            Long("cpu") => plan.cpu.push(parser.value()?.parse_with(process)?),
            Long("patience") => plan.patience = parser.value()?.parse_with(seconds)?,
            Long("timeline") => {
                let step: std::num::NonZeroU32 = parser.value()?.parse()?;
                plan.step = Some(Duration::from_millis(step.get().into()));
            }
            Long("slow") => plan.slow.time = parser.value()?.parse_with(seconds)?,
            Long("send-piece") => plan.slow.send = Some(parser.value()?.parse_with(piece)?),
            Long("read-piece") => plan.slow.read = Some(parser.value()?.parse_with(piece)?),
            other => return Err(other.unexpected()),
        }
    }
    match to {
        Some(to) if !plan.path.is_empty() && plan.connections > 0 && plan.keys > 0 => plan.to = to,
        _ => return Err("--to and --path are needed, --connections and --keys not 0".into()),
    }
    Ok(LoadCommand::Load(Box::new(plan)))
}

fn mix(parser: &mut lexopt::Parser) -> Result<LoadCommand, lexopt::Error> {
    let (mut to, mut kinds, mut requests, mut every, mut connections) = (None, None, 0, 0, 0);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("to") => to = Some(parser.value()?.parse_with(Target::parse)?),
            Long("requests") => requests = parser.value()?.parse()?,
            Long("every") => every = parser.value()?.parse()?,
            Long("connections") => connections = parser.value()?.parse()?,
            Value(file) if kinds.is_none() => kinds = Some(file.into()),
            other => return Err(other.unexpected()),
        }
    }
    match (to, kinds) {
        (Some(to), Some(kinds)) if requests > 0 && every > 0 && connections > 0 => {
            Ok(LoadCommand::Mix(Mixture {
                to,
                kinds,
                requests,
                every,
                connections,
            }))
        }
        _ => Err("--to, --requests, --every, --connections and a file are needed".into()),
    }
}

fn piece(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("not a number above 0".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

fn rate(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.01..=1e6).contains(&number) {
        Ok(number)
    } else {
        Err("not between 0.01 and 1000000".to_owned())
    }
}

fn process(text: &str) -> Result<(String, u32), String> {
    let (name, pid) = text.split_once('=').ok_or("not NAME=PID")?;
    let pid = pid.parse().map_err(|_| "not a process id".to_owned())?;
    Ok((name.to_owned(), pid))
}

fn text(error: lexopt::Error) -> String {
    error.to_string()
}
