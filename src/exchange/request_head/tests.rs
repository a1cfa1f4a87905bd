use super::*;
use proptest::prelude::*;

#[test]
fn texts_are_cut_at_a_character() {
    let cut = |text: &str| format!("{text}…");
    // Any byte of the four of 🤖 may be the one where the text is cut.
    let cases: [(&str, &[u8], String); 13] = [
        ("empty", b"", String::new()),
        ("short", b"/v1", "/v1".to_owned()),
        ("at the limit", b"/v1/", "/v1/".to_owned()),
        ("over the limit", b"/v1/x", cut("/v1/")),
        ("far over the limit", &[b'x'; 60_000], cut("xxxx")),
        ("two bytes each", "éééé".as_bytes(), "éééé".to_owned()),
        ("two bytes each, one more", "ééééé".as_bytes(), cut("éééé")),
        (
            "four bytes each",
            "🤖🤖🤖🤖".as_bytes(),
            "🤖🤖🤖🤖".to_owned(),
        ),
        (
            "four bytes each, more",
            "🤖🤖🤖🤖🤖🤖🤖".as_bytes(),
            cut("🤖🤖🤖🤖"),
        ),
        (
            "cut in a character",
            "x🤖🤖🤖🤖🤖🤖🤖".as_bytes(),
            cut("x🤖🤖🤖"),
        ),
        ("no UTF-8", b"/\xff\xfe", "/\u{fffd}\u{fffd}".to_owned()),
        (
            "no UTF-8, more",
            b"/\xff\xfe\x80\x81",
            cut("/\u{fffd}\u{fffd}\u{fffd}"),
        ),
        (
            "no UTF-8 far behind",
            b"abcdabcdabcdabcdabcdabcd\xff",
            cut("abcd"),
        ),
    ];
    for (case, bytes, want) in cases {
        assert_eq!(excerpt(bytes, 4), want, "{case}");
    }
}

fn of(pairs: &[(&str, &[u8])]) -> RequestLabels {
    let pairs = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.to_vec()));
    let labels = [("project", "x-project"), ("task", "x-task")];
    let labels = labels.map(|(name, header)| Label {
        name: name.into(),
        header: header.into(),
    });
    let found = request_labels(&Head::new(pairs.collect()), &labels);
    found.map(|found| *found).unwrap_or_default()
}

#[test]
fn clients() {
    let long = "a".repeat(99);
    for (agent, want) in [
        ("claude-cli/2.1.37 (external, cli)", Some("claude-cli/2.1")),
        (
            "codex_cli_rs/0.50.0 (Debian 13; x86_64) xterm",
            Some("codex_cli_rs/0.50"),
        ),
        (
            "GeminiCLI/0.8.2/gemini-2.5-pro (linux; x64)",
            Some("GeminiCLI/0.8"),
        ),
        ("OpenAI/Python 1.52.0", Some("OpenAI-Python/1.52")),
        (
            "AsyncAnthropic/Python 0.40.0",
            Some("AsyncAnthropic-Python/0.40"),
        ),
        ("curl/8", Some("curl/8")),
        ("tool/v3.4.5", Some("tool/3.4")),
        ("tool/2.x", Some("tool/2")),
        ("tool", Some("tool")),
        ("tool (7)", Some("tool")),
        ("tool 1.2", Some("tool/1.2")),
        ("tool/12345678.9", Some("tool/123456")),
        ("töol/1", Some("t/1")),
        (&long, Some(&long[..LONGEST_CLIENT])),
        ("", None),
        (" tool", None),
        ("/1.2", None),
        ("\u{1F916}", None),
    ] {
        assert_eq!(
            of(&[("user-agent", agent.as_bytes())]).client.as_deref(),
            want,
            "{agent}"
        );
    }
}

#[test]
fn sessions_and_labels() {
    let long = [b'x'; 65];
    for (case, headers, session, labels) in [
        ("nothing", &[][..], None, &[][..]),
        (
            "a session",
            &[("session-id", &b"0199-ab:c"[..])],
            Some("0199-ab:c"),
            &[],
        ),
        ("one that is too long", &[("session-id", &long)], None, &[]),
        ("one with other signs", &[("session-id", b"a b")], None, &[]),
        (
            "a label",
            &[("x-project", b" apollo ")],
            None,
            &[("project", "apollo")],
        ),
        (
            "two",
            &[("x-task", b"t"), ("x-project", b"p")],
            None,
            &[("project", "p"), ("task", "t")],
        ),
        (
            "one that came twice",
            &[("x-task", b"t"), ("x-task", b"t")],
            None,
            &[],
        ),
        ("a blank one", &[("x-task", b"  ")], None, &[]),
        (
            "no ASCII",
            &[("x-task", b"\xff\"\\")],
            None,
            &[("task", "_\"\\")],
        ),
        ("another header", &[("x-other", b"t")], None, &[]),
    ] {
        let found = of(headers);
        assert_eq!(found.session.as_deref(), session, "{case}");
        let of_case: Vec<_> = found
            .labels
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(of_case, labels, "{case}");
    }
    let cut = of(&[("x-task", &long)]);
    assert_eq!(cut.labels[0].1.len(), LONGEST);
}

proptest! {
    #[test]
    fn bounded_whatever_is_sent(agent in prop::collection::vec(any::<u8>(), 0..200), value in prop::collection::vec(any::<u8>(), 0..200)) {
        let found = of(&[("user-agent", &agent), ("x-task", &value), ("session-id", &value)]);
        let texts = found.labels.iter().map(|(_, value)| value).chain(&found.client).chain(&found.session);
        for text in texts {
            prop_assert!(text.len() <= 2 * LONGEST_CLIENT + 16 && text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text}");
        }
    }
}
