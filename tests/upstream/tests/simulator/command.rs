//! The command: readiness, a clean end, and errors that help.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trilane-upstream"));
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts `serve` on a free port; returns it with its address.
fn serve() -> (Child, String) {
    let mut child = command(&["serve", "--listen", "a=127.0.0.1:0"])
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line
        .trim_end()
        .strip_prefix("listening a ")
        .unwrap()
        .to_owned();
    (child, address)
}

#[test]
fn serves_until_a_signal() {
    for signal in ["-INT", "-TERM"] {
        let (mut child, address) = serve();
        std::net::TcpStream::connect(address).unwrap();
        Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap();
        assert!(child.wait().unwrap().success(), "{signal}");
    }
}

#[test]
fn a_taken_address_is_explained() {
    let (mut child, address) = serve();
    let failed = command(&["serve", "--listen", &format!("b={address}")])
        .output()
        .unwrap();
    let problem = String::from_utf8(failed.stderr).unwrap();
    assert!(!failed.status.success());
    assert!(
        problem.contains(&address) && problem.contains("stop the process"),
        "{problem}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_certificate_is_made_once() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    for said in ["wrote", "kept"] {
        let done = command(&["certificate", "--out", out]).output().unwrap();
        assert!(done.status.success());
        assert!(String::from_utf8(done.stdout).unwrap().starts_with(said));
    }
}
