//! `trilane filter`: the copy of the filter for Envoy.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::desk::Desk;

const FILTER: &str = "\0asm\x01\0\0\0 a filter";
const OTHER: &str = "\0asm\x01\0\0\0 another one";

#[test]
fn it_is_copied_whole() {
    let desk = Desk::new();
    desk.write("in.wasm", FILTER);
    for (case, out) in [("by its name", "out.wasm"), ("again", "out.wasm")] {
        let ran = desk.run(&["filter", "--from", "in.wasm", "--out", out]);
        assert_eq!(ran.code, 0, "{case}: {ran:?}");
        assert!(ran.out.ends_with("  out.wasm\n"), "{case}: {ran:?}");
        assert_eq!(desk.read("out.wasm"), FILTER, "{case}");
    }
    let mode = fs::metadata(desk.path("out.wasm")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o644, "Envoy's user can read it");
    assert_eq!(
        desk.names(),
        ["gateway.json", "in.wasm", "key.txt", "out.wasm"],
        "nothing is left behind"
    );
}

#[test]
fn what_a_program_is_told() {
    let desk = Desk::new();
    desk.write("in.wasm", FILTER);
    let args = [
        "filter", "--from", "in.wasm", "--out", "out.wasm", "--format", "json",
    ];
    for (case, changed) in [("the first", true), ("the same", false)] {
        let ran = desk.run(&args);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        let sha256 = hex::encode(Sha256::digest(FILTER));
        let want = json!({"file": "out.wasm", "sha256": sha256, "changed": changed});
        assert_eq!(told, want, "{case}");
    }
}

#[test]
fn it_is_replaced_only_where_it_differs() {
    let desk = Desk::new();
    desk.write("in.wasm", FILTER);
    fs::create_dir(desk.path("filter")).unwrap();
    let out = desk.path("filter/trilane.wasm");
    let copy = || {
        let args = [
            "filter",
            "--from",
            "in.wasm",
            "--out",
            out.to_str().unwrap(),
        ];
        assert_eq!(desk.run(&args).code, 0);
        fs::metadata(&out).unwrap().ino()
    };
    let first = copy();
    assert_eq!(copy(), first, "the same is left alone");
    // Who reads the old one has it until the end: it is another file.
    desk.write("in.wasm", OTHER);
    assert_ne!(copy(), first);
    assert_eq!(desk.read("filter/trilane.wasm"), OTHER);
}

#[test]
fn what_cannot_be() {
    let desk = Desk::new();
    desk.write("in.wasm", FILTER);
    desk.write("text.wasm", "<html>");
    fs::create_dir(desk.path("directory")).unwrap();
    for (case, args, code, why) in [
        (
            "nothing there",
            &["--from", "no.wasm", "--out", "o"][..],
            1,
            "cannot read no.wasm",
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
