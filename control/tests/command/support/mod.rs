//! Ledgers to read, and the command that reads them.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::command_output::CommandOutput;

/// A ledger line with all that the gateway writes, and these members on top.
pub fn line(timestamp: &str, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    format!(
        concat!(
            r#"{{"timestamp":"{}","request_id":"6f3c1d5e-0000-4000-8000-000000000001","#,
            r#""http.response.status_code":200,"flags":"-","details":"via_upstream","duration_ms":12,"#,
            r#""bytes_received":123,"bytes_sent":456,"upstream":"127.0.0.1:9101"{}{}}}"#,
            "\n"
        ),
        timestamp, comma, more
    )
}

/// The members of a call with final numbers.
pub fn call(key: &str, group: &str, model: &str, input: u64, output: u64, charge: &str) -> String {
    let charge = match charge.split_once(' ') {
        Some((charge, currency)) => {
            format!(r#","trilane.charge":"{charge}","trilane.currency":"{currency}""#)
        }
        None => String::new(),
    };
    format!(
        concat!(
            r#""http.request.method":"POST","url.path":"/v1/responses","trilane.outcome":"finished","#,
            r#""trilane.usage.status":"complete","trilane.key.id":"{}","trilane.group":"{}","#,
            r#""trilane.source":"a-official","trilane.account":"first","trilane.entry":"responses","#,
            r#""trilane.model":"{}","#,
            r#""gen_ai.usage.input_tokens":{},"gen_ai.usage.output_tokens":{},"#,
            r#""trilane.usage.reported":{{"input_tokens":{},"trilane.charge":"99"}}{}"#
        ),
        key, group, model, input, output, input, charge
    )
}

/// A small ledger with something of everything.
pub fn small() -> String {
    [
        line("2026-11-20T23:59:59.999Z", &call("k1", "g1", "m1", 10, 1, "0.10 USD")),
        line("2026-11-21T00:00:00.000Z", &call("k1", "g1", "m1", 20, 2, "0.025 USD")),
        line("2026-11-21T00:30:00+01:00", &call("k2", "g1", "m2", 30, 3, "1 USD")),
        line(
            "2026-11-21T12:00:00.000Z",
            r#""trilane.usage.status":"partial","trilane.outcome":"client_abort","trilane.key.id":"k1","trilane.group":"g1","trilane.model":"m1","gen_ai.usage.input_tokens":5"#,
        ),
        line(
            "2026-11-21T12:00:00.000Z",
            r#""trilane.usage.status":"failed","trilane.outcome":"upstream_failed","trilane.account":"last","trilane.key.id":"k2","trilane.group":"g1","trilane.model":"m2""#,
        ),
        line("2026-11-22T12:00:00.000Z", ""),
    ]
    .concat()
}

/// Runs `trilane usage` with this on its standard input.
pub fn usage<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>, input: &[u8]) -> CommandOutput {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trilane"))
        .arg("usage")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The command may end before it has read everything, or not read at all.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    CommandOutput {
        code: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// A directory for files of one test.
pub struct Files(tempfile::TempDir);

impl Files {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// One gzip member.
pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut member = GzEncoder::new(Vec::new(), Compression::default());
    member.write_all(content).unwrap();
    member.finish().unwrap()
}
