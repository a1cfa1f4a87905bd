//! The token that is sent, and who may do what with it.

use super::{Office, output};

#[test]
fn where_a_token_comes_from() {
    let office = Office::published();
    let url = office.url();
    let bare = |args: &[&str]| {
        let mut command = office.desk.command(args);
        command.env_remove("TRILANE_TOKEN");
        command
    };
    let list = ["key", "list", "--server", &url];
    // Nobody is signed in.
    let none = output(bare(&list));
    assert_eq!(none.code, 2, "{none:?}");
    for said in ["trilane login --api", "TRILANE_TOKEN", "--token-file"] {
        assert!(none.err.contains(said), "{said}: {none:?}");
    }
    // A file, which comes before the environment.
    let file = [&list[..], &["--token-file", "token"]].concat();
    let mut command = bare(&file);
    command.env("TRILANE_TOKEN", "tlc-wrong");
    assert_eq!(output(command).code, 0);
    // The environment; what is no good is told with its source, and not shown.
    for (token, code, said) in [
        (office.console.token.as_str(), 0, ""),
        (
            "tlc-wrong",
            1,
            "does not take the token of TRILANE_TOKEN: it has expired, was revoked, or is another console's",
        ),
        ("tlc two words", 2, "TRILANE_TOKEN: this is no token"),
    ] {
        let mut command = bare(&list);
        command.env("TRILANE_TOKEN", token);
        let ran = output(command);
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.err.contains(said), "{said}: {ran:?}");
        assert!(!ran.err.contains("tlc-wrong"), "{ran:?}");
    }
    let missing = output(bare(&[&list[..], &["--token-file", "none"]].concat()));
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(
        missing.err.contains("cannot read the token in none"),
        "{missing:?}"
    );

    // What signing in has stored.
    let stored = |url: &str, until: i64| {
        let token = &office.console.token;
        let text = format!(r#"{{"url": "{url}", "token": "{token}", "good_until": {until}}}"#);
        let place = office.desk.path("home/.config/trilane");
        std::fs::create_dir_all(&place).unwrap();
        let file = place.join("sign-in.api.json");
        std::fs::write(&file, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(file, mode).unwrap();
    };
    for (at, until, code, said) in [
        (url.as_str(), i64::from(u32::MAX), 0, ""),
        (
            url.as_str(),
            1,
            1,
            "has ended (1970-01-01T00:00:01Z): trilane login --api",
        ),
        (
            "https://console.example.com",
            i64::from(u32::MAX),
            2,
            "signed in at https://console.example.com, not at",
        ),
    ] {
        stored(at, until);
        let ran = output(bare(&list));
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.err.contains(said), "{said}: {ran:?}");
    }
}

#[test]
fn which_console_is_asked() {
    let office = Office::published();
    let url = office.url();
    for (case, args, code, said) in [
        ("the environment", &["key", "list"][..], 0, ""),
        (
            "a document comes before it",
            &["key", "show", "--id", "key_a", "gateway.json"],
            0,
            "",
        ),
        (
            "both",
            &["key", "list", "--server", &url, "gateway.json"],
            2,
            "cannot be used with",
        ),
        (
            "what is for a console",
            &["key", "list", "--token-file", "token", "gateway.json"],
            2,
            "name it with --server URL",
        ),
        (
            "another port",
            &["key", "list", "--server", "http://127.0.0.1:1"],
            1,
            "the console at http://127.0.0.1:1 does not answer",
        ),
        (
            "in the clear",
            &["key", "list", "--server", "http://console.example.com"],
            2,
            "has no TLS",
        ),
        (
            "no API",
            &["key", "list", "--server", &format!("{url}/elsewhere")],
            1,
            "is no console of this release",
        ),
    ] {
        let ran = office.run(args);
        assert_eq!(ran.code, code, "{case}: {ran:?}");
        assert!(ran.err.contains(said), "{case}: {said}: {ran:?}");
    }
    let neither = office.desk.run(&["key", "list"]);
    assert_eq!(neither.code, 2, "{neither:?}");
    assert!(
        neither.err.contains("--document FILE") && neither.err.contains("--server URL"),
        "{neither:?}"
    );
    let neither = office.desk.run(&["publish", "gateway.json"]);
    assert!(
        neither.code == 2 && neither.err.contains("no console is named"),
        "{neither:?}"
    );
}

#[test]
fn rights_are_those_of_the_person_and_of_the_token() {
    let office = Office::published();
    let viewer = office.token_of("vera", "viewer", "");
    let reader = office.token_of("ada", "admin", r#", "scopes": ["usage:read"]"#);
    let create = ["key", "create", "--id", "k", "--group", "a"];
    for (case, token, args, code, said) in [
        ("a viewer sees", &viewer, &["key", "list"][..], 0, ""),
        (
            "a viewer checks",
            &viewer,
            &["check", "--server", &office.url(), "gateway.json"],
            0,
            "",
        ),
        (
            "and changes nothing",
            &viewer,
            &create,
            1,
            "does not let you: the role viewer may not do this. Members make keys of their own on its page Me",
        ),
        (
            "nor publishes",
            &viewer,
            &["publish", "--yes", "other.json"],
            1,
            "the role viewer may not do this",
        ),
        ("a scope", &reader, &["usage", "--by", "key"], 0, ""),
        (
            "another one",
            &reader,
            &["key", "list"],
            1,
            "this token does not have the scope keys:read",
        ),
    ] {
        office
            .desk
            .write("other.json", &super::changed("GPT-5.1", "GPT 5.1"));
        let mut command = office.command(args);
        command.env("TRILANE_TOKEN", token);
        let ran = output(command);
        assert_eq!(ran.code, code, "{case}: {ran:?}");
        assert!(ran.err.contains(said), "{case}: {ran:?}");
    }
    assert!(office.items("/api/v1/drafts").is_empty());
}
