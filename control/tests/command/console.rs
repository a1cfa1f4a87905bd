//! `trilane console`: started as a process, spoken to over HTTP, and compared with `trilane usage`.

mod tools;

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Files, small, usage};
use serde_json::Value;

/// The console as it runs.
pub struct Console {
    child: Child,
    pub address: String,
    pub token: String,
    /// The output until it listened.
    told: String,
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trilane"));
    command
        .arg("console")
        .env_remove("TRILANE_DATABASE")
        .stdin(Stdio::null());
    command
}

impl Console {
    /// Starts it over a database, and reads the first admin's token if the file is there.
    pub fn start(files: &Files, more: &[&str]) -> Self {
        let mut child = command()
            .arg("--database")
            .arg(files.path("data"))
            .args(["--listen", "127.0.0.1:0", "--json", "--admin-token-file"])
            .arg(files.path("token"))
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = String::new();
        let address = lines.map(Result::unwrap).find_map(|line| {
            told.push_str(&line);
            let line: Value = serde_json::from_str(&line).unwrap();
            let listens = line["event"] == "listening";
            line["address"]
                .as_str()
                .filter(|_| listens)
                .map(str::to_owned)
        });
        let token = std::fs::read_to_string(files.path("token")).unwrap_or_default();
        Self {
            child,
            address: address.unwrap(),
            token: token.trim().to_owned(),
            told,
        }
    }

    fn agent() -> ureq::Agent {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(20)));
        config.build().into()
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        let request = Self::agent().get(format!("http://{}{path}", self.address));
        let mut response = request
            .header("authorization", format!("Bearer {}", self.token))
            .call()
            .unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (
            response.status().as_u16(),
            serde_json::from_str(&text).unwrap(),
        )
    }

    pub fn post(&self, path: &str, body: &[u8]) -> (u16, Value) {
        let request = Self::agent().post(format!("http://{}{path}", self.address));
        let mut response = request
            .header("authorization", format!("Bearer {}", self.token))
            .send(body)
            .unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (
            response.status().as_u16(),
            serde_json::from_str(&text).unwrap(),
        )
    }

    /// Sends JSON.
    pub fn post_json(&self, path: &str, body: &str) -> (u16, Value) {
        self.send_json(Self::agent().post(self.at(path)), body)
    }

    /// The same in the place of what is there.
    pub fn put_json(&self, path: &str, body: &str) -> (u16, Value) {
        self.send_json(Self::agent().put(self.at(path)), body)
    }

    fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn send_json(
        &self,
        request: ureq::RequestBuilder<ureq::typestate::WithBody>,
        body: &str,
    ) -> (u16, Value) {
        let request = request.content_type("application/json");
        let mut response = request
            .header("authorization", format!("Bearer {}", self.token))
            .send(body)
            .unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (
            response.status().as_u16(),
            serde_json::from_str(&text).unwrap_or_default(),
        )
    }

    /// Stops it as a service manager does.
    fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(0));
                return;
            }
            assert!(
                since.elapsed() < Duration::from_secs(20),
                "it does not stop"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_sums_are_those_of_the_ledger() {
    let files = Files::new();
    std::fs::create_dir(files.path("data")).unwrap();
    let ledger = format!("[info] foreign\n{}", small());
    let console = Console::start(&files, &[]);
    assert_eq!(console.get("/api/v1/me").1["id"], "admin");
    let mode = std::fs::metadata(files.path("token"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    // In two parts that are cut anywhere; the console is killed between them, and everything is sent again.
    let path = "/api/v1/ledger/envoy-1/f1?from=";
    let (half, _) = ledger.as_bytes().split_at(ledger.len() / 2);
    let (status, taken) = console.post(&format!("{path}0"), half);
    assert_eq!(status, 200, "{taken}");
    let token = console.token.clone();
    drop(console);
    let console = Console::start(&files, &[]);
    assert_eq!(console.token, token, "the first admin is made once");
    let (status, refused) = console.post(&format!("{path}0"), ledger.as_bytes());
    assert_eq!(status, 409, "{refused}");
    let position = usize::try_from(refused["position"].as_u64().unwrap()).unwrap();
    let rest = &ledger.as_bytes()[position..];
    let (status, taken) = console.post(&format!("{path}{position}"), rest);
    assert_eq!(
        (status, &taken["position"]),
        (200, &Value::from(ledger.len())),
        "{taken}"
    );

    let told = usage(
        ["--by", "key,model,outcome,hour", "--format", "json"],
        ledger.as_bytes(),
    )
    .json();
    let (_, asked) = console.get("/api/v1/usage?by=key,model,outcome,hour");
    let rows = told["rows"].as_array().unwrap();
    let items = asked["items"].as_array().unwrap();
    let charged = |row: &Value| row["charge"].as_str().unwrap() != "0";
    assert_eq!(rows.len(), items.len(), "{told}\n{asked}");
    assert!(rows.iter().any(charged));
    for (row, item) in rows.iter().zip(items) {
        for name in ["key", "model", "outcome", "hour"] {
            assert_eq!(row[name], item["values"][name], "{row} {item}");
        }
        for (name, count) in item["counts"].as_object().unwrap() {
            assert_eq!(&row[name], count, "{name}: {row} {item}");
        }
        assert_eq!(
            [
                "charge",
                "estimated_charge",
                "costed_charge",
                "cost",
                "margin"
            ]
            .map(|sum| &row[sum]),
            [
                "charge",
                "estimated_charge",
                "costed_charge",
                "cost",
                "margin"
            ]
            .map(|sum| &item[sum]),
            "{row} {item}"
        );
    }
    console.stop();
}

#[test]
fn what_it_does_not_begin_with() {
    let files = Files::new();
    let data = files.path("missing").display().to_string();
    let cases: [(&str, Vec<&str>, i32, &str); 6] = [
        ("no database", vec![], 2, "TRILANE_DATABASE"),
        (
            "a password for all to read",
            vec!["--database", "postgres://console:hunter2@127.0.0.1/x"],
            2,
            "--database-file",
        ),
        (
            "no such file",
            vec!["--database-file", "/nowhere/at/all"],
            2,
            "/nowhere/at/all",
        ),
        (
            "no such directory",
            vec!["--database", &data, "--listen", "127.0.0.1:0"],
            1,
            "is not there: make it (mkdir -m 0700 ",
        ),
        (
            "all addresses, without TLS",
            vec!["--database", &data, "--listen", "0.0.0.0:0"],
            2,
            "--behind-tls-proxy",
        ),
        (
            "two databases",
            vec!["--database", &data, "--database-file", "x"],
            2,
            "cannot be used with",
        ),
    ];
    for (case, args, code, text) in cases {
        let ran = command().args(args).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(code), "{case}: {said}");
        assert!(said.contains(text), "{case}: {said}");
        assert!(!said.contains("hunter2"), "{case}: {said}");
    }
    let url = "postgres://console:hunter2@127.0.0.1:9/console";
    let ran = command()
        .env("TRILANE_DATABASE", url)
        .args(["--listen", "127.0.0.1:0"])
        .output()
        .unwrap();
    let said = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(
        said.contains("cannot be reached") && !said.contains("hunter2"),
        "{said}"
    );
}
