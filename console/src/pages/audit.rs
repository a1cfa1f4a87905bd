//! The audit: who changed what, from what to what.

use askama::Template;
use serde_json::Value;
use trilane::limits::SubjectKind;

use super::form::Fields;
use super::{PageResult, PageShell, Visit, page, text};
use crate::cases::audit::{self, AuditParams};
use crate::cases::names::{Name, WantedNames};
use crate::cases::paging::PageParams;
use crate::documents::{Difference, differences};

/// The entries of a page.
const ROWS: u16 = 50;
/// The filters.
const FILTERS: [&str; 5] = ["actor", "action", "object", "since", "until"];

/// The actions in words, in the order of their names.
const ACTIONS: &[(&str, &str)] = &[
    ("account.test", text!("Account tested")),
    ("budget.change", text!("Budget changed")),
    ("client.approve", text!("Client let in")),
    ("client.deny", text!("Client refused")),
    ("client.sign-in", text!("Client signed in")),
    ("client.sign-out", text!("Client signed out")),
    (
        "client_settings.change",
        text!("Claude Code’s settings changed"),
    ),
    (
        "client_settings.remove",
        text!("Claude Code’s settings removed"),
    ),
    ("credential.discard", text!("Credential discarded")),
    ("credential.put", text!("Credential stored")),
    ("credential.remove", text!("Credential removed")),
    ("credentials.read", text!("Credentials read")),
    (
        "database.restored",
        text!("Database restored from a backup"),
    ),
    ("document.publish", text!("Version published")),
    ("draft.change", text!("Draft changed")),
    ("draft.create", text!("Draft begun")),
    ("draft.remove", text!("Draft discarded")),
    ("enrolment_secret.make", text!("Enrolment secret made")),
    ("enrolment_secret.remove", text!("Enrolment secret removed")),
    ("envoy.approve", text!("Envoy approved")),
    ("envoy.create", text!("Envoy added")),
    ("envoy.enrol", text!("Envoy enrolled")),
    ("envoy.let_enrol", text!("Envoy allowed to enrol")),
    ("envoy.revoke", text!("Envoy revoked")),
    ("envoy.void", text!("Lines of an Envoy’s ledger voided")),
    (
        "identity_provider.change",
        text!("Identity provider changed"),
    ),
    ("identity_provider.create", text!("Identity provider added")),
    (
        "identity_provider.remove",
        text!("Identity provider removed"),
    ),
    ("key.change", text!("Key changed")),
    ("key.create", text!("Key created")),
    ("key.remove", text!("Key removed")),
    ("key.rotate", text!("Key rotated")),
    ("keys.change", text!("Many keys changed")),
    ("person.change", text!("Person changed")),
    ("person.create", text!("Person added")),
    ("person.erase", text!("Person’s data erased")),
    ("person.key_order", text!("Ordered keys changed")),
    ("person.link", text!("Sign-in link made")),
    ("person.link.revoke", text!("Sign-in link revoked")),
    ("person.notices", text!("Person’s notices changed")),
    ("person.password", text!("Password changed")),
    ("person.recover", text!("Person’s access recovered")),
    (
        "person.unlink",
        text!("Person unlinked from an identity provider"),
    ),
    ("session.begin", text!("Session begun")),
    ("session.end", text!("Session ended")),
    ("session.refuse", text!("Sign-in refused")),
    ("sign_in.change", text!("Sign-in changed")),
    ("team.change", text!("Team changed")),
    ("team.create", text!("Team added")),
    ("team.member", text!("Member of a team changed")),
    ("team.remove", text!("Team removed")),
    ("token.create", text!("API token made")),
    ("token.remove", text!("API token revoked")),
    ("vendor.test", text!("Vendor tested")),
    ("webhook.create", text!("Webhook added")),
    ("webhook.remove", text!("Webhook removed")),
];

/// An entry, in a line.
struct AuditLine {
    at: String,
    actor: Name,
    address: String,
    action: String,
    /// The action in words, if it has any.
    words: Option<&'static str>,
    object: Name,
    changes: Vec<Difference>,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    shell: PageShell,
    entries: Vec<AuditLine>,
    next: Option<String>,
    filters: Fields,
    is_filtered: bool,
    path: String,
}

/// Names the subject of an entry; `None`: it is of no kind that has names.
fn subject<'a>(action: &str, object: &'a str) -> Option<(SubjectKind, &'a str)> {
    match action.split('.').next()? {
        "budget" => {
            let (kind, id) = object.split_once('/')?;
            Some((SubjectKind::named(kind)?, id))
        }
        "key" => Some((SubjectKind::Key, object)),
        "person" | "session" => Some((SubjectKind::Owner, object)),
        "team" => Some((SubjectKind::Team, object)),
        _ => None,
    }
}

