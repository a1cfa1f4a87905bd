//! Reports events. A closed output is no reason to stop.

use std::io::{self, Write as _};
use std::net::SocketAddr;

use serde_json::{Map, Value, json};

use crate::terminal::{printable, say};
use crate::timestamp::now;

/// The most problems of one file that are reported; the rest is only counted.
pub const MOST: usize = 100;

/// Reports events in lines of text (errors on standard error), or in lines of JSON (all on standard output).
#[derive(Debug, Clone, Copy)]
pub struct EventPrinter {
    json: bool,
    news: bool,
}

impl EventPrinter {
    /// In JSON, or as text.
    pub fn new(json: bool) -> Self {
        Self { json, news: true }
    }

    /// The same for errors alone.
    pub const fn without_news(self) -> Self {
        Self {
            news: false,
            ..self
        }
    }

    /// Requests are served from now on.
    pub fn listening(self, address: SocketAddr) {
        if self.json {
            self.line("listening", json!({"address": address.to_string()}));
        } else {
            print(&format!("listening on {address}"));
        }
    }

    /// A success: `event` and `facts` for programs, `text` for people.
    pub fn news(self, event: &str, text: &str, facts: Value) {
        if !self.news {
            return;
        }
        if self.json {
            self.line(event, facts);
        } else {
            print(&format!("{} {}", now(), printable(text)));
        }
    }

    /// `file` is rejected for these problems; `left` says what is served instead.
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

    /// An error.
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
