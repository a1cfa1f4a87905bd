//! Commands with `--server`: run against a console that runs as a process.

mod documents;
mod keys;
mod meanwhile;
mod tokens;
mod usage_sums;

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::command_output::CommandOutput;
use crate::console::Console;
use crate::desk::{DOCUMENT, Desk};
use crate::support::Files;

/// A console, and a desk from which it is asked.
struct Office {
    desk: Desk,
    console: Console,
    _files: Files,
}

impl Office {
    /// A console in which nothing is published yet.
    fn new() -> Self {
        let files = Files::new();
        fs::create_dir(files.path("data")).unwrap();
        let console = Console::start(&files, &[]);
        let desk = Desk::new();
        desk.write("token", &console.token);
        let _files = files;
        Self {
            desk,
            console,
            _files,
        }
    }

    /// The same with the document of the desk in force.
    fn published() -> Self {
        let office = Self::new();
        let done = office.run(&["publish", "--yes", "gateway.json"]);
        assert_eq!((done.code, done.out.as_str()), (0, "1\n"), "{done:?}");
        office
    }

    fn url(&self) -> String {
        format!("http://{}", self.console.address)
    }

    /// The command with the console and the token in its environment.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.desk.command(args);
        command.env("TRILANE_SERVER", self.url());
        command.env("TRILANE_TOKEN", &self.console.token);
        command
    }

    fn run(&self, args: &[&str]) -> CommandOutput {
        output(self.command(args))
    }

    /// The first page of a list of the API.
    fn items(&self, path: &str) -> Vec<Value> {
        let (status, page) = self.console.get(path);
        assert_eq!(status, 200, "{page}");
        page["items"].as_array().unwrap().clone()
    }

    /// The token of a new person.
    fn token_of(&self, person: &str, role: &str, scopes: &str) -> String {
        let person = format!(r#"{{"id": "{person}", "name": "P", "role": "{role}"}}"#);
        let added = self.post("/api/v1/people", &person);
        let id = &added["id"];
        let token = format!(r#"{{"name": "t", "person": {id}{scopes}}}"#);
        let made = self.post("/api/v1/tokens", &token);
        made["value"].as_str().unwrap().to_owned()
    }

    fn post(&self, path: &str, body: &str) -> Value {
        let (status, made) = self.console.post_json(path, body);
        assert!((200..300).contains(&status), "{path}: {status} {made}");
        made
    }
}

/// Runs a command.
fn output(mut command: Command) -> CommandOutput {
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CommandOutput {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// The document of the desk with a change of its text.
fn changed(from: &str, to: &str) -> String {
    assert!(DOCUMENT.contains(from), "{from}");
    DOCUMENT.replace(from, to)
}
