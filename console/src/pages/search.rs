//! The search of the shell. It is sent by POST, so that a whole key that somebody pastes is in no address; any other text goes on to a
//! page, whose address may be kept.

use askama::Template;
use axum::response::{IntoResponse as _, Redirect, Response};
use trilane::limits::SubjectKind;

use crate::cases::ConsoleState;
use crate::cases::names::WantedNames;
use crate::cases::search::{self, SearchParams, SearchView};
use crate::pages::form::Fields;
use crate::pages::keys::{key_of_value, name_of, path_of};
use crate::pages::requests::RequestRow;
use crate::pages::text::{in_path, path_with, utc};
use crate::pages::{PageProblem, PageResult, PageShell, SignedForm, SignedIn, Visit, page};
use crate::secret;

/// The sentence where nobody has a whole key.
const UNKNOWN: &str = text!("No key has this value. It may have been rotated or removed.");
/// The sentence where an address has a whole key.
const IN_ADDRESS: &str = text!(
    "A whole key does not belong into an address, where others may read it: rotate it. Paste keys into the search, which keeps them out of it."
);

/// A find: where it leads, its name, and what is said of it.
struct Find {
    path: String,
    text: String,
    said: String,
}

/// The finds of a kind.
struct FoundKind {
    title: &'static str,
    finds: Vec<Find>,
    /// The page that has more of them.
    more: Option<String>,
    /// Whether there may be more, of which no page has all.
    is_cut: bool,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    shell: PageShell,
    text: String,
    said: Option<&'static str>,
    kinds: Vec<FoundKind>,
}

/// Searches: leads to the key of a whole value, or to the page of what was found.
pub async fn search(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let text = fields.get("text").trim();
    if let Some(path) = key_of_value(&state, &signed_in, text).await? {
        return Ok(Redirect::to(&path).into_response());
    }
    if secret::is_whole(text) {
        return show(&signed_in, String::new(), Some(UNKNOWN), Vec::new());
    }
    Ok(Redirect::to(&path_with("/search", &[("text", text)])).into_response())
}

/// Shows the finds, or leads to the page of the only one.
pub async fn found(Visit { state, signed_in }: Visit, fields: Fields) -> PageResult {
    let text = fields.get("text").trim().to_owned();
    if secret::is_whole(&text) {
        return show(&signed_in, String::new(), Some(IN_ADDRESS), Vec::new());
    }
    if text.is_empty() {
        return show(&signed_in, text, None, Vec::new());
    }
    let asked = SearchParams { text };
    let found = search::find(&state, &signed_in.caller, &asked).await?;
    let kinds = kinds(&state, &signed_in, &asked.text, found).await?;
    match only(&kinds) {
        Some(path) => Ok(Redirect::to(path).into_response()),
        None => show(&signed_in, asked.text, None, kinds),
    }
}

fn show(
    signed_in: &SignedIn,
    text: String,
    said: Option<&'static str>,
    kinds: Vec<FoundKind>,
) -> Result<Response, PageProblem> {
    page(&SearchPage {
        shell: signed_in.shell(t!("Search")),
        text,
        said,
        kinds,
    })
}

/// The path of the only find, if it is one.
fn only(kinds: &[FoundKind]) -> Option<&str> {
    let mut finds = kinds.iter().flat_map(|kind| &kind.finds);
    let first = finds.next()?;
    let has_more = finds.next().is_some() || kinds.iter().any(|kind| kind.more.is_some());
    (!has_more).then_some(first.path.as_str())
}

async fn kinds(
    state: &ConsoleState,
    signed_in: &SignedIn,
    text: &str,
    found: SearchView,
) -> Result<Vec<FoundKind>, PageProblem> {
    let caller = &signed_in.caller;
    let mut wanted = WantedNames::default();
    for key in &found.keys {
        wanted.all(SubjectKind::Owner, key.owner.as_deref());
    }
    wanted.all(SubjectKind::Group, found.groups.iter().map(String::as_str));
    let of_models = found.models.iter().map(|of| of.group.as_str());
    wanted.all(SubjectKind::Group, of_models);
    let names = wanted.find(state, caller).await?;
    let requests = RequestRow::all(state, caller, &found.requests).await?;
    let requests = requests.into_iter().map(|row| Find {
        path: row.path,
        text: utc(&row.at),
        said: format!("{} {}", row.model, row.state.1),
    });
    let keys = found.keys.iter().map(|key| Find {
        path: path_of(&key.id),
        text: name_of(key).to_owned(),
        said: key
            .owner
            .as_deref()
            .map_or_else(String::new, |id| names.owner(id).text),
    });
    let named = |kind: &'static str, id: &str, name: String| Find {
        path: format!("/{kind}/{}", in_path(id)),
        said: if name == id {
            String::new()
        } else {
            id.to_owned()
        },
        text: if name.is_empty() { id.to_owned() } else { name },
    };
    let people = found.people.into_iter();
    let people = people.map(|of| named("people", &of.id, of.name));
    let teams = found.teams.into_iter();
    let teams = teams.map(|of| named("teams", &of.id, of.name));
    let groups = found.groups.iter();
    let groups = groups.map(|id| named("groups", id, names.group(id).text));
    let models = found.models.into_iter().map(|of| Find {
        path: format!("/groups/{}", in_path(&of.group)),
        text: of.id,
        said: t!("in the group {group}", group = names.group(&of.group).text),
    });
    let more_keys = path_with("/keys", &[("search", text)]);
    let kind = |title, finds: Vec<Find>| FoundKind {
        title,
        finds,
        more: None,
        is_cut: false,
    };
    let named_kind = |title, finds: Vec<Find>| FoundKind {
        is_cut: finds.len() >= usize::from(search::MOST),
        ..kind(title, finds)
    };
    let kinds = [
        kind(
            if found.has_more_requests {
                text!("The latest requests of this session")
            } else {
                text!("Requests")
            },
            requests.collect(),
        ),
        FoundKind {
            more: found.has_more_keys.then_some(more_keys),
            ..kind(text!("Keys"), keys.collect())
        },
        named_kind(text!("People"), people.collect()),
        named_kind(text!("Teams"), teams.collect()),
        named_kind(text!("Groups"), groups.collect()),
        named_kind(text!("Models"), models.collect()),
    ];
    let has_some = |kind: &FoundKind| !kind.finds.is_empty() || kind.more.is_some();
    Ok(kinds.into_iter().filter(has_some).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_find_is_where_it_leads() {
        let kind = |paths: &[&str], more: Option<&str>| FoundKind {
            title: "Keys",
            finds: paths
                .iter()
                .map(|path| Find {
                    path: (*path).to_owned(),
                    text: String::new(),
                    said: String::new(),
                })
                .collect(),
            more: more.map(str::to_owned),
            is_cut: false,
        };
        for (kinds, want) in [
            (vec![], None),
            (vec![kind(&[], Some("/keys"))], None),
            (vec![kind(&["/keys/a"], None)], Some("/keys/a")),
            (vec![kind(&["/keys/a"], Some("/keys"))], None),
            (vec![kind(&["/keys/a", "/keys/b"], None)], None),
            (vec![kind(&["/a"], None), kind(&["/b"], None)], None),
        ] {
            assert_eq!(only(&kinds), want);
        }
    }
}
