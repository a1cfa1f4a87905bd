//! Facts of a request besides its body: the endpoint, the sender, the model.

use std::borrow::Cow;
use std::rc::Rc;

use smol_str::SmolStr;

use crate::config::policy::{Group, Policy, Source};
use crate::head::Head;
use crate::keys::{KeyAccess, KeyRecord};
use crate::limits::{Quotas, Subject, SubjectKind, member_id};
use crate::model::Model;
use crate::model::name::names_reasoning;
use crate::protocol::query::RequestTarget;
use crate::protocol::{Endpoint, EndpointSpec, Mismatch, Protocol, match_request};

/// Longest model name that is kept as the client wrote it, in characters.
const MAX_NAME: usize = 128;
/// Longest path that is kept, in characters: ours are shorter, with any model's name in them.
const MAX_PATH: usize = 256;
/// Longest method that is kept, in characters: of those that HTTP knows the longest has 17.
const MAX_METHOD: usize = 32;
/// The mark in place of the rest of a text.
const CUT: char = '…';

/// The request line. Known once the head was read.
#[derive(Debug)]
pub(super) struct RequestLine {
    /// The method, and no more than [`MAX_METHOD`] characters of it.
    pub method: SmolStr,
    /// The path, without its query, and no more than [`MAX_PATH`] characters of it.
    pub path: SmolStr,
    /// The endpoint that method and path ask for.
    pub endpoint: Result<Endpoint, Mismatch>,
}

impl RequestLine {
    /// Reads method and path.
    pub(super) fn new(head: &Head, target: &RequestTarget<'_>) -> Self {
        Self {
            method: excerpt(head.method(), MAX_METHOD),
            path: excerpt(target.path, MAX_PATH),
            endpoint: match_request(head.method(), target.path),
        }
    }

    /// The line of a preflight.
    pub(super) fn of_preflight(self) -> Self {
        Self {
            endpoint: Ok(Endpoint::Preflight),
            ..self
        }
    }

    /// Whether it only asks if somebody is there: `GET` or `HEAD /healthz`, and `HEAD /`, which coding agents send at
    /// their start; or what a browser may send.
    pub(super) fn is_probe(&self) -> bool {
        matches!(self.endpoint, Ok(Endpoint::Health | Endpoint::Preflight))
            || (self.path == "/" && self.method == "HEAD")
    }

    /// The protocol that the path belongs to, where it tells.
    pub(super) fn protocol(&self) -> Option<Protocol> {
        match &self.endpoint {
            Ok(endpoint) => endpoint.protocol(),
            Err(mismatch) => mismatch.protocol(),
        }
    }

    /// Returns the fixed properties of the endpoint, where there is one.
    pub(super) fn spec(&self) -> Option<&'static EndpointSpec> {
        self.endpoint.as_ref().ok().map(Endpoint::spec)
    }
}

/// Of a request whose head never came.
impl Default for RequestLine {
    fn default() -> Self {
        Self {
            method: SmolStr::default(),
            path: SmolStr::default(),
            endpoint: Err(Mismatch::UnknownPath {
                protocol: None,
                advice: None,
            }),
        }
    }
}

/// The sender of a request. Known once its key was authenticated.
#[derive(Debug)]
pub(super) struct AuthenticatedCaller {
    /// The id of the API key.
    pub key: SmolStr,
    /// The person or system that the key belongs to.
    pub owner: Option<SmolStr>,
    /// The team that the key belongs to.
    pub team: Option<SmolStr>,
    /// The id of the key in whose counters its limits count; `None` for its own.
    pub counts_as: Option<Rc<str>>,
    /// The key's own terms, in place of its group's; `None` for none.
    pub access: Option<Rc<KeyAccess>>,
    /// The key's group.
    pub group: Rc<Group>,
    /// The protocol that the request speaks.
    pub protocol: Protocol,
    /// The subjects whose limits the request is counted against; empty for most.
    pub subjects: Vec<Subject>,
    /// The currency of the policy's prices.
    pub currency: Option<Rc<str>>,
}

impl AuthenticatedCaller {
    /// The caller with this key.
    pub(super) fn new(
        key: KeyRecord,
        group: Rc<Group>,
        protocol: Protocol,
        policy: &Policy,
    ) -> Self {
        Self {
            subjects: subjects(&key, &group, policy),
            key: key.id,
            owner: key.owner,
            team: key.team,
            counts_as: key.counts_as.map(|id| Rc::from(&*id)),
            access: key.access.map(Rc::from),
            group,
            protocol,
            currency: policy.currency.clone(),
        }
    }
}

