//! The names for people that stand in place of ids: labels of keys, names of persons, teams and groups. A page asks once for all of its.

use std::collections::{BTreeSet, HashMap};

use trilane::config::document::KeyDocument;
use trilane::limits::{SubjectKind, member_parts};

use super::caller::Caller;
use super::key_models::document_in_force;
use super::problem::ApiProblem;
use super::state::ConsoleState;
use crate::language::translated;
use crate::markup::Markup;
use crate::store::audit;
use crate::store::names::{self, FoundName, NameReader, NamedIds};
use crate::text;

/// The name of what has an id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Name {
    /// The id.
    pub id: String,
    /// The name for people; the id where there is none, or the caller does not see it.
    pub text: String,
    /// A remark on it: a key that is removed, a person who is disabled.
    pub remark: Option<&'static str>,
    /// Whether the caller sees it: it has a page then.
    pub is_seen: bool,
}

impl Name {
    /// The name of what is known by its id alone.
    pub fn of_itself(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            text: id.to_owned(),
            ..Self::default()
        }
    }

    /// The name in a sentence of a page; its id is seen on hovering.
    pub fn markup(&self) -> Markup {
        let mut name = if self.text == self.id {
            Markup::name(&self.text)
        } else {
            Markup::name_of(&self.id, &self.text)
        };
        if let Some(remark) = self.remark {
            name.push(&Markup::text(" "));
            name.push(&Markup::quiet(&translated(remark)));
        }
        name
    }
}

/// The names of what a page shows.
#[derive(Debug, Default)]
pub struct Names(HashMap<(SubjectKind, String), Name>);

impl Names {
    /// The name of a subject.
    pub fn of(&self, kind: SubjectKind, id: &str) -> Name {
        if let (SubjectKind::Member, Some((owner, team))) = (kind, member_parts(id)) {
            let [owner, team] = [(SubjectKind::Owner, owner), (SubjectKind::Team, team)]
                .map(|(of, id)| self.of(of, id));
            return Name {
                id: id.to_owned(),
                text: text::in_team(&owner.text, &team.text),
                ..Name::default()
            };
        }
        let found = self.0.get(&(kind, id.to_owned())).cloned();
        found.unwrap_or_else(|| match (kind, id) {
            (SubjectKind::Owner, audit::COMMAND) => Name {
                text: t!("the command line").into_owned(),
                ..Name::of_itself(id)
            },
            _ => Name::of_itself(id),
        })
    }

    /// The name of a key.
    pub fn key(&self, id: &str) -> Name {
        self.of(SubjectKind::Key, id)
    }

    /// The name of a person, or of an owner of keys who is none.
    pub fn owner(&self, id: &str) -> Name {
        self.of(SubjectKind::Owner, id)
    }

    /// The name of a team.
    pub fn team(&self, id: &str) -> Name {
        self.of(SubjectKind::Team, id)
    }

    /// The name of a group.
    pub fn group(&self, id: &str) -> Name {
        self.of(SubjectKind::Group, id)
    }
}

/// The name of one person.
///
/// # Errors
/// Those of the database.
pub async fn person(state: &ConsoleState, caller: &Caller, id: &str) -> Result<Name, ApiProblem> {
    let mut wanted = WantedNames::default();
    wanted.add(SubjectKind::Owner, id);
    Ok(wanted.find(state, caller).await?.owner(id))
}

/// The subjects that a page names.
#[derive(Debug, Default)]
pub struct WantedNames(BTreeSet<(SubjectKind, String)>);

impl WantedNames {
    /// Adds a subject.
    pub fn add(&mut self, kind: SubjectKind, id: &str) {
        match member_parts(id).filter(|_| kind == SubjectKind::Member) {
            Some((owner, team)) => {
                self.add(SubjectKind::Owner, owner);
                self.add(SubjectKind::Team, team);
            }
            None if !id.is_empty() => {
                self.0.insert((kind, id.to_owned()));
            }
            None => {}
        }
    }

