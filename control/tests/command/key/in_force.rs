//! Documents that are not in force: a change would change nothing, and the right place is named.

use std::fs;
use std::process::{Child, Command, Stdio};

use super::{key, says};
use crate::command_output::CommandOutput;
use crate::desk::Desk;

/// The changes of a key.
const CHANGES: [&[&str]; 3] = [
    &["create", "--id", "x", "--group", "a"],
    &["disable", "--id", "key_a"],
    &["rotate", "--id", "key_a"],
];

/// A process that runs on a configuration, as Envoy does.
struct Running(Child);

impl Running {
    fn on(desk: &Desk, config: &str) -> Self {
        let mut command = Command::new("sh");
        // It waits for a line that never comes.
        command.args(["-c", "read line", "envoy", "--config-path"]);
        command.arg(desk.path(config)).stdin(Stdio::piped());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A gateway of a directory that was started: with a console, or with the document of this file.
fn started(desk: &Desk, data: &str, read: Option<&str>) {
    fs::create_dir_all(desk.path(data).join("run")).unwrap();
    let name = if read.is_some() {
        "other"
    } else {
        "trilane_console"
    };
    let config = format!("clusters: [{{name: {name}}}]");
    desk.write(&format!("{data}/run/envoy.yaml"), &config);
    let from = read.unwrap_or("agent/gateway.json");
    let from = desk.path(from).display().to_string();
    desk.write(&format!("{data}/run/published-from"), &from);
}

fn refused(ran: &CommandOutput, reason: &str, line: &str) {
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("gateway.json is not in force"), "{ran:?}");
    assert!(ran.err.contains(reason), "{reason}: {ran:?}");
    assert!(ran.err.contains(line), "{line}: {ran:?}");
}

#[test]
fn its_gateway_has_a_console() {
    let desk = Desk::new();
    let before = desk.read("gateway.json");
    started(&desk, ".", None);
    for (address, token, at, rest) in [
        (
            "",
            false,
            "the console, which",
            "with --server in the place of the document",
        ),
        (
            "http://127.0.0.1:10092",
            false,
            "the console at http://127.0.0.1:10092, which",
            "--server http://127.0.0.1:10092",
        ),
        (
            "http://127.0.0.1:10092",
            true,
            "the console at http://127.0.0.1:10092, which",
            "--server http://127.0.0.1:10092 --token-file ",
        ),
    ] {
        if !address.is_empty() {
            desk.write("run/console-address", address);
        }
        if token {
            desk.write("admin.token", "tlc-1");
        }
        for change in CHANGES {
            let (what, more) = change.split_first().unwrap();
            let ran = key(&desk, &[&[*what], more].concat());
            let line = if address.is_empty() {
                rest.to_owned()
            } else {
                format!("\n  trilane key {} {rest}", change.join(" "))
            };
            refused(&ran, at, &line);
            assert_eq!(desk.read("gateway.json"), before, "{what}");
        }
    }
    // What only reads says so.
    for (args, line) in [
        (
            &["key", "list", "gateway.json"][..],
            "\n  trilane key list --server http://127.0.0.1:10092 --token-file ",
        ),
        (
            &["key", "show", "--document", "gateway.json", "--id", "key_a"],
            "\n  trilane key show --id key_a --server ",
        ),
        (
            &["check", "gateway.json"],
            "\n  trilane check gateway.json --server http://127.0.0.1:10092",
        ),
        (
            &["models", "gateway.json", "--key-id", "key_a"],
            "Its page Keys has what it says",
        ),
        (
            &[
                "explain",
                "--document",
                "gateway.json",
                "--key-id",
                "key_a",
                "GET",
                "/v1/models",
            ],
            "Its page Requests has what it says",
        ),
    ] {
        let ran = desk.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        assert!(
            ran.err.starts_with("note: gateway.json is not in force"),
            "{args:?}: {ran:?}"
        );
        assert!(ran.err.contains(line), "{line}: {ran:?}");
    }
    // A document elsewhere is nobody's, and one without a console is in force.
    desk.write("other.json", &before);
    let done = desk.run(&["key", "disable", "other.json", "--id", "key_a"]);
    assert_eq!(done.code, 0, "{done:?}");
    started(&desk, ".", Some("gateway.json"));
    for change in CHANGES {
        let (what, more) = change.split_first().unwrap();
        let done = key(&desk, &[&[*what], more].concat());
        assert_eq!(done.code, 0, "{what}: {done:?}");
        assert!(!done.err.contains("not in force"), "{done:?}");
    }
}

#[test]
fn its_gateway_reads_another_document() {
    let desk = Desk::new();
    desk.write("other.json", &desk.read("gateway.json"));
    started(&desk, ".", Some("other.json"));
    // It does not run.
    assert_eq!(key(&desk, &["disable", "--id", "key_a"]).code, 0);
    let running = Running::on(&desk, "run/envoy.yaml");
    let line = format!("--document {}", desk.path("other.json").display());
    for change in CHANGES {
        let (what, more) = change.split_first().unwrap();
        let ran = key(&desk, &[&[*what], more].concat());
        let line = format!("\n  trilane key {} {line}", change.join(" "));
        refused(&ran, "the gateway that runs here reads", &line);
    }
    let done = desk.run(&["key", "create", "other.json", "--id", "x", "--group", "a"]);
    assert_eq!(done.code, 0, "it is the one: {done:?}");
    drop(running);
}

/// A key is made for the gateway of this user, unless somebody says that it is not.
#[test]
fn this_users_gateway_reads_another_document() {
    let desk = Desk::new();
    fs::create_dir(desk.path("data")).unwrap();
    desk.write("data/gateway.json", &desk.read("gateway.json"));
    let run = |args: &[&str]| {
        let mut command = desk.command(&[&["key"], args].concat());
        command.env("TRILANE_DATA", desk.path("data"));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        CommandOutput {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    };
    let create = ["create", "gateway.json", "--id", "x", "--group", "a"];
    let there = ["create", "data/gateway.json", "--id", "y", "--group", "a"];
    // Before the first start nothing is in force, and everything may be made.
    assert_eq!(run(&there).code, 0);
    started(&desk, "data", Some("data/gateway.json"));
    assert_eq!(
        run(&there[..1]
            .iter()
            .copied()
            .chain(["data/gateway.json", "--id", "z", "--group", "a"])
            .collect::<Vec<_>>())
        .code,
        0
    );
    let running = Running::on(&desk, "data/run/envoy.yaml");
    let line = format!(
        "\n  trilane key create --id x --group a --document {}",
        desk.path("data/gateway.json").display()
    );
    let ran = run(&create);
    refused(&ran, "the gateway that runs here reads", &line);
    assert!(
        ran.err.contains("for a gateway elsewhere, add --elsewhere"),
        "{ran:?}"
    );
    assert_eq!(says(&desk, "x"), serde_json::Value::Null);
    started(&desk, "data", None);
    desk.write("data/run/console-address", "https://console.example.com");
    refused(
        &run(&create),
        "the console at https://console.example.com",
        "--server https://console.example.com",
    );
    assert_eq!(run(&[&create[..], &["--elsewhere"]].concat()).code, 0);
    assert_eq!(says(&desk, "x")["group"], "a");
    // A key that is there is changed where it is.
    assert_eq!(run(&["disable", "gateway.json", "--id", "x"]).code, 0);
    drop(running);
    assert_eq!(
        run(&["create", "gateway.json", "--id", "w", "--group", "a"]).code,
        0,
        "it runs no more"
    );
}
