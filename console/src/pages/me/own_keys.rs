//! One's own keys on a page: each with what is left for it, and in one sentence how all of them do.

use super::left::{Holder, LeftShown};
use super::path_of;
use crate::cases::holder::RequestsState;
use crate::cases::me::keys::OwnKeyView;
use crate::cases::names::{Name, Names};
use crate::language;
use crate::pages::ShownAmount;
use crate::pages::keys::{name_of, path_of as key_path, spent_text, state_of};
use crate::pages::text::path_with;

/// One's own key.
pub struct OwnKey {
    pub id: String,
    pub name: String,
    pub hint: Option<String>,
    pub group: Name,
    pub team: Option<Name>,
    pub state: (&'static str, &'static str),
    pub spent: ShownAmount,
    pub last_used: Option<String>,
    pub expires: Option<String>,
    pub disabled: bool,
    pub page: String,
    /// The path of the setup of clients with it.
    pub setup: String,
    pub rotate: String,
    pub disable: String,
    pub left: LeftShown,
    /// The state of its requests; `None`: the key is disabled or has expired.
    requests: Option<RequestsState>,
}

impl OwnKey {
    fn of(own: &OwnKeyView, names: &Names, now: &str) -> Self {
        let key = &own.key;
        let state = state_of(key, now);
        let requests = own.remaining.requests.state;
        Self {
            id: key.id.clone(),
            name: name_of(key).to_owned(),
            hint: key.hint.clone(),
            group: names.group(&key.group),
            team: key.team.as_deref().map(|id| names.team(id)),
            state: match (state, requests) {
                (("good", _), RequestsState::Fail) => ("bad", text!("Requests fail")),
                (("warn", why), RequestsState::Fail) => ("bad", why),
                (("good", _), RequestsState::SomeFail) => ("warn", text!("Some requests fail")),
                (state, _) => state,
            },
            spent: spent_text(key),
            last_used: key.last_used_at.clone(),
            expires: key.expires_at.clone(),
            disabled: key.disabled,
            page: key_path(&key.id),
            setup: format!("{}#clients", path_with("/me", &[("key", &key.id)])),
            rotate: path_of(&key.id, "rotate"),
            disable: path_of(&key.id, "disable"),
            left: LeftShown::of(name_of(key), &own.remaining, names, Holder::Owner),
            requests: (state.0 != "off").then_some(requests),
        }
    }

    /// The place of a key among others: those that fail first, those that have ended last.
    const fn rank(&self) -> u8 {
        match self.requests {
            Some(RequestsState::Fail) => 0,
            Some(RequestsState::SomeFail) => 1,
            Some(RequestsState::Served) => 2,
            None => 3,
        }
    }

    /// Those of a list, the ones that fail first.
    pub fn all(found: &[OwnKeyView], names: &Names, now: &str) -> Vec<Self> {
        let mut keys: Vec<Self> = found.iter().map(|own| Self::of(own, names, now)).collect();
        keys.sort_by_key(Self::rank);
        keys
    }

    /// Whether it can be used: neither disabled nor expired.
    pub const fn is_usable(&self) -> bool {
        self.requests.is_some()
    }
}

/// The verdict on several keys, in a sentence with its kind for the eye; `None`: there is one key or none, which says it itself.
pub fn verdict(keys: &[OwnKey]) -> Option<(&'static str, String)> {
    let usable = || keys.iter().filter(|key| key.is_usable());
    let all = usable().count();
    if all < 2 {
        return None;
    }
    let named = |state: RequestsState| {
        let names = usable().filter(|key| key.requests == Some(state));
        names.map(|key| key.name.as_str()).collect::<Vec<_>>()
    };
    let (fail, some) = (named(RequestsState::Fail), named(RequestsState::SomeFail));
    let (kind, mut text) = match (fail.is_empty(), some.is_empty()) {
        (true, true) => {
            return Some((
                "good",
                t!("Nothing is in the way of your keys.").into_owned(),
            ));
        }
        (true, false) => (
            "warn",
            t!(
                "Some requests with these keys fail: {keys}.",
                keys = language::list(&some)
            ),
        ),
        (false, true) => (
            "bad",
            t!(
                "Requests with these keys fail: {keys}.",
                keys = language::list(&fail)
            ),
        ),
        (false, false) => (
            "bad",
            t!(
                "Requests with these keys fail: {keys}. Some fail with these: {others}.",
                keys = language::list(&fail),
                others = language::list(&some)
            ),
        ),
    };
    if fail.len().saturating_add(some.len()) < all {
        let others = t!("Nothing is in the way of the others.");
        text = format!("{text}{}{others}", language::gap());
    }
    Some((kind, text))
}
