//! Repairs of a console's database without its API, as an operator types them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use super::{Console, command};
use crate::command_output::CommandOutput;
use crate::support::Files;

const CREDENTIAL: &str = "sk-of-the-vendor-0123456789";

/// Files with a console's directory, in which nothing is yet.
fn files() -> Files {
    let files = Files::new();
    fs::create_dir(files.path("data")).unwrap();
    files
}

/// One of the tools, over the console's directory.
fn tool(files: &Files, args: &[&str]) -> CommandOutput {
    let mut command = command();
    command
        .env_remove("TRILANE_SEALING_KEY_FILE")
        .current_dir(files.path(""))
        .args(args)
        .args(["--database", "data"]);
    let ran = command.output().unwrap();
    CommandOutput {
        code: ran.status.code().unwrap(),
        out: String::from_utf8(ran.stdout).unwrap(),
        err: String::from_utf8(ran.stderr).unwrap(),
    }
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

impl Console {
    /// Gives the credential of an account.
    fn gives(&self, name: &str) {
        let url = format!("http://{}/api/v1/credentials/{name}", self.address);
        let request = Self::agent()
            .put(url)
            .content_type("application/json")
            .header("authorization", format!("Bearer {}", self.token));
        let body = format!(
            r#"{{"value": "{CREDENTIAL}", "destinations": [{{"url": "https://api.example.com"}}]}}"#
        );
        let mut response = request.send(body).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        assert_eq!(response.status().as_u16(), 200, "{text}");
    }

    /// Adds a webhook: its secret.
    fn adds_webhook(&self) -> String {
        let url = format!("http://{}/api/v1/webhooks", self.address);
        let request = Self::agent()
            .post(url)
            .content_type("application/json")
            .header("authorization", format!("Bearer {}", self.token));
        let mut response = request
            .send(r#"{"url": "https://hooks.example.com/"}"#)
            .unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        assert_eq!(response.status().as_u16(), 201, "{text}");
        let made: Value = serde_json::from_str(&text).unwrap();
        made["secret"].as_str().unwrap().to_owned()
    }

    /// Lists the credentials as the API shows them.
    fn credentials(&self) -> String {
        self.get("/api/v1/credentials").1["items"].to_string()
    }
}

#[test]
fn without_a_database_nothing_is_done_and_nothing_made() {
    let files = files();
    for args in [
        &["admin-token", "new.token"][..],
        &["backup", "copy.db"],
        &["restored"],
        &["reseal", "--new-key"],
    ] {
        let ran = tool(&files, args);
        assert_eq!(ran.code, 1, "{args:?} {ran:?}");
        assert!(
            ran.err.contains("no database of a console in data"),
            "{args:?} {ran:?}"
        );
        assert_eq!(
            fs::read_dir(files.path("data")).unwrap().count(),
            0,
            "{args:?}"
        );
        assert_eq!(fs::read_dir(files.path("")).unwrap().count(), 1, "{args:?}");
    }
}

#[test]
fn a_lost_token_is_replaced_by_one_in_a_file() {
    let files = files();
    let mut console = Console::start(&files, &[]);
    for (person, args) in [
        ("admin", &["admin-token", "new.token"][..]),
        ("ann", &["admin-token", "--person", "ann", "ann.token"]),
    ] {
        let ran = tool(&files, args);
        assert_eq!(ran.code, 0, "{ran:?}");
        let file = files.path(args.last().unwrap());
        assert_eq!(mode(&file), 0o600);
        let token = fs::read_to_string(&file).unwrap().trim().to_owned();
        assert!(!format!("{ran:?}").contains(&token));
        console.token.clone_from(&token);
        let me = console.get("/api/v1/me").1;
        assert_eq!(
            (&me["id"], &me["role"]),
            (&Value::from(person), &Value::from("admin"))
        );

        // No file is written over, and no token is made that nobody has.
        let ran = tool(&files, args);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(
            ran.err.contains("name one that is not there yet"),
            "{ran:?}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap().trim(), token);
    }
    let tokens = console.get("/api/v1/tokens").1["items"].clone();
    assert_eq!(tokens.as_array().unwrap().len(), 3, "{tokens}");
}

#[test]
fn a_backup_is_written_once() {
    let files = files();
    let console = Console::start(&files, &[]);
    let ran = tool(&files, &["backup", "copy.db"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let copy = files.path("copy.db");
    assert_eq!(mode(&copy), 0o600);
    let before = fs::read(&copy).unwrap();
    assert!(before.starts_with(b"SQLite format 3\0"));
    let ran = tool(&files, &["backup", "copy.db"]);
    assert_eq!(
        (ran.code, ran.err.contains("copy.db exists")),
        (1, true),
        "{ran:?}"
    );
    assert_eq!(fs::read(&copy).unwrap(), before);
    let ran = tool(&files, &["backup", "nowhere/copy.db"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    console.stop();
}

#[test]
fn gateways_read_all_keys_anew_after_a_restored_backup() {
    let files = files();
    let console = Console::start(&files, &[]);
    let (status, page) = console.get("/api/v1/feed/keys");
    assert_eq!(status, 200, "{page}");
    let path = format!(
        "/api/v1/feed/keys?cursor={}",
        page["cursor"].as_str().unwrap()
    );
    assert_eq!(console.get(&path).0, 200);
    let ran = tool(&files, &["restored"]);
    assert_eq!(
        (ran.code, ran.err.contains("read all keys anew")),
        (0, true),
        "{ran:?}"
    );
    assert_eq!(console.get(&path).0, 410);
}

/// The secrets of webhooks as the database has them.
fn stored_secrets(files: &Files) -> Vec<String> {
    let database = Connection::open(files.path("data/console.db")).unwrap();
    let mut statement = database.prepare("SELECT secret FROM webhooks").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn secrets_of_webhooks_of_before_are_sealed_at_start() {
    let files = files();
    let console = Console::start(&files, &[]);
    let secret = console.adds_webhook();
    let is_sealed = || {
        stored_secrets(&files)
            .iter()
            .all(|stored| stored.starts_with("sealed-1:") && !stored.contains(&secret))
    };
    assert!(is_sealed());
    assert!(!console.told.contains("\"event\":\"sealed\""));
    console.stop();

    let as_before = || {
        let database = Connection::open(files.path("data/console.db")).unwrap();
        database
            .execute("UPDATE webhooks SET secret = ?1", [&secret])
            .unwrap();
    };
    as_before();
    let console = Console::start(&files, &[]);
    assert!(is_sealed());
    assert!(
        console.told.contains("\"event\":\"sealed\"") && !console.told.contains(&secret),
        "{}",
        console.told
    );
    console.stop();

    // Its key is lost: it is said at the start, which goes on.
    fs::remove_file(files.path("data/sealing.keys")).unwrap();
    let console = Console::start(&files, &[]);
    assert!(
        console
            .told
            .contains("1 of 1 secrets of webhooks cannot be opened"),
        "{}",
        console.told
    );
    console.stop();

    // Without a start, as well.
    as_before();
    let ran = tool(&files, &["reseal"]);
    assert_eq!(
        (ran.code, ran.err.contains("secrets of webhooks 1")),
        (0, true),
        "{ran:?}"
    );
    assert!(is_sealed() && !format!("{ran:?}").contains(&secret));
}

#[test]
fn all_is_sealed_anew() {
    let files = files();
    let console = Console::start(&files, &[]);
    console.gives("vendor");
    console.gives("other");
    let secret = console.adds_webhook();
    let keys = files.path("data/sealing.keys");
    let lines = || -> Vec<String> {
        let text = fs::read_to_string(&keys).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let old = lines();

    let ran = tool(&files, &["reseal", "--new-key"]);
    assert_eq!(
        (
            ran.code,
            ran.err
                .contains("sealed anew: credentials 2, secrets of webhooks 1, secrets of identity providers 0;")
        ),
        (0, true),
        "{ran:?}"
    );
    let both = lines();
    assert_eq!((both.len(), &both[1..]), (2, &old[..]));
    // All is done: the old key may go, and the console that runs opens them.
    let ran = tool(&files, &["reseal", "--forget-old-keys"]);
    assert_eq!(
        (
            ran.code,
            ran.err
                .contains("sealed anew: credentials 0, secrets of webhooks 0, secrets of identity providers 0;")
        ),
        (0, true),
        "{ran:?}"
    );
    assert_eq!((lines(), mode(&keys)), (both[..1].to_vec(), 0o600));
    let listed = console.credentials();
    assert!(
        listed.contains("vendor") && !listed.contains("unreadable"),
        "{listed}"
    );

    // Another key in its place opens none: it is said, and no key is forgotten.
    fs::write(&keys, format!("{}\n", old[0])).unwrap();
    let ran = tool(&files, &["reseal", "--new-key", "--forget-old-keys"]);
    assert_eq!(
        (
            ran.code,
            ran.err.contains(
                "credentials 2, secrets of webhooks 1, secrets of identity providers 0. Put back"
            )
        ),
        (1, true),
        "{ran:?}"
    );
    assert_eq!(lines().len(), 2);
    let shown = format!("{ran:?}");
    assert!(!shown.contains(CREDENTIAL) && !shown.contains(&secret));
    assert!(!lines().iter().any(|key| shown.contains(key)));
    assert!(console.credentials().contains("unreadable"));
    console.stop();
}
