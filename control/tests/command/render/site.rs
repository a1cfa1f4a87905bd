//! A host with a document, credentials, authorities, and room for what is rendered.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::command_output::CommandOutput;

/// The text that every credential of a site contains.
pub const SECRET: &str = "sk-dont-tell-";
/// The document of most tests: one account alone, four together, of every kind.
pub const DOCUMENT: &str = include_str!("document.json");

/// A change on a host.
pub type SiteChange = fn(&Site);

/// A temporary host.
pub struct Site(tempfile::TempDir);

impl Site {
    /// All that [`DOCUMENT`] needs, and nothing rendered yet.
    pub fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        fs::create_dir(site.path("keys")).unwrap();
        for name in ["alone", "a1", "a2", "a3", "a4"] {
            site.write(&format!("keys/{name}.key"), &format!("{SECRET}{name}\n"));
        }
        site.write("keys/own.pem", authority());
        site.write("system.pem", authority());
        site.write("document.json", DOCUMENT);
        site.write("filter.wasm", "");
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Replaces the document by one with a change.
    pub fn change(&self, change: impl FnOnce(&mut Value)) {
        let mut document: Value = serde_json::from_str(DOCUMENT).unwrap();
        change(&mut document);
        self.write("document.json", &document.to_string());
    }

    /// Runs `trilane render` with these options and no others.
    pub fn run(&self, args: &[&str]) -> CommandOutput {
        let output = Command::new(env!("CARGO_BIN_EXE_trilane"))
            .arg("render")
            .args(args)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let text = |bytes| self.shown(&String::from_utf8(bytes).unwrap());
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert!(!out.contains(SECRET) && !err.contains(SECRET), "{out}{err}");
        let code = output.status.code().unwrap();
        CommandOutput { code, out, err }
    }

    /// Renders the document into `out`, with these options on top.
    pub fn render(&self, more: &[&str]) -> CommandOutput {
        let mut args = vec![
            "--document",
            "document.json",
            "--out",
            "out",
            "--credentials",
            "keys",
        ];
        args.extend(["--system-ca", "system.pem", "--filter", "filter.wasm"]);
        if !more.contains(&"--inotify-instances") {
            args.extend(["--inotify-instances", "1024"]);
        }
        args.extend(more);
        self.run(&args)
    }

    /// A text with this host's directory as `/site`.
    pub fn shown(&self, text: &str) -> String {
        text.replace(self.0.path().to_str().unwrap(), "/site")
    }

    /// Everything rendered, by its path under `out`, as if the host's directory were `/site`.
    pub fn rendered(&self) -> BTreeMap<String, Value> {
        let mut files = BTreeMap::new();
        for (name, text) in self.texts() {
            assert!(!text.contains(SECRET), "{name}: {text}");
            let text = without_digests(&self.shown(&text));
            let content = serde_json::from_str(&text).unwrap();
            files.insert(name, content);
        }
        files
    }

    /// The content of every file under `out`, by its path there.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(&self.path("out"), &self.path("out"), &mut files);
        files
    }

    /// The rendered clusters by their names.
    pub fn clusters(&self) -> BTreeMap<String, Value> {
        let file = &self.rendered()["clusters/clusters.json"];
        let clusters = file["resources"].as_array().unwrap().iter();
        clusters
            .map(|c| (c["name"].as_str().unwrap().to_owned(), c.clone()))
            .collect()
    }
}

/// The text without what tells clusters from those of other sites: the digests of what is in them.
fn without_digests(text: &str) -> String {
    const MEMBER: &str = "\"digest\": \"";
    let mut parts = text.split(MEMBER);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(MEMBER);
        out.push_str("DIGEST");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    out
}

fn collect(directory: &Path, root: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, root, files);
        } else {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

/// A certificate authority (of nobody's: its key was thrown away).
pub fn authority() -> &'static str {
    include_str!("authority.pem")
}

/// A group of the document.
pub fn group<'a>(document: &'a mut Value, id: &str) -> &'a mut Value {
    let groups = document["groups"].as_array_mut().unwrap();
    groups
        .iter_mut()
        .find(|group| group["id"] == json!(id))
        .unwrap()
}