impl AuthenticatedCaller {
    /// Whether a budget counts what its requests cost.
    pub(super) fn has_budget(&self, quotas: &impl Quotas) -> bool {
        !self.subjects.is_empty() && quotas.has_budget(&self.subjects)
    }
}

/// Lists the subjects whose limits a request is counted against.
fn subjects(key: &KeyRecord, group: &Group, policy: &Policy) -> Vec<Subject> {
    let own = key.limits.as_deref();
    let counters = key.counts_as.as_ref().unwrap_or(&key.id);
    let own = own.map(|limits| Subject::new(SubjectKind::Key, counters, *limits));
    let all = own.into_iter();
    if policy.spend_feed.is_none() {
        return all.chain(group.limits.clone()).collect();
    }
    let of_people =
        |scope, id: &Option<SmolStr>| id.as_deref().map(|id| Subject::of_people(scope, id));
    let member = key.owner.as_deref().zip(key.team.as_deref());
    let member = member.map(|(owner, team)| {
        let id = member_id(owner, team);
        Subject::of_people(SubjectKind::Member, &id)
    });
    let all = all.map(Subject::told).chain(member);
    let all = all.chain(of_people(SubjectKind::Owner, &key.owner));
    let all = all.chain(of_people(SubjectKind::Team, &key.team));
    all.chain(group.limits.clone().map(Subject::told)).collect()
}

/// A known key that is refused: disabled, expired, or sent where its group does not read it.
#[derive(Debug)]
pub(super) struct RefusedKey {
    /// The id of the key.
    pub id: SmolStr,
    /// Its owner.
    pub owner: Option<SmolStr>,
    /// Its team.
    pub team: Option<SmolStr>,
    /// The id of its group.
    pub group: SmolStr,
    /// The name of the header that it came in, or `query`, where its group does not read it there.
    pub found_in: Option<&'static str>,
    /// The currency of the policy's prices.
    pub currency: Option<Rc<str>>,
}

impl RefusedKey {
    /// The key of a record.
    pub(super) fn new(key: KeyRecord, found_in: Option<&'static str>, policy: &Policy) -> Self {
        Self {
            currency: policy.currency.clone(),
            id: key.id,
            owner: key.owner,
            team: key.team,
            group: key.group,
            found_in,
        }
    }
}

/// The model that a request names.
#[derive(Debug)]
pub(super) struct NamedModel {
    /// The name as the client wrote it, and no more than [`MAX_NAME`] characters of it.
    pub requested: SmolStr,
    /// The model that it means, where there is one.
    pub model: Option<Rc<Model>>,
}

impl NamedModel {
    /// The name `requested`, which means `model`.
    pub(super) fn new(requested: &str, model: Option<&Rc<Model>>) -> Self {
        Self {
            requested: requested.chars().take(MAX_NAME).collect(),
            model: model.map(Rc::clone),
        }
    }

    /// The same name at another source, where it means this model.
    pub(super) fn model_at<'a>(&self, source: &'a Source) -> Option<&'a Rc<Model>> {
        let own = self.model.as_ref()?;
        let found = source.catalog.find(&self.requested)?;
        (found.id == own.id && found.entitled).then_some(found)
    }

    /// The model's name as it goes upstream; `None` where the name means no model.
    pub(super) fn upstream(&self) -> Option<SmolStr> {
        let model = self.model.as_ref()?;
        Some(model.upstream.as_ref().unwrap_or(&self.requested).clone())
    }

    /// Whether the model reasons without being asked to, as it is known or as the request names it.
    pub(super) fn is_thinking(&self) -> bool {
        let model = self.model.as_ref();
        model.is_some_and(|model| model.reasoning || names_reasoning(&self.requested))
    }
}

/// Text with at most `most` characters, then [`CUT`] where there is more, and with a sign in place of whatever is not UTF-8.
// Nearly all of it is short and UTF-8, and to see that takes far less than to look for what is not.
fn excerpt(bytes: &[u8], most: usize) -> SmolStr {
    // No character has more bytes than this, so what is behind them is not looked at.
    let first = bytes
        .get(..most.saturating_add(1).saturating_mul(4))
        .unwrap_or(bytes);
    let text = match core::str::from_utf8(first) {
        Ok(text) if text.len() <= most => return text.into(),
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(first),
    };
    match text.char_indices().nth(most) {
        Some((end, _)) => text
            .get(..end)
            .into_iter()
            .flat_map(str::chars)
            .chain([CUT])
            .collect(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
