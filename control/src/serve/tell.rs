//! What happens, told to whoever reads the output. That nobody reads it is no reason to stop.

use std::io::{self, Write as _};
use std::net::SocketAddr;

use serde_json::{Map, Value, json};

use crate::terminal::{printable, say};
use crate::timestamp::now;

/// How many problems of one file are told; the rest is only counted.
pub const MOST: usize = 100;

/// Tells in lines for a reader (good news on standard output, bad on standard error), or in lines of JSON (all of it
/// on standard output).
#[derive(Debug, Clone, Copy)]
pub struct Teller {
    json: bool,
}

impl Teller {
    /// In JSON or not.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Requests are answered from now on.
    pub fn listening(self, address: SocketAddr) {
        if self.json {
            self.line("listening", json!({"address": address.to_string()}));
        } else {
            print(&format!("listening on {address}"));
        }
    }

    /// Something went as it should: `event` and `facts` for a program, `text` for a reader.
    pub fn news(self, event: &str, text: &str, facts: Value) {
        if self.json {
            self.line(event, facts);
        } else {
            print(&format!("{} {}", now(), printable(text)));
        }
    }

    /// `file` is refused for these problems; `left` says what is served then.
    pub fn refused(self, what: &str, file: &str, problems: &[String], left: &str) {
        let more = problems.len().saturating_sub(MOST);
        let told = problems.get(..MOST).unwrap_or(problems);
        if self.json {
            let facts = json!({"what": what, "file": file, "problems": told, "more_problems": more, "left": left});
            return self.line("refused", facts);
        }
        for problem in told {
            self.trouble(problem);
        }
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more problems"),
        };
        self.trouble(&format!("{what} {file} is refused{more}: {left}"));
    }

    /// Something is not as it should be.
    pub fn trouble(self, text: &str) {
        if self.json {
            self.line("error", json!({"problem": text}));
        } else {
            say(&format!("{} error: {}", now(), printable(text)));
        }
    }

    fn line(self, event: &str, facts: Value) {
        let mut line = Map::new();
        line.insert("time".to_owned(), now().into());
        line.insert("event".to_owned(), event.into());
        if let Value::Object(facts) = facts {
            line.extend(facts);
        }
        print(&Value::Object(line).to_string());
    }
}

fn print(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