fn words(action: &str) -> Option<&'static str> {
    let found = ACTIONS.iter().find(|(name, _)| *name == action);
    found.map(|(_, words)| *words)
}

/// The name that an entry itself has for its object, such as a token or a webhook.
fn own_name<'a>(before: Option<&'a Value>, after: Option<&'a Value>) -> Option<&'a str> {
    let said = after.or(before)?;
    let mut names = ["name", "url"].into_iter();
    names.find_map(|member| said.get(member)?.as_str().filter(|name| !name.is_empty()))
}

fn changes(before: Option<Value>, after: Option<Value>) -> Vec<Difference> {
    match (before, after) {
        (None, None) => Vec::new(),
        (before, after) => {
            let whole = |value: Option<Value>| value.unwrap_or_else(|| serde_json::json!({}));
            differences(&whole(before), &whole(after))
        }
    }
}

/// Shows the audit log, latest first.
pub async fn list(Visit { state, signed_in }: Visit, filters: Fields) -> PageResult {
    let moment = |name: &str| filters.given(name).map(|typed| text::from_local(&typed));
    let asked = AuditParams {
        actor: filters.given("actor"),
        action: filters.given("action"),
        object: filters.given("object"),
        since: moment("since"),
        until: moment("until"),
    };
    let place = PageParams::at(filters.given("cursor"), ROWS);
    let found = audit::list(&state, &signed_in.caller, asked, place).await?;
    let mut wanted = WantedNames::default();
    for entry in &found.items {
        wanted.add(SubjectKind::Owner, &entry.actor);
        if let Some((kind, id)) = subject(&entry.action, &entry.object) {
            wanted.add(kind, id);
        }
    }
    let names = wanted.find(&state, &signed_in.caller).await?;
    let entries = found.items.into_iter().map(|entry| AuditLine {
        at: entry.at,
        actor: names.owner(&entry.actor),
        object: match subject(&entry.action, &entry.object) {
            Some((kind, id)) => Name {
                id: entry.object.clone(),
                ..names.of(kind, id)
            },
            None => match own_name(entry.before.as_ref(), entry.after.as_ref()) {
                Some(name) => Name {
                    id: entry.object.clone(),
                    text: name.to_owned(),
                    ..Name::default()
                },
                None => Name::of_itself(&entry.object),
            },
        },
        address: entry.address,
        words: words(&entry.action),
        action: entry.action,
        changes: changes(entry.before, entry.after),
    });
    let (path, is_filtered) = filters.filtered("/audit", FILTERS);
    page(&AuditPage {
        shell: signed_in.shell(t!("Audit")),
        entries: entries.collect(),
        next: found.next,
        is_filtered,
        path,
        filters,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Adds the actions that the sources of a directory enter in the audit.
    fn add_actions(directory: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add_actions(&path, found);
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            for call in source.split(".entry(").skip(1) {
                let mut parts = call.splitn(3, '"');
                let (Some(moment), Some(action)) = (parts.next(), parts.next()) else {
                    continue;
                };
                // Other entries, of maps, have no second argument.
                if moment.len() < 60 && moment.trim_end().ends_with(',') && action.contains('.') {
                    found.insert(action.to_owned());
                }
            }
        }
    }

    #[test]
    fn every_action_has_words() {
        let mut actions = BTreeSet::new();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        add_actions(&sources, &mut actions);
        assert!(actions.len() > 40, "the search finds them: {actions:?}");
        let without: Vec<&String> = actions.iter().filter(|it| words(it).is_none()).collect();
        assert!(without.is_empty(), "{without:?}");
        assert!(ACTIONS.is_sorted(), "each once, in its place");
    }

    #[test]
    fn what_an_entry_calls_its_object() {
        use serde_json::json;
        for (before, after, want) in [
            (
                None,
                Some(json!({"name": "Nightly", "url": "x"})),
                Some("Nightly"),
            ),
            (
                Some(json!({"url": "https://a.example"})),
                None,
                Some("https://a.example"),
            ),
            (None, Some(json!({"name": ""})), None),
            (None, Some(json!(["name"])), None),
            (None, None, None),
        ] {
            assert_eq!(own_name(before.as_ref(), after.as_ref()), want, "{after:?}");
        }
    }
}
