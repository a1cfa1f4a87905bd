//! Documents, keys, headers and bodies that cannot be used, and where they come from.

use super::CHAT;
use crate::desk::{Desk, KEY};

#[test]
fn what_cannot_be_told() {
    let desk = Desk::new();
    desk.write("empty.txt", "\n");
    desk.write("lines.txt", "sk-dont-tell-1\nsk-dont-tell-2\n");
    desk.write("bad.json", r#"{"groups": [], "keys": []}"#);
    for (case, args, want) in [
        (
            "no document",
            &["--document", "none.json", "GET", "/v1/models"][..],
            "cannot read the document none.json",
        ),
        (
            "a bad document",
            &["--document", "bad.json", "GET", "/v1/models"],
            "groups: is missing or empty",
        ),
        (
            "no body",
            &["--document", "gateway.json", "--body", "none", "POST", "/x"],
            "cannot read the body none",
        ),
        (
            "no file of a key",
            &[
                "--document",
                "gateway.json",
                "--key-file",
                "none",
                "GET",
                "/x",
            ],
            "cannot read the key in none",
        ),
        (
            "no key in the file",
            &[
                "--document",
                "gateway.json",
                "--key-file",
                "empty.txt",
                "GET",
                "/x",
            ],
            "empty.txt is empty",
        ),
        (
            "two keys",
            &[
                "--document",
                "gateway.json",
                "--key-file",
                "lines.txt",
                "GET",
                "/x",
            ],
            "has more than one line",
        ),
        (
            "an unknown id",
            &[
                "--document",
                "gateway.json",
                "--key-id",
                "sk-dont-tell",
                "GET",
                "/x",
            ],
            "`trilane key list` has all",
        ),
        (
            "an unknown group",
            &["--document", "gateway.json", "--group", "nope", "GET", "/x"],
            "there are a, b, c, mixed",
        ),
        (
            "a whole address",
            &[
                "--document",
                "gateway.json",
                "GET",
                "http://gateway/v1/models",
            ],
            "PATH must begin with /",
        ),
        (
            "no header",
            &[
                "--document",
                "gateway.json",
                "-H",
                "sk-dont-tell-a",
                "GET",
                "/x",
            ],
            "-H number 1 is no header",
        ),
        (
            "the key twice",
            &[
                "--document",
                "gateway.json",
                "--key-id",
                "key_a",
                "-H",
                "authorization: Bearer sk-dont-tell-a",
                "POST",
                "/v1/responses",
            ],
            "-H gives authorization",
        ),
        (
            "two keys named",
            &[
                "--document",
                "gateway.json",
                "--key",
                "sk-dont-tell-a",
                "--key-id",
                "k",
                "GET",
                "/x",
            ],
            "cannot be used with",
        ),
        (
            "a place for no key",
            &[
                "--document",
                "gateway.json",
                "--key-in",
                "query",
                "GET",
                "/x",
            ],
            "required",
        ),
        (
            "standard input twice",
            &["--document", "-", "--body", "-", "POST", "/x"],
            "standard input can be one of",
        ),
    ] {
        let ran = desk.run(&[&["explain"], args].concat());
        assert_eq!(ran.code, 2, "{case}: {ran:?}");
        assert!(ran.err.contains(want), "{case}: {want}: {ran:?}");
        assert!(ran.out.is_empty(), "{case}: {ran:?}");
    }
}

#[test]
fn from_standard_input() {
    let desk = Desk::new();
    let key = format!("{KEY}\r\n");
    let document = desk.read("gateway.json");
    desk.write("chat.json", CHAT);
    for (case, args, input) in [
        (
            "the key",
            [
                "--document",
                "gateway.json",
                "--key-file",
                "-",
                "--body",
                "chat.json",
            ],
            key.as_str(),
        ),
        (
            "the body",
            [
                "--document",
                "gateway.json",
                "--key-file",
                "key.txt",
                "--body",
                "-",
            ],
            CHAT,
        ),
        (
            "the document",
            [
                "--document",
                "-",
                "--key-file",
                "key.txt",
                "--body",
                "chat.json",
            ],
            &document,
        ),
    ] {
        let args = [&["explain"], &args[..], &["POST", "/v1/responses"]].concat();
        let ran = desk.run_with(&args, input.as_bytes());
        assert_eq!(ran.code, 0, "{case}: {ran:?}");
        assert!(ran.out.ends_with("\nforwarded\n"), "{case}: {ran:?}");
    }
}