    /// Adds several of a kind.
    pub fn all<'a>(&mut self, kind: SubjectKind, ids: impl IntoIterator<Item = &'a str>) {
        for id in ids {
            self.add(kind, id);
        }
    }

    fn ids(&self, kind: SubjectKind) -> Vec<&str> {
        let of_kind = self.0.iter().filter(|(of, _)| *of == kind);
        of_kind
            .map(|(_, id)| id.as_str())
            // No id has one, and PostgreSQL cannot even look for it.
            .filter(|id| !id.contains('\0'))
            .collect()
    }

    /// Finds the names, as far as the caller sees them: an admin and a viewer all, others those of their keys and teams, and of the people and
    /// keys of teams that they manage.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn find(self, state: &ConsoleState, caller: &Caller) -> Result<Names, ApiProblem> {
        if self.0.is_empty() {
            return Ok(Names::default());
        }
        let wanted = NamedIds {
            keys: self.ids(SubjectKind::Key),
            people: self.ids(SubjectKind::Owner),
            teams: self.ids(SubjectKind::Team),
        };
        let reader = caller.only_owner().map(|id| NameReader {
            id,
            managed: &caller.managed,
        });
        let mut transaction = state.store.read().await?;
        let found = names::find(&mut transaction, &wanted, reader.as_ref()).await?;
        let mut all = Names::default();
        for found in &found {
            all.add(found, caller);
        }
        let groups = self.ids(SubjectKind::Group);
        let missing = |all: &Names| {
            let mut keys = wanted.keys.iter();
            keys.any(|id| !all.0.contains_key(&(SubjectKind::Key, (*id).to_owned())))
        };
        let document = if groups.is_empty() && !missing(&all) {
            None
        } else {
            document_in_force(&mut transaction).await?
        };
        transaction.rollback().await;
        let (of_groups, of_keys) = document.map_or_else(Default::default, |document| {
            (document.groups, document.keys)
        });
        for group in of_groups.into_iter().flatten() {
            let (Some(id), Some(name)) = (group.id, group.name) else {
                continue;
            };
            if groups.contains(&id.as_str()) && !name.is_empty() {
                all.0.insert(
                    (SubjectKind::Group, id.clone()),
                    Name {
                        id,
                        text: name,
                        remark: None,
                        is_seen: true,
                    },
                );
            }
        }
        let of_document: Vec<KeyDocument> = of_keys.into_iter().flatten().collect();
        for id in &wanted.keys {
            let named = of_document.iter().find(|key| key.id.as_deref() == Some(id));
            let only = named.map(|key| (key, caller.only_owner_in(key.team.as_deref())));
            let name = Name {
                id: (*id).to_owned(),
                text: (*id).to_owned(),
                remark: named.is_none().then_some(text!("removed")),
                is_seen: only
                    .is_some_and(|(key, only)| only.is_none() || key.owner.as_deref() == only),
            };
            all.0
                .entry((SubjectKind::Key, (*id).to_owned()))
                .or_insert(name);
        }
        Ok(all)
    }
}

impl Names {
    /// Adds what was found, as far as the caller sees it.
    fn add(&mut self, found: &FoundName, caller: &Caller) {
        let Some(kind) = SubjectKind::named(&found.kind) else {
            return;
        };
        let mut only = caller.only_owner_in(found.team.as_deref()).into_iter();
        let is_seen =
            kind != SubjectKind::Key || !only.any(|only| found.owner.as_deref() != Some(only));
        let name = found
            .name
            .as_ref()
            .filter(|name| is_seen && !name.is_empty());
        let name = Name {
            id: found.id.clone(),
            text: name.unwrap_or(&found.id).clone(),
            remark: found.is_disabled.then_some(text!("disabled")),
            is_seen,
        };
        self.0.insert((kind, found.id.clone()), name);
    }
}
