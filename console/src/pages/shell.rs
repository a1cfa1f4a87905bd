//! The frame of a page: its title, the navigation, the person who is signed in.

use http::HeaderMap;

use super::{assets, cookie};
use crate::cases::Caller;
use crate::cases::rights::{self, Right};

/// A place in the navigation: its name, its path, and the right without which it shows nothing.
struct NavigationPlace(&'static str, &'static str, Right);

/// All places, in their order.
const PLACES: &[NavigationPlace] = &[
    NavigationPlace("Overview", "/", rights::SEE_COUNTS),
    NavigationPlace("Me", "/me", rights::SEE_OWN_KEYS),
    NavigationPlace("Keys", "/keys", rights::SEE_KEYS),
    NavigationPlace("Usage", "/usage", rights::SEE_USAGE),
    NavigationPlace("Requests", "/requests", rights::SEE_REQUESTS),
    NavigationPlace("Groups & models", "/groups", rights::SEE_DOCUMENTS),
    NavigationPlace("Accounts", "/accounts", rights::SEE_CREDENTIALS),
    NavigationPlace("People", "/people", rights::SEE_PEOPLE),
    NavigationPlace("Teams", "/teams", rights::SEE_TEAMS),
    NavigationPlace("Budgets", "/budgets", rights::SEE_BUDGETS),
    NavigationPlace("Tokens", "/tokens", rights::SEE_TOKENS),
    NavigationPlace("Audit", "/audit", rights::SEE_AUDIT),
    NavigationPlace("Settings", "/settings", rights::SEE_ENVOYS),
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
    /// The links of the navigation.
    pub places: Vec<NavLink>,
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
        let seen = PLACES
            .iter()
            .filter(|NavigationPlace(.., right)| caller.may(*right));
        let path = &self.path;
        let links = seen.map(|NavigationPlace(title, at, _)| NavLink {
            title,
            path: at,
            is_current: is_within(path, at),
        });
        self.places = links.collect();
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
}
