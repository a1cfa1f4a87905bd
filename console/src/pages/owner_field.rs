//! The choice of an owner or a team in a form: a field that offers what there is, and a step that looks for more.

use trilane::limits::SubjectKind;

use super::form::Fields;
use super::{FieldProblems, PageProblem};
use crate::cases::key_owners::{self, OwnerChoices};
use crate::cases::{Caller, ConsoleState};

/// A field for an owner, a team or a person.
pub struct OwnerField {
    /// The name of the field.
    pub name: &'static str,
    /// The choices: those that are like what was typed, where somebody looks for them.
    pub offered: OwnerChoices,
    /// The name of the box that confirms another one; empty where there must be one already.
    pub confirms: &'static str,
}

impl OwnerField {
    /// Reads what a field offers.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn of(
        state: &ConsoleState,
        caller: &Caller,
        (name, kind, confirms): (&'static str, SubjectKind, &'static str),
        fields: &Fields,
        problems: &FieldProblems,
    ) -> Result<Self, PageProblem> {
        let is_wanted = fields.get(FIND) == name || !problems.at(name).is_empty();
        let text = if is_wanted { fields.get(name) } else { "" };
        Ok(Self {
            name,
            offered: key_owners::choices(state, caller, kind, text).await?,
            confirms,
        })
    }

    /// Whether the box of a new one is shown: where one was refused, or the box was ticked.
    pub fn asks(&self, fields: &Fields, problem: &str) -> bool {
        !self.confirms.is_empty()
            && (fields.is_set(self.confirms) || problem.contains(self.confirms))
    }
}

/// The field of a key's owner.
pub const OWNER: (&str, SubjectKind, &str) = ("owner", SubjectKind::Owner, "new_owner");
/// The field of a key's team.
pub const TEAM: (&str, SubjectKind, &str) = ("team", SubjectKind::Team, "new_team");

/// The name of the button that looks for what was typed.
const FIND: &str = "find";

/// Whether a form was sent to look for something, and changes nothing.
pub fn is_search(fields: &Fields) -> bool {
    fields.is_set(FIND)
}
