//! The frame of a page: its title, the navigation, the person who is signed in.

use http::HeaderMap;

use super::{assets, cookie};
use crate::cases::Caller;
use crate::cases::rights::{self, Right};

/// A place in the navigation.
struct NavigationPlace {
    title: &'static str,
    path: &'static str,
    /// The right without which it shows nothing.
    right: Right,
    /// The paths of other pages that belong to it.
    others: &'static [&'static str],
}

const fn place(title: &'static str, path: &'static str, right: Right) -> NavigationPlace {
    NavigationPlace {
        title,
        path,
        right,
        others: &[],
    }
}

impl NavigationPlace {
    const fn with(self, others: &'static [&'static str]) -> Self {
        Self { others, ..self }
    }

    /// Whether a page is at this place.
    fn has(&self, path: &str) -> bool {
        let mut all = core::iter::once(&self.path).chain(self.others);
        all.any(|at| is_within(path, at))
    }
}

/// All places by job, in their order.
const PLACES: &[&[NavigationPlace]] = &[
    &[
        place(text!("Overview"), "/", rights::SEE_COUNTS),
        place(text!("Usage"), "/usage", rights::SEE_USAGE),
        place(text!("Requests"), "/requests", rights::SEE_REQUESTS),
    ],
    &[
        place(text!("Keys"), "/keys", rights::SEE_KEYS),
        place(text!("People"), "/people", rights::SEE_PEOPLE).with(&["/invite-people"]),
        place(text!("Teams"), "/teams", rights::SEE_TEAMS).with(&["/budgets", "/nearly-spent"]),
    ],
    &[
        place(text!("Models"), "/groups", rights::SEE_DOCUMENTS),
        place(text!("Vendors"), "/accounts", rights::SEE_CREDENTIALS),
        place(text!("Publish"), "/documents", rights::SEE_DOCUMENTS).with(&["/drafts"]),
    ],
    &[place(text!("Settings"), "/settings", rights::SEE_ENVOYS).with(&["/audit"])],
    &[
        place(text!("Me"), "/me", rights::SEE_OWN_KEYS),
        place(text!("My models"), "/models", rights::SEE_OWN_KEYS),
        place(text!("API tokens"), "/tokens", rights::SEE_TOKENS),
    ],
];

/// A link of the navigation.
#[derive(Debug)]
pub struct NavLink {
    /// The name, as pages have it.
    pub title: &'static str,
    /// The path that the link leads to.
    pub path: &'static str,
    /// Whether this page is there.
    pub is_current: bool,
}

/// Whether a page is light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appearance {
    /// The appearance of the reader's system.
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Appearance {
    /// Reads the appearance that the reader has chosen, from the cookie.
    pub fn of(headers: &HeaderMap) -> Self {
        Self::parse(cookie::find(headers, cookie::APPEARANCE).unwrap_or_default())
    }

    /// The one of this name, or the system's.
    pub fn parse(name: &str) -> Self {
        match name {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }

    /// The name, as pages have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// The frame of a page.
#[derive(Debug)]
pub struct PageShell {
    /// The page's title.
    pub title: String,
    /// The page's path.
    pub path: String,
    /// The links of the navigation, by job.
    pub places: Vec<Vec<NavLink>>,
    /// The person who is signed in: the id, and the name or else the id.
    pub person: Option<(String, String)>,
    /// The role of that person.
    pub role: &'static str,
    /// The token of the session's forms.
    pub csrf: String,
    /// The message about the action that was just finished.
    pub notice: Option<&'static str>,
    /// `light`, `dark` or `system`.
    pub appearance: &'static str,
    /// The names of style, script and icon.
    pub style: &'static str,
    /// The script.
    pub script: &'static str,
    /// The icon.
    pub icon: &'static str,
}

impl PageShell {
    /// Of a page for somebody who is not signed in.
    pub fn new(title: impl Into<String>, appearance: Appearance) -> Self {
        let [style, script, icon] = assets::names();
        Self {
            title: title.into(),
            path: String::new(),
            places: Vec::new(),
            person: None,
            role: "",
            csrf: String::new(),
            notice: None,
            appearance: appearance.name(),
            style,
            script,
            icon,
        }
    }

    /// With what this person may see.
    pub(super) fn show_person(&mut self, caller: &Caller, csrf: &str) {
        let path = &self.path;
        let link = |place: &NavigationPlace| NavLink {
            title: place.title,
            path: place.path,
            is_current: place.has(path),
        };
        let seen = |places: &&[NavigationPlace]| {
            let seen = places.iter().filter(|place| caller.may(place.right));
            seen.map(link).collect::<Vec<NavLink>>()
        };
        self.places = PLACES
            .iter()
            .map(seen)
            .filter(|links| !links.is_empty())
            .collect();
        let name = if caller.name.is_empty() {
            &caller.id
        } else {
            &caller.name
        };
        self.person = Some((caller.id.clone(), name.clone()));
        self.role = caller.role.name();
        csrf.clone_into(&mut self.csrf);
    }
}

/// Whether a path is at a place, or below it.
fn is_within(path: &str, place: &str) -> bool {
    path == place
        || place != "/"
            && path
                .strip_prefix(place)
                .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_place_a_page_is_in() {
        for (path, place, want) in [
            ("/keys", "/keys", true),
            ("/keys/k1", "/keys", true),
            ("/keysets", "/keys", false),
            ("/", "/", true),
            ("/keys", "/", false),
        ] {
            assert_eq!(is_within(path, place), want, "{path} in {place}");
        }
    }

    #[test]
    fn a_page_is_at_one_place() {
        for (path, want) in [
            ("/", "Overview"),
            ("/invite-people", "People"),
            ("/teams/blue", "Teams"),
            ("/budgets", "Teams"),
            ("/drafts/d1/model", "Publish"),
            ("/documents/2", "Publish"),
            ("/audit", "Settings"),
            ("/me/keys/k", "Me"),
        ] {
            let all = PLACES.iter().flat_map(|places| places.iter());
            let found: Vec<&str> = all.filter(|at| at.has(path)).map(|at| at.title).collect();
            assert_eq!(found, [want], "{path}");
        }
    }
}
