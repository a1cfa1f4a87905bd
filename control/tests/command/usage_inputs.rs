//! `trilane usage`: where lines come from, and what happens to those that are no ledger lines.

use std::process::{Command, Stdio};

use crate::support::{Files, call, gzip, line, small, usage};

/// Numbers of requests, lines and so on, of files and standard input.
fn counts(files: &[&std::path::Path], input: &[u8]) -> String {
    let args = ["--format".as_ref(), "json".as_ref()]
        .into_iter()
        .chain(files.iter().map(|f| f.as_os_str()));
    let ran = usage(args, input);
    let json = ran.json();
    format!(
        "{} of {} lines, {} skipped, {} damaged, {} torn, charge {}, exit {}",
        json["total"]["requests"],
        json["lines"],
        json["skipped"],
        json["damaged"],
        json["torn"],
        json["total"]["charge"],
        ran.code
    )
}

const SMALL: &str = "6 of 6 lines, 0 skipped, 0 damaged, 0 torn, charge \"1.125\", exit 0";
const TWICE: &str = "12 of 12 lines, 0 skipped, 0 damaged, 0 torn, charge \"2.25\", exit 0";

#[test]
fn sources() {
    let files = Files::new();
    let text = small();
    let text = text.as_bytes();
    let (first, second) = text.split_at(777); // within a line
    let members = [gzip(first), gzip(second)].concat();
    let plain = files.write("a.log", text);
    let packed = files.write("b.log", gzip(text)); // by its content, not its name
    let several = files.write("c.gz", &members);
    let empty = files.write("d.gz", gzip(b""));
    let nothing = files.write("e.log", b"");
    let dash = std::path::Path::new("-");
    assert_eq!(counts(&[], text), SMALL, "standard input");
    assert_eq!(counts(&[dash], text), SMALL, "standard input by name");
    assert_eq!(counts(&[], &gzip(text)), SMALL, "gzip on standard input");
    assert_eq!(counts(&[], &members), SMALL, "members on standard input");
    assert_eq!(counts(&[&plain], b"not read"), SMALL, "file");
    assert_eq!(counts(&[&packed], b""), SMALL, "gzip");
    assert_eq!(counts(&[&several], b""), SMALL, "members");
    assert_eq!(
        counts(&[&plain, &nothing, &several, &empty], b""),
        TWICE,
        "files"
    );
    assert_eq!(
        counts(&[&plain, dash], text),
        TWICE,
        "file and standard input"
    );
    let none = "0 of 0 lines, 0 skipped, 0 damaged, 0 torn, charge \"0\", exit 0";
    assert_eq!(counts(&[&nothing, &empty], b""), none, "nothing");
}

