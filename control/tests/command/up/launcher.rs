//! The program that becomes Envoy, and ends with its supervisor.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::desk::Desk;

const TRILANE: &str = env!("CARGO_BIN_EXE_trilane");

/// Whether a process runs, and is no zombie.
fn runs(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = state.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
    state.is_some_and(|state| !state.starts_with('Z'))
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn it_becomes_the_program() {
    let own = std::process::id().to_string();
    let output = Command::new(TRILANE)
        .args([
            "become-envoy",
            "--supervisor",
            &own,
            "--",
            "sh",
            "-c",
            "echo $$ $0 $1; ulimit -n; ulimit -Hn",
            "a",
            "--b c",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = output.id();
    let output = output.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        format!("{pid} a --b c"),
        "the same process, the arguments as they are"
    );
    assert_eq!(lines[1], lines[2], "as many open files as it may have");
}

#[test]
fn what_cannot_become_one() {
    let desk = Desk::new();
    let own = std::process::id().to_string();
    for (case, supervisor, program, want) in [
        (
            "no such program",
            own.as_str(),
            "/nothing",
            "error: /nothing cannot be run: No such file",
        ),
        (
            "its supervisor has ended",
            "1",
            "true",
            "error: the supervisor has ended",
        ),
    ] {
        let ran = desk.run(&["become-envoy", "--supervisor", supervisor, "--", program]);
        assert_eq!(ran.code, 1, "{case}: {ran:?}");
        assert!(ran.err.contains(want), "{case}: {}", ran.err);
    }
    let ran = desk.run(&["--help"]);
    assert!(!ran.out.contains("become-envoy"), "it is nobody's to call");
}

#[cfg(target_os = "linux")]
#[test]
fn it_ends_with_its_supervisor_however_that_ends() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("pid");
    // A shell is the supervisor: it starts the program, and waits for it.
    let script = format!(
        "{TRILANE} become-envoy --supervisor $$ -- sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 60' & wait",
        file.display()
    );
    let mut supervisor = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    until("it begins", || file.exists());
    let pid: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    assert!(runs(pid));
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    until("it ends, too", || !runs(pid));
}
