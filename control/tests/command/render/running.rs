//! The command while it runs.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::site::{SECRET, Site};

/// The command as it runs.
pub struct Running<'a> {
    site: &'a Site,
    child: Child,
    /// The number of lines that were looked at.
    read: usize,
    /// Whether each line of it begins with the time.
    timed: bool,
}

impl<'a> Running<'a> {
    /// Staying.
    pub fn watch(site: &'a Site, more: &[&str]) -> Self {
        Self::new(site, true, &[&["--watch"], more].concat())
    }

    /// Once.
    pub fn once(site: &'a Site, more: &[&str]) -> Self {
        Self::new(site, false, more)
    }

    fn new(site: &'a Site, timed: bool, more: &[&str]) -> Self {
        let said = fs::File::create(site.path("said")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_trilane"))
            .args(["render", "--document", "document.json"])
            .args(["--out", "out", "--credentials", "keys"])
            .args([
                "--system-ca",
                "system.pem",
                "--filter",
                "filter.wasm",
                "--inotify-instances",
                "1024",
            ])
            .args(more)
            .current_dir(site.path(""))
            .stdout(Stdio::from(said.try_clone().unwrap()))
            .stderr(Stdio::from(said))
            .spawn()
            .unwrap();
        Self {
            site,
            child,
            read: 0,
            timed,
        }
    }

    /// The new lines up to one that holds this, each without its time.
    pub fn until(&mut self, last: &str) -> Vec<String> {
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            let all = fs::read_to_string(self.site.path("said")).unwrap();
            assert!(!all.contains(SECRET), "{all}");
            let new = &all[self.read..];
            if let Some(at) = new.find(last)
                && let Some(end) = new[at..].find('\n')
            {
                let lines = &new[..at + end];
                self.read += lines.len() + 1;
                return lines.lines().map(|l| self.without_time(l)).collect();
            }
            assert!(Instant::now() < patience, "{last} in {new}");
            sleep(Duration::from_millis(20));
        }
    }

    fn without_time(&self, line: &str) -> String {
        let line = self.site.shown(line);
        if !self.timed || line.starts_with('{') {
            return line;
        }
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.len() == 20 && time.ends_with('Z'), "{line}");
        rest.to_owned()
    }

    /// Waits until it ends by itself. Returns its status, and what it said that was not looked at.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, self.rest())
    }

    /// Sends a signal; how it ended, and what it said that was not looked at.
    pub fn end(self, signal: &str) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        Command::new("kill").args([signal, &id]).status().unwrap();
        self.ended()
    }

    fn rest(&self) -> String {
        let all = fs::read_to_string(self.site.path("said")).unwrap();
        assert!(!all.contains(SECRET), "{all}");
        all[self.read..].to_owned()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
