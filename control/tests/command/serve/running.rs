//! The command while it runs.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use super::http::{FeedReply, OpenConnection};

/// The longest time that something may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The command as it runs.
pub struct Serve {
    child: Child,
    said: PathBuf,
    /// The number of lines that were looked at.
    read: usize,
    address: SocketAddr,
}

impl Serve {
    /// Starts it in a directory, and waits until it listens.
    pub fn new(directory: &Path, args: &[&str]) -> Self {
        let said = tempfile::Builder::new()
            .prefix("said")
            .tempfile_in(directory)
            .unwrap();
        let out = said.reopen().unwrap();
        let child = command(directory, args)
            .stdout(Stdio::from(out.try_clone().unwrap()))
            .stderr(Stdio::from(out))
            .spawn()
            .unwrap();
        let mut serve = Self {
            child,
            said: said.into_temp_path().keep().unwrap(),
            read: 0,
            address: ([127, 0, 0, 1], 0).into(),
        };
        let mark = if args.contains(&"--json") {
            r#""address":""#
        } else {
            "listening on "
        };
        let told = serve.until(mark);
        let (_, address) = told.split_once(mark).unwrap();
        let address = address.split(['"', '\n']).next().unwrap();
        serve.address = address.parse().unwrap();
        serve
    }

    /// Returns the output since the last call, once it contains `text`.
    pub fn until(&mut self, text: &str) -> String {
        let patience = Instant::now() + PATIENCE;
        loop {
            let all = fs::read_to_string(&self.said).unwrap();
            let new = &all[self.read..];
            if let Some(at) = new.find(text)
                && let Some(end) = new[at..].find('\n')
            {
                let end = at + end + 1;
                self.read += end;
                return new[..end].to_owned();
            }
            assert!(Instant::now() < patience, "{text:?} was not said: {all}");
            sleep(Duration::from_millis(5));
        }
    }

    /// Everything it has said since it was asked last.
    pub fn rest(&mut self) -> String {
        let all = fs::read_to_string(&self.said).unwrap();
        let new = all[self.read..].to_owned();
        self.read = all.len();
        new
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn line(&self) -> OpenConnection {
        OpenConnection::new(self.address)
    }

    pub fn get(&self, path: &str) -> FeedReply {
        self.line().get(path, &[("connection", "close")])
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        let patience = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < patience, "it does not end");
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command, on a free port.
pub fn command(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trilane"));
    command
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(args)
        .current_dir(directory);
    command
}

/// Puts a file into its place whole.
pub fn replace(file: &Path, content: &str) {
    let new = file.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(new, file).unwrap();
}

/// The command with a document of more than a megabyte, and that.
pub fn large(directory: &Path) -> (Serve, Vec<u8>) {
    let key = |number: u32| json!({"id": format!("k{number}"), "sha256": format!("{number:064x}"), "group": "g"});
    let group = json!({"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"});
    let keys: Vec<_> = (0..12_000).map(key).collect();
    let document = json!({"groups": [group], "keys": keys}).to_string();
    fs::write(directory.join("gateway.json"), &document).unwrap();
    let serve = Serve::new(directory, &["--document", "gateway.json"]);
    (serve, document.into_bytes())
}