/// A pipe may give one byte at a time; and what is no terminal is told no progress.
#[test]
fn a_slow_pipe() {
    use std::io::Write as _;
    let mut child = Command::new(env!("CARGO_BIN_EXE_trilane"))
        .args(["usage", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for byte in gzip(small().as_bytes()) {
        stdin.write_all(&[byte]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.ends_with(",0,USD,0,1.125,0,0,0\r\n") && out.contains("\nTOTAL,,,6,3,0,1,1,1,65,6,0,"),
        "{out}"
    );
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("note: partial requests: 1 of 6"), "{err}");
}

#[test]
fn every_cut_of_gzip_is_an_error() {
    let (one, two) = (
        gzip(small().as_bytes()),
        gzip(line("2026-11-21T00:00:00Z", "").as_bytes()),
    );
    let whole = [one.clone(), two].concat();
    for end in (2..whole.len()).filter(|end| *end != one.len()) {
        let ran = usage([""; 0], &whole[..end]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "cut at {end}");
        let want = "error: cannot read all of standard input: its gzip data end too early";
        assert!(ran.err.starts_with(want), "cut at {end}: {}", ran.err);
    }
}

#[test]
fn damaged_gzip_is_an_error() {
    let mut sum = gzip(small().as_bytes());
    let checksum = sum.len() - 8;
    sum[checksum] ^= 1;
    let mut middle = gzip(small().as_bytes());
    let place = middle.len() / 2;
    for byte in &mut middle[place..place + 8] {
        *byte ^= 0xff;
    }
    let more = [gzip(b"\n"), b"more".to_vec()].concat();
    for (case, content) in [
        ("checksum", sum),
        ("data", middle),
        ("something else behind", more),
    ] {
        let ran = usage([""; 0], &content);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{case}");
        assert!(
            ran.err
                .contains("cannot read all of standard input: its gzip data"),
            "{case}: {}",
            ran.err
        );
        assert!(
            ran.err.contains("gzip -dc FILE | trilane usage"),
            "{case}: {}",
            ran.err
        );
    }
}

#[test]
fn what_cannot_be_read() {
    let files = Files::new();
    let zstd = files.write("a.zst", b"\x28\xb5\x2f\xfd and so on");
    let path = |name: &str| files.path(name).display().to_string();
    let cases = [
        ("missing", path("missing"), "No such file"),
        ("directory", path("."), "directory"),
        (
            "zstd",
            zstd.display().to_string(),
            "compressed by zstd, which is not read here: zstd -dc FILE | trilane",
        ),
    ];
    for (case, file, want) in cases {
        let ran = usage([&file], b"");
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{case}");
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains(want),
            "{case}: {}",
            ran.err
        );
        assert!(ran.err.contains(&file), "{case}: {}", ran.err);
    }
}

#[test]
fn lines_that_are_no_ledger_lines() {
    let files = Files::new();
    let mut ledger = b"[2026-11-21 17:00:00.000][1][info] starting\n\n  \r\n".to_vec();
    ledger.extend(small().replace('\n', "\r\n").bytes());
    ledger.extend(b"{\"timestamp\":\"2026-11-21T17:00:00Z\",\"level\":\"info\"}\n");
    ledger.extend(vec![b'{'; 3 << 20]);
    ledger.extend(b"\n\xff\xfe\n");
    let file = files.write("mixed.log", &ledger);
    let want = "6 of 10 lines, 4 skipped, 0 damaged, 0 torn, charge \"1.125\", exit 0";
    assert_eq!(counts(&[&file], b""), want);
    let ran = usage([&file], b"");
    let note = format!(
        "note: 4 lines were no ledger lines (first: {}:1: not a JSON object)\n",
        file.display()
    );
    assert!(ran.err.starts_with(&note), "{}", ran.err);
    let ran = usage(["--strict".as_ref(), file.as_os_str()], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("TOTAL"), "still printed: {}", ran.out);
    assert!(
        ran.err
            .contains("error: --strict: not every line is a whole ledger line"),
        "{}",
        ran.err
    );
    assert_eq!(usage(["--strict"], small().as_bytes()).code, 0);
}

#[test]
fn a_last_line_still_being_written() {
    let whole = line("2026-11-21T00:00:00Z", &call("a", "g", "m", 1, 1, "1 USD"));
    let text = whole.trim_end();
    for end in 1..text.len() {
        let ledger = [&whole, &text[..end]].concat();
        let want = "1 of 2 lines, 0 skipped, 0 damaged, 1 torn, charge \"1\", exit 0";
        if end % 50 == 1 || end + 1 == text.len() {
            assert_eq!(counts(&[], ledger.as_bytes()), want, "cut at {end}");
        }
    }
    let want = "2 of 2 lines, 0 skipped, 0 damaged, 0 torn, charge \"2\", exit 0";
    assert_eq!(
        counts(&[], [&whole, text].concat().as_bytes()),
        want,
        "only its line feed is missing"
    );

    let torn = [&whole, &text[..99]].concat();
    let ran = usage([""; 0], torn.as_bytes());
    let note = "note: 1 line at the end is not whole yet and not counted (first: standard input:2: ends within a JSON object)\n";
    assert_eq!(ran.err, note);
    assert_eq!(usage(["--strict"], torn.as_bytes()).code, 1);

    // Within a file it can no longer become whole.
    let ended = [&text[..99], "\n", &whole].concat();
    let want = "1 of 2 lines, 1 skipped, 0 damaged, 0 torn, charge \"1\", exit 0";
    assert_eq!(counts(&[], ended.as_bytes()), want);
}

#[test]
fn a_request_whose_numbers_cannot_be_right_is_never_left_out_silently() {
    let bad = line("2026-11-21T00:00:00Z", r#""gen_ai.usage.input_tokens":-5"#);
    let ledger = small() + &bad;
    let want = "6 of 7 lines, 0 skipped, 1 damaged, 0 torn, charge \"1.125\", exit 1";
    assert_eq!(counts(&[], ledger.as_bytes()), want);
    let ran = usage([""; 0], ledger.as_bytes());
    let note = "note: 1 line of a request cannot be right and is MISSING from the totals (first: standard input:7: invalid value: integer `-5`, expected u64 at column ";
    assert!(ran.err.contains(note), "{}", ran.err);
}

#[test]
fn wrong_command_lines() {
    let files = Files::new();
    let file = files.write("a.log", small()).display().to_string();
    let other = files.path("./a.log").display().to_string();
    let cases: [(&str, &[&str], &str); 10] = [
        ("unknown column", &["--by", "colour"], "possible values"),
        ("no label", &["--by", "label:NAME"], "possible values"),
        (
            "column twice",
            &["--by", "key,day,key"],
            "--by names key twice",
        ),
        ("unknown format", &["--format", "xml"], "possible values"),
        (
            "no time",
            &["--since", "yesterday"],
            "expected a day such as",
        ),
        (
            "nothing in between",
            &["--since", "2026-11-21", "--until", "2026-11-21"],
            "--until is not after --since",
        ),
        ("too many places", &["--round", "29"], "29 is not in 0..=28"),
        ("unknown option", &["--colour"], "--colour"),
        (
            "file twice",
            &[&file, &other],
            "is named twice: its records would count twice",
        ),
        ("standard input twice", &["-", "-"], "is named twice"),
    ];
    for (case, args, want) in cases {
        let ran = usage(args, b"");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{case}: {}", ran.err);
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains(want),
            "{case}: {}",
            ran.err
        );
    }
}

#[test]
fn output_that_nobody_reads() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let files = Files::new();
    let file = files.write("a.log", small());
    let mut command = Command::new(env!("CARGO_BIN_EXE_trilane"));
    let output = command
        .arg("usage")
        .arg(&file)
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let files = Files::new();
    let file = files.write("a.log", small());
    for format in ["table", "csv", "json"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trilane"));
        command
            .args(["usage", "--format", format])
            .arg(&file)
            .stdout(full.try_clone().unwrap());
        let output = command
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{format}");
        assert!(
            err.starts_with("error: cannot write the output: No space left"),
            "{format}: {err}"
        );
    }
}
