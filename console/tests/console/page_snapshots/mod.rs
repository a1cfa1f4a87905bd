//! Snapshots of the pages: what each shows to each role, whole, over a database whose content and clock are always the same.
//!
//! `snapshots/` has a file for each page, in which roles that are shown the same share a part. The frame around the pages is
//! in `frame.html`, once for each role, and `unseen.txt` has the texts of templates that no snapshot has. After a change that is
//! meant, run the test with `TRILANE_WRITE_SNAPSHOTS=1`.

mod cases;
mod coverage;
mod directory;
mod seed;
mod shown;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::TestDatabase;
use crate::golden;
use crate::page_security::{csrf, get, post, session};
use directory::SnapshotDirectory;
use seed::NOW;

/// Somebody who looks at pages, in the order of the snapshots.
struct Visitor {
    role: &'static str,
    cookie: String,
    csrf: String,
}

impl Visitor {
    /// Signs in by a link.
    async fn sign_in(api: &Api, admin: &str, person: &str, role: &'static str) -> Self {
        let path = format!("/api/v1/people/{person}/sign-in-link");
        let link = api.post(admin, &path, &serde_json::json!({})).await;
        let link = link.expect(201)["path"].as_str().unwrap().to_owned();
        let (_, token) = link.split_once("token=").unwrap();
        let cookie = session(&post(api, "/sign-in/link", "", &[("token", token)]).await);
        let page = get(api, "/me/password", &cookie).await.text;
        Self {
            role,
            cookie,
            csrf: csrf(&page),
        }
    }

    /// Chooses a language.
    fn reads(&mut self, language: &str) {
        let others = core::mem::take(&mut self.cookie);
        self.cookie = format!("{others}; trilane-language={language}");
    }

    async fn get(&self, api: &Api, path: &str) -> ApiReply {
        get(api, path, &self.cookie).await
    }

    async fn post(&self, api: &Api, path: &str, fields: &[(&str, &str)]) -> ApiReply {
        let csrf = ("csrf", self.csrf.as_str());
        // A case that has the field itself tries another token.
        let given = fields.iter().any(|(name, _)| *name == "csrf");
        let own = if given { &[][..] } else { &[csrf] };
        post(api, path, &self.cookie, &[own, fields].concat()).await
    }
}

/// A page as each role is shown it.
async fn shown_to_each(api: &Api, visitors: &[Visitor], path: &str) -> Vec<(&'static str, String)> {
    let mut shown = Vec::new();
    for visitor in visitors {
        let reply = visitor.get(api, path).await;
        shown.push((visitor.role, shown::page(&reply)));
    }
    shown
}

/// Puts together what roles are shown, each text once.
fn by_role(shown: &[(&str, String)]) -> String {
    let mut file = String::new();
    for (place, (_, text)) in shown.iter().enumerate() {
        if shown[..place].iter().any(|(_, before)| before == text) {
            continue;
        }
        let same = shown.iter().filter(|(_, other)| other == text);
        let roles: Vec<&str> = same.map(|(role, _)| *role).collect();
        file += &format!("<!-- {}: {text}", roles.join(", "));
    }
    file
}

/// All pages in a language: the name of each, and what each role is shown.
async fn walk(language: &str) -> Vec<(String, Vec<(&'static str, String)>)> {
    let database = TestDatabase::sqlite();
    let api = Api::with_clock(&database, || NOW).await;
    let admin = api.person("root", Role::Admin).await;
    seed::people(&api, &admin).await;
    let mut visitors = [
        Visitor::sign_in(&api, &admin, "root", "admin").await,
        Visitor::sign_in(&api, &admin, "victor", "viewer").await,
        Visitor::sign_in(&api, &admin, "ann", "member").await,
        Visitor {
            role: "nobody",
            cookie: String::new(),
            csrf: String::new(),
        },
    ];
    for visitor in &mut visitors {
        visitor.reads(language);
    }
    let mut all = Vec::new();

    for (name, path) in cases::EMPTY {
        let shown = shown_to_each(&api, &visitors, path).await;
        all.push((format!("empty-{name}"), shown));
    }

    let seeded = seed::fill(&api, &database, &admin).await;
    for (name, path) in cases::FILLED {
        let path = seeded.path(path);
        let shown = shown_to_each(&api, &visitors, &path).await;
        all.push(((*name).to_owned(), shown));
    }
    let mut frames = Vec::new();
    for visitor in &visitors {
        let path = if visitor.role == "nobody" {
            "/sign-in"
        } else {
            "/me"
        };
        frames.push((visitor.role, shown::frame(&visitor.get(&api, path).await)));
    }
    all.push(("frame".to_owned(), frames));

    for (name, role, path, fields) in cases::SENT {
        let visitor = visitors.iter().find(|visitor| visitor.role == *role);
        let visitor = visitor.unwrap();
        let path = seeded.path(path);
        let fields: Vec<(&str, String)> = fields
            .iter()
            .map(|(name, value)| (*name, seeded.path(value)))
            .collect();
        let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
        let fields: Vec<(&str, &str)> = fields.collect();
        let reply = if fields.is_empty() {
            visitor.get(&api, &path).await
        } else {
            visitor.post(&api, &path, &fields).await
        };
        all.push((format!("sent-{name}"), vec![(*role, shown::page(&reply))]));
    }
    api.was_well();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_every_page_shows_to_every_role() {
    let mut golden = SnapshotDirectory::new(&here().join("snapshots"));
    let mut all = String::new();
    for (name, shown) in walk("en").await {
        let file = by_role(&shown);
        golden.compare(&format!("{name}.html"), &file);
        all += &file;
    }
    golden.compare("unseen.txt", &coverage::unseen(&all));
    golden.finish();
}

/// `english.txt` has the texts of Chinese pages with words in Latin letters: names, and what stays English everywhere. A text
/// that somebody forgot to translate comes up here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stays_english_on_chinese_pages() {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for (name, shown) in walk("zh-CN").await {
        for (_, html) in shown {
            for text in shown::english(&html) {
                found.entry(text).or_insert_with(|| name.clone());
            }
        }
    }
    let lines = found.iter().map(|(text, name)| format!("{text}\t{name}\n"));
    let file: String = lines.collect();
    golden::compare(&here().join("english.txt"), &file);
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/console/page_snapshots")
}

/// A page that has no snapshot fails here.
#[test]
fn every_route_has_a_snapshot() {
    let paths = cases::EMPTY.iter().chain(cases::FILLED);
    let paths: Vec<&str> = paths
        .map(|(_, path)| path.split('?').next().unwrap())
        .collect();
    let routes = coverage::routes_of_get();
    assert!(routes.len() > 50, "{routes:?}");
    for route in routes {
        let is_left_out = cases::LEFT_OUT.contains(&route);
        let has_one = paths.iter().any(|path| coverage::is_of(path, route));
        assert!(
            has_one != is_left_out,
            "{route}: without a snapshot, or with one although it is left out"
        );
    }
}
