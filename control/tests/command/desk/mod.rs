//! An operator's desk: a directory with a document, and the command.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::command_output::CommandOutput;

/// The document of most tests.
pub const DOCUMENT: &str = include_str!("document.json");
/// A key that the document knows as `key_a`. What begins like it is never shown.
pub const KEY: &str = "sk-dont-tell-a";
/// The same of any key.
pub const SECRET: &str = "sk-dont-tell";

/// A temporary directory.
pub struct Desk(tempfile::TempDir);

impl Desk {
    /// With [`DOCUMENT`] as `gateway.json` and [`KEY`] in `key.txt`.
    pub fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        desk.write("gateway.json", DOCUMENT);
        desk.write("key.txt", &format!("{KEY}\n"));
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of all files.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Replaces the document by one with a change.
    pub fn change(&self, change: impl FnOnce(&mut Value)) {
        let mut document: Value = serde_json::from_str(DOCUMENT).unwrap();
        change(&mut document);
        self.write("gateway.json", &document.to_string());
    }

    /// Runs the command here.
    pub fn run(&self, args: &[&str]) -> CommandOutput {
        self.run_with(args, b"")
    }

    /// The same with this on standard input.
    pub fn run_with(&self, args: &[&str], input: &[u8]) -> CommandOutput {
        let mut child = self.command(args).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // The command may not read it.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        for said in [&out, &err] {
            assert!(!said.contains(SECRET), "{args:?}: a key: {said}");
            assert!(
                !said.contains('\u{1b}'),
                "{args:?}: colours without a terminal: {said}"
            );
        }
        let code = output.status.code().unwrap();
        CommandOutput { code, out, err }
    }

    /// The command, not yet begun.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trilane"));
        command
            .args(args)
            .current_dir(self.path(""))
            .env("TERM", "xterm")
            // Whoever runs the tests may run a gateway, and be signed in at a console.
            .env("HOME", self.path("home"))
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME");
        for name in ["DATA", "SERVER", "TOKEN", "SIGN_IN"] {
            command.env_remove(format!("TRILANE_{name}"));
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}
