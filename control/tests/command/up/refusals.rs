//! Obstacles before an Envoy is started: one sentence each, and the way out.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::command_output::CommandOutput;
use crate::desk::Desk;

/// A program that says that it is Envoy of this version, and does nothing else.
fn envoy(desk: &Desk, version: &str) -> String {
    let file = desk.path("envoy");
    let script =
        format!("#!/bin/sh\necho \"$0  version: 0123abcd/{version}/Clean/RELEASE/BoringSSL\"\n");
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Runs `trilane up` with that Envoy, in `data`.
fn up(desk: &Desk, version: &str, args: &[&str]) -> CommandOutput {
    let envoy = envoy(desk, version);
    let options = [
        "up",
        "--data",
        "data",
        "--envoy",
        &envoy,
        "--port",
        "0",
        "--tls-port",
        "0",
        "--admin-port",
        "0",
    ];
    desk.run(&[&options[..], args].concat())
}

#[test]
fn what_is_refused() {
    let desk = Desk::new();
    desk.write("text.wasm", "text");
    desk.write("broken.json", "{");
    // (case, version of Envoy, arguments, exit code, what is told)
    type Case<'a> = (&'a str, &'a str, &'a [&'a str], i32, &'a [&'a str]);
    let cases: [Case<'_>; 9] = [
        (
            "an older Envoy",
            "1.39.9",
            &["--demo"],
            1,
            &[
                "is Envoy 1.39.9, and this release needs 1.40.0",
                "trilane envoy install --data",
            ],
        ),
        (
            "a newer one",
            "1.41.0",
            &["--demo"],
            1,
            &["is Envoy 1.41.0, and this release needs 1.40.0"],
        ),
        (
            "another patch",
            "1.40.9",
            &[],
            1,
            &[
                "warning: ",
                "is Envoy 1.40.9; this release is tested with 1.40.0",
            ],
        ),
        (
            "no document",
            "1.40.0",
            &[],
            1,
            &[
                "there is no document",
                "trilane init",
                "trilane up --demo",
                "--document FILE",
            ],
        ),
        (
            "no such document",
            "1.40.0",
            &["--demo", "--document", "x.json"],
            1,
            &["there is no document", "x.json"],
        ),
        (
            "a broken one",
            "1.40.0",
            &["--document", "broken.json", "--filter", "text.wasm"],
            1,
            &["--filter: this is no WebAssembly module"],
        ),
        (
            "a host by name",
            "1.40.0",
            &["--host", "localhost"],
            2,
            &["--host: localhost is no address"],
        ),
        (
            "a time without a unit",
            "1.40.0",
            &["--drain", "5"],
            2,
            &["expected a number with s, m, h, d or w"],
        ),
        (
            "a size of nothing",
            "1.40.0",
            &["--ledger-max-size", "0"],
            2,
            &["expected a number of bytes"],
        ),
    ];
    for (case, version, args, code, wants) in cases {
        let ran = up(&desk, version, args);
        assert_eq!(ran.code, code, "{case}: {ran:?}");
        for want in wants {
            assert!(ran.err.contains(want), "{case}: {want}: {}", ran.err);
        }
    }
}

#[test]
fn the_file_of_settings() {
    let desk = Desk::new();
    fs::create_dir(desk.path("data")).unwrap();
    for (text, code, want) in [
        ("prot = 1", 2, "unknown field `prot`"),
        (
            "drain = '5'",
            2,
            "data/trilane.toml: drain: expected a number with s, m, h, d or w",
        ),
        ("document = 'own.json'", 1, "data/own.json"),
    ] {
        desk.write("data/trilane.toml", text);
        let ran = up(&desk, "1.40.0", &[]);
        assert_eq!(ran.code, code, "{text}: {ran:?}");
        assert!(ran.err.contains(want), "{text}: {}", ran.err);
    }
}

#[test]
fn every_option_has_a_variable() {
    let desk = Desk::new();
    let ran = desk.run(&["up", "--help"]);
    let (_, options) = ran.out.split_once("Options:").unwrap();
    let names = options
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--"));
    let mut count = 0;
    for name in names.map(|line| line.split([' ', '[']).next().unwrap()) {
        let is_alone = ["check", "help"].contains(&name);
        // The filter's variable is that of the tests and of the benchmark.
        let variable = match name {
            "filter" => "WASM".to_owned(),
            name => name.to_uppercase().replace('-', "_"),
        };
        let has = options.contains(&format!("[env: TRILANE_{variable}="));
        assert!(has != is_alone, "{name}: {options}");
        count += 1;
    }
    assert!(count >= 18, "{count}: {options}");
}
