//! `trilane filter`: the copies of the filter and the judge for Envoy.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::desk::Desk;

const FILTER: &str = "\0asm\x01\0\0\0 a filter";
const OTHER: &str = "\0asm\x01\0\0\0 another one";
const JUDGE: &str = "\0asm\x01\0\0\0 a judge";

/// A desk with filter and judge in the directory `in`.
fn desk() -> Desk {
    let desk = Desk::new();
    for directory in ["in", "out"] {
        fs::create_dir(desk.path(directory)).unwrap();
    }
    desk.write("in/in.wasm", FILTER);
    desk.write("in/trilane_judge.wasm", JUDGE);
    desk
}

#[test]
fn they_are_copied_whole() {
    let desk = desk();
    for case in ["the first time", "again"] {
        let ran = desk.run(&["filter", "--from", "in/in.wasm", "--out", "out/out.wasm"]);
        assert_eq!(ran.code, 0, "{case}: {ran:?}");
        let told: Vec<_> = ran.out.lines().map(|line| &line[64..]).collect();
        let want = ["  out/out.wasm", "  out/trilane_judge.wasm"];
        assert_eq!(told, want, "{case}");
        let files = ["out/out.wasm", "out/trilane_judge.wasm"];
        assert_eq!(files.map(|file| desk.read(file)), [FILTER, JUDGE], "{case}");
    }
    let mode = fs::metadata(desk.path("out/out.wasm"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o644, "Envoy's user can read it");
    let left = fs::read_dir(desk.path("out")).unwrap().count();
    assert_eq!(left, 2, "nothing is left behind");
}

#[test]
fn what_a_program_is_told() {
    let desk = desk();
    let args = [
        "filter",
        "--from",
        "in/in.wasm",
        "--out",
        "out/out.wasm",
        "--format",
        "json",
    ];
    for (case, changed) in [("the first", true), ("the same", false)] {
        let ran = desk.run(&args);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        let of = |file: &str, content: &str| {
            let sha256 = hex::encode(Sha256::digest(content));
            json!({"file": file, "sha256": sha256, "changed": changed})
        };
        let want = json!([
            of("out/out.wasm", FILTER),
            of("out/trilane_judge.wasm", JUDGE)
        ]);
        assert_eq!(told, want, "{case}");
    }
}

#[test]
fn one_is_replaced_only_where_it_differs() {
    let desk = desk();
    let copy = || {
        let ran = desk.run(&[
            "filter",
            "--from",
            "in/in.wasm",
            "--out",
            "out/trilane.wasm",
        ]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ["out/trilane.wasm", "out/trilane_judge.wasm"]
            .map(|file| fs::metadata(desk.path(file)).unwrap().ino())
    };
    let [first, judge] = copy();
    assert_eq!(copy(), [first, judge], "the same is left alone");
    // Who reads the old one has it until the end: it is another file.
    desk.write("in/in.wasm", OTHER);
    let [second, same] = copy();
    assert_ne!(second, first);
    assert_eq!(same, judge, "the judge is the same");
    assert_eq!(desk.read("out/trilane.wasm"), OTHER);
}

#[test]
fn what_cannot_be() {
    let desk = Desk::new();
    desk.write("in.wasm", FILTER);
    desk.write("trilane_judge.wasm", JUDGE);
    desk.write("text.wasm", "<html>");
    fs::create_dir(desk.path("alone")).unwrap();
    desk.write("alone/in.wasm", FILTER);
    fs::create_dir(desk.path("directory")).unwrap();
    for (case, args, code, why) in [
        (
            "nothing there",
            &["--from", "no.wasm", "--out", "o"][..],
            1,
            "cannot read no.wasm",
        ),
        (
            "no judge",
            &["--from", "alone/in.wasm", "--out", "o"],
            1,
            "cannot read alone/trilane_judge.wasm",
        ),
        (
            "no module",
            &["--from", "text.wasm", "--out", "o"],
            1,
            "no WebAssembly module",
        ),
        (
            "no directory",
            &["--from", "in.wasm", "--out", "no/o"],
            1,
            "cannot write no/o",
        ),
        (
            "a directory",
            &["--from", "in.wasm", "--out", "directory"],
            1,
            "cannot write directory",
        ),
        (
            "no file",
            &["--from", "in.wasm", "--out", ".."],
            1,
            "cannot write ..",
        ),
        ("to nowhere", &["--from", "in.wasm"], 2, "--out"),
    ] {
        let ran = desk.run(&[&["filter"], args].concat());
        assert_eq!(ran.code, code, "{case}: {ran:?}");
        assert!(ran.err.contains(why), "{case}: {ran:?}");
        assert!(!desk.path("o").exists(), "{case}");
    }
}
