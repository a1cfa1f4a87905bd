//! Keys, members, owners, teams and groups with limits.

use core::fmt;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::budget::SpentElsewhere;
use super::elsewhere::{COMPLETE, FleetSpend};
use super::terms::Limits;

/// A kind of subject. Their order is that of their names, in which a database sorts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubjectKind {
    /// All keys of a group together.
    Group,
    /// A key.
    Key,
    /// All keys that an owner has, and had, in a team together.
    Member,
    /// All keys of an owner together.
    Owner,
    /// All keys of a team together.
    Team,
}

impl SubjectKind {
    /// All there are, in the order in which a key has them.
    pub const ALL: [Self; 5] = [
        Self::Key,
        Self::Member,
        Self::Owner,
        Self::Team,
        Self::Group,
    ];

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it is of the key's holder alone: what the others count, others use as well.
    pub fn is_of_holder(self) -> bool {
        matches!(self, Self::Key | Self::Member | Self::Owner)
    }

    /// Whether its budget comes by a spend feed alone.
    pub fn is_of_people(self) -> bool {
        matches!(self, Self::Member | Self::Owner | Self::Team)
    }

    /// Returns the name in metrics, messages, feeds and databases.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Member => "member",
            Self::Owner => "owner",
            Self::Team => "team",
            Self::Group => "group",
        }
    }
}

impl fmt::Display for SubjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A key, member, owner, team or group with limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The kind of subject that has the limits.
    pub scope: SubjectKind,
    /// The limits.
    pub limits: Limits,
    /// The name of its counters in shared data. It contains the version of their encoding, so a release with another
    /// encoding never reads them.
    pub(super) name: Rc<str>,
    /// Whether a spend feed says what is spent elsewhere, and of a member, an owner or a team the budget too.
    pub(super) is_told: bool,
    /// The amounts spent of its budget elsewhere, as far as they were read.
    pub(super) elsewhere: SpentElsewhere,
}

/// The beginning of the names of counters.
const COUNTERS: &str = "trilane/limit/2";

impl Subject {
    /// The key or group with this id.
    pub fn new(scope: SubjectKind, id: &str, limits: Limits) -> Self {
        let name = format!("{COUNTERS}/{}/{id}", scope.name()).into();
        Self {
            scope,
            limits,
            name,
            is_told: false,
            elsewhere: SpentElsewhere::default(),
        }
    }

    /// An account of the source group with the id `group`. No client is told of its limits, so that its kind does not matter: it is
    /// that of its group.
    pub fn of_account(group: &str, account: &str, limits: Limits) -> Self {
        Self {
            name: format!("{COUNTERS}/account/{group}/{account}").into(),
            ..Self::new(SubjectKind::Group, group, limits)
        }
    }

    /// The member, owner or team with this id, whose budget only a spend feed knows.
    pub fn of_people(scope: SubjectKind, id: &str) -> Self {
        Self {
            is_told: true,
            ..Self::new(scope, id, Limits::default())
        }
    }

    /// The same where there is a spend feed: that tells what is spent elsewhere, instead of the document.
    #[must_use]
    pub fn told(mut self) -> Self {
        if self.limits.budget.is_set() {
            self.limits.budget.spent = None;
            self.is_told = true;
        }
        self
    }

    /// Whether its budget may be set, though it is not known yet.
    pub fn may_have_budget(&self) -> bool {
        self.is_told || self.limits.budget.is_set()
    }

    /// The same with what a spend feed says; `None` where that limits nothing.
    pub(super) fn resolved(&self, told: FleetSpend) -> Option<Self> {
        let mut subject = self.clone();
        if self.scope.is_of_people() {
            subject.limits.budget = told.budget?;
        }
        subject.elsewhere = told.elsewhere;
        Some(subject)
    }

    /// The name of the record of the spend feed.
    pub(super) fn told_name(&self) -> String {
        let rest = self.name.strip_prefix(COUNTERS).unwrap_or_default();
        format!("{COMPLETE}{rest}")
    }
}

/// The id of an owner as a member of a team. No id of a team has an `@`, so the last one is between the two.
pub fn member_id(owner: &str, team: &str) -> String {
    format!("{owner}@{team}")
}

/// The owner and the team of a member's id.
pub fn member_parts(id: &str) -> Option<(&str, &str)> {
    id.rsplit_once('@')
}

/// The name in shared data of what a spend feed says of a subject.
pub fn told_name(scope: SubjectKind, id: &str) -> String {
    format!("{COMPLETE}/{}/{id}", scope.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_one_name() {
        for kind in SubjectKind::ALL {
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{kind}\""));
            assert_eq!(SubjectKind::named(kind.name()), Some(kind));
            assert_eq!(serde_json::from_str::<SubjectKind>(&json).unwrap(), kind);
        }
        let mut sorted = SubjectKind::ALL;
        sorted.sort();
        assert!(sorted.is_sorted_by_key(|kind| kind.name()));
        assert_eq!(SubjectKind::named("planet"), None);
    }

    #[test]
    fn subjects_of_one_id_have_counters_and_records_of_their_own() {
        for (scope, want) in SubjectKind::ALL
            .into_iter()
            .zip(["key", "member", "owner", "team", "group"])
        {
            let subject = Subject::new(scope, "same", Limits::default());
            assert_eq!(&*subject.name, format!("trilane/limit/2/{want}/same"));
            let told = format!("trilane/spend/1/{want}/same");
            assert_eq!(subject.told_name(), told);
            assert_eq!(told_name(scope, "same"), told);
        }
    }

    #[test]
    fn owners_and_teams_of_members() {
        let all = [
            ("ann", "blue"),
            ("ann@example.com", "blue"),
            ("@", "a-b_c.d:e"),
        ];
        for (owner, team) in all {
            let id = member_id(owner, team);
            assert_eq!(member_parts(&id), Some((owner, team)), "{id}");
        }
        assert_eq!(member_parts("ann"), None);
    }
}
