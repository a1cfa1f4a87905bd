//! `trilane completions` and `trilane man`.

use crate::desk::Desk;

#[test]
fn completions() {
    let desk = Desk::new();
    for (shell, marks) in [
        ("bash", ["complete -F _trilane", "--key-file"]),
        ("zsh", ["#compdef trilane", "--key-file"]),
        ("fish", ["complete -c trilane", "key-file"]),
    ] {
        let ran = desk.run(&["completions", shell]);
        assert_eq!(ran.code, 0, "{shell}: {}", ran.err);
        for mark in marks {
            assert!(ran.out.contains(mark), "{shell}: {mark}");
        }
        for command in [
            "init", "check", "explain", "models", "prices", "rotate", "render", "filter", "serve",
            "console", "usage",
        ] {
            assert!(ran.out.contains(command), "{shell}: {command}");
        }
    }
    let ran = desk.run(&["completions", "sh"]);
    assert!(
        ran.code == 2 && ran.err.contains("possible values: bash, zsh, fish"),
        "{ran:?}"
    );
}

#[test]
fn manual_pages() {
    let desk = Desk::new();
    for (path, marks) in [
        (&[][..], ["trilane\\-explain(1)", "Tools for operating"]),
        (&["explain"], ["\\-\\-key\\-file", "EXTRA"]),
        (&["key", "rotate"], ["\\-\\-overlap", "trilane key rotate"]),
    ] {
        let ran = desk.run(&[&["man"], path].concat());
        assert_eq!(ran.code, 0, "{path:?}: {}", ran.err);
        for mark in marks {
            assert!(ran.out.contains(mark), "{path:?}: {mark}: {}", ran.out);
        }
    }
    let ran = desk.run(&["man", "key", "nope"]);
    assert!(
        ran.code == 2 && ran.err.contains("there is: create, list, show, disable"),
        "{ran:?}"
    );
    assert_eq!(desk.run(&["man", "--out", "pages"]).code, 0);
    let mut pages: Vec<_> = std::fs::read_dir(desk.path("pages"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    pages.sort();
    assert!(
        pages.contains(&"trilane.1".into()) && pages.contains(&"trilane-key-create.1".into()),
        "{pages:?}"
    );
    assert!(
        !pages
            .iter()
            .any(|page| page.to_string_lossy().contains("help")),
        "{pages:?}"
    );
}

/// Each line of a block of shell in the page on this command does what it says, with the sample document.
#[test]
fn the_page_on_the_command_is_right() {
    let page = include_str!("../../../docs/command.md");
    let desk = Desk::new();
    desk.write("gateway.json", include_str!("../../../envoy/gateway.json"));
    desk.write(
        "request.json",
        r#"{"model":"claude-opus-4.5","max_tokens":1,"messages":[]}"#,
    );
    let line = concat!(
        r#"{"timestamp":"2026-11-21T19:12:03.201Z","request_id":"0827174e-7a10-4c7e-9d13-df448d0f0f4a","#,
        r#""http.response.status_code":200,"duration_ms":5821,"flags":"-","details":"via_upstream","#,
        r#""http.request.method":"POST","url.path":"/v1/messages","trilane.outcome":"finished","#,
        r#""trilane.usage.status":"complete","trilane.endpoint":"messages","trilane.protocol":"B","#,
        r#""trilane.key.id":"key_mixed","trilane.group":"mixed","trilane.source":"b-official","trilane.entry":"vb_messages","#,
        r#""trilane.account":"b-official-2","trilane.tries":2,"#,
        r#""trilane.tries.failed":[{"account":"b-official-1","kind":"overloaded","status":529}],"#,
        r#""trilane.multiplier":"2.0000","gen_ai.request.model":"claude-opus-4.5","trilane.model":"claude-opus-4-5","#,
        r#""trilane.upstream_model":"claude-opus-4-5-20251101","gen_ai.usage.input_tokens":1534,"#,
        r#""gen_ai.usage.output_tokens":56,"gen_ai.usage.cache_read.input_tokens":1024,"trilane.charge":"0.008924","#,
        r#""trilane.currency":"USD","http.request.body.size":5120}"#,
        "\n"
    );
    desk.write("ledger.jsonl", line);
    let mut ran = 0;
    for block in page.split("```sh\n").skip(1) {
        // At a console: `server/documents.rs`, and tests/e2e/console signs in.
        let block_of_shell = block.split("```").next().unwrap();
        if block_of_shell.contains("TRILANE_SERVER") || block_of_shell.contains("login --api") {
            continue;
        }
        for line in block.split("```").next().unwrap().lines() {
            // One runs until a signal, the other fetches: tests/e2e/up has both.
            if ["trilane up ", "trilane envoy install "]
                .iter()
                .any(|it| line.starts_with(it))
            {
                continue;
            }
            let bin = std::path::Path::new(env!("CARGO_BIN_EXE_trilane"))
                .parent()
                .unwrap();
            let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
            let output = std::process::Command::new("sh")
                .args(["-c", line])
                .env("PATH", path)
                .current_dir(desk.path(""))
                .output()
                .unwrap();
            assert!(output.status.success(), "{line}: {output:?}");
            let out = String::from_utf8(output.stdout).unwrap();
            let shown = block
                .split_once("```\n\n```\n")
                .map(|(_, shown)| shown.split("```").next().unwrap());
            for want in shown
                .into_iter()
                .flat_map(str::lines)
                .filter(|want| !line.contains("check") && !want.contains('…'))
            {
                assert!(out.lines().any(|got| got == want), "{line}: {want}: {out}");
            }
            ran += 1;
        }
    }
    assert_eq!(ran, 17, "as many lines as the page has");
}
