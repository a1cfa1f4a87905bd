//! The form of an account or a model of a source group in a draft.

use std::borrow::Cow;

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::edit::{DRAFT, THEN};
use super::editing::{self, Edited, FormOutcome};
use super::group_form::{find, named};
use super::{find_item, members, text_at};
use crate::cases::{ApiProblem, ConsoleState, rights};
use crate::documents::Difference;
use crate::language::translated;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageResult, PageShell, SignedForm, SignedIn, done,
};
use crate::vendors::{MIXED, add_to_mixed, mixed_sources};

/// Makes the page of a form, with the group and the item of the draft.
type ItemPage = fn(PageShell, ItemForm, Option<&Value>, Option<&Value>) -> PageResult;

/// The field by which a new model comes into the group that serves all vendors.
pub const IN_ALL: &str = "in_all";

fn has_all(document: &Value) -> bool {
    find(document, MIXED).is_some_and(|(_, group)| text_at(group, "protocol") == "Mixed")
}

/// Shows a new model of a group in the group that serves all vendors.
fn show_in_all(document: &mut Value, group: &str, model: &str) {
    let mut sources = mixed_sources(document).into_iter();
    let source = sources.find(|source| source.group == group);
    let all = has_all(document).then(|| members::item(document, "groups", MIXED));
    if let (Some(source), Some(Some(all))) = (source, all) {
        add_to_mixed(all, &source, &[model.to_owned()]);
    }
}

/// The kind of an item that groups list.
pub struct ItemKind {
    /// The list in a group.
    pub list: &'static str,
    /// One of them, in paths and sentences.
    pub one: &'static str,
    /// The button of the form of a new one, and that which removes one: "Add model".
    pub add: &'static str,
    pub remove: &'static str,
    /// The title of the form of a new one.
    pub new_title: &'static str,
    /// The problem of an id that another one of the group has.
    pub is_taken: &'static str,
    /// The fields of a new one, in a document and a group of it, as the query asks for them.
    pub new_fields: fn(&Value, &str, Option<&str>) -> Fields,
    /// The fields of one that there is.
    pub fields_of: fn(&Value) -> Fields,
    /// Takes what a form says of one.
    pub put: fn(&mut Map<String, Value>, &Fields, &mut FieldProblems),
    /// Makes its page.
    pub page: ItemPage,
}

/// The form, as a page shows it.
pub struct ItemForm {
    pub add: Cow<'static, str>,
    pub remove: Cow<'static, str>,
    pub draft: String,
    /// The name of the group; its id where it has none.
    pub group: String,
    pub group_path: String,
    pub action: String,
    pub revision: i64,
    pub is_new: bool,
    /// Whether the document has a group that serves all vendors.
    pub has_all: bool,
    /// Whether whoever looks may give this console a credential.
    pub may_give: bool,
    pub fields: Fields,
    pub problems: FieldProblems,
    pub failed: bool,
    pub differences: Vec<Difference>,
}

impl ItemForm {
    /// Whether some of these fields are filled in, or anything is wrong: they are shown then.
    pub fn has_any(&self, names: &[&str]) -> bool {
        let is_filled = names.iter().any(|name| self.fields.is_set(name));
        is_filled || !self.problems.is_empty()
    }
}

impl ItemKind {
    /// The form of the item that a query names, or for a new one.
    ///
    /// # Errors
    /// Those of the draft; there is no such group, or no such item.
    pub async fn form(
        &self,
        state: &ConsoleState,
        signed_in: &SignedIn,
        draft: &str,
        query: Option<&str>,
    ) -> PageResult {
        let edited = editing::open(state, signed_in, draft).await?;
        let (group, id) = (named(query, "group"), named(query, self.one));
        let (at, of) = find(&edited.document, &group).ok_or_else(ApiProblem::not_found)?;
        let (fields, problems) = match find_item(of, self.list, &id) {
            Some((number, item)) => {
                let part = format!("groups[{at}].{}[{number}]", self.list);
                let said = editing::said_of(state, &signed_in.caller, draft, &part).await?;
                ((self.fields_of)(item), said)
            }
            None if id.is_empty() => {
                let fields = (self.new_fields)(&edited.document, &group, query);
                (fields, FieldProblems::default())
            }
            None => return Err(ApiProblem::not_found().into()),
        };
        let fields = fields.with(THEN, named(query, THEN));
        let names = (group.as_str(), id.as_str());
        self.show(state, signed_in, &edited, names, fields, (problems, None))
    }

    /// Changes the item that a query names, adds one, or removes it.
    ///
    /// # Errors
    /// Those of the draft; there is no such group.
    pub async fn save(&self, sent: SignedForm, draft: &str, query: Option<&str>) -> PageResult {
        let (state, signed_in, fields) = sent.parts();
        match self.put(&state, &signed_in, draft, query, &fields).await? {
            Some(refused) => Ok(refused),
            None => Ok(self.saved(draft, query, &fields)),
        }
    }

    /// Changes the item in the draft. Returns the form with the problems where it is refused.
    ///
    /// # Errors
    /// Those of the draft; there is no such group.
    pub async fn put(
        &self,
        state: &ConsoleState,
        signed_in: &SignedIn,
        draft: &str,
        query: Option<&str>,
        fields: &Fields,
    ) -> Result<Option<Response>, PageProblem> {
        let edited = editing::open(state, signed_in, draft).await?;
        let (group, id) = (named(query, "group"), named(query, self.one));
        find(&edited.document, &group).ok_or_else(ApiProblem::not_found)?;
        let edit = |document: &mut Value, problems: &mut FieldProblems| {
            self.edit(document, (&group, &id), fields, problems);
        };
        match editing::save(state, &signed_in.caller, edited, fields, edit).await? {
            FormOutcome::Saved => Ok(None),
            FormOutcome::Refused(problems, differences) => {
                let names = (group.as_str(), id.as_str());
                let refused = (problems, differences);
                let page = self.refused(state, signed_in, draft, names, fields, refused);
                Ok(Some(page.await?))
            }
        }
    }

    /// The form of an item as it was typed, with what is wrong.
    ///
    /// # Errors
    /// Those of the draft.
    pub async fn refused(
        &self,
        state: &ConsoleState,
        signed_in: &SignedIn,
        draft: &str,
        names: (&str, &str),
        fields: &Fields,
        (problems, differences): (FieldProblems, Vec<Difference>),
    ) -> PageResult {
        let edited = editing::open(state, signed_in, draft).await?;
        let fields = fields.clone();
        let refused = (problems, Some(differences));
        self.show(state, signed_in, &edited, names, fields, refused)
    }

    /// Leads on once an item is changed: to the draft where somebody came from elsewhere for this one change.
    pub fn saved(&self, draft: &str, query: Option<&str>, fields: &Fields) -> Response {
        let removed = fields.is_set("remove");
        let notice = if removed {
            Notice::Removed
        } else {
            Notice::Saved
        };
        let path = format!("/drafts/{draft}");
        if fields.get(THEN) == DRAFT {
            return done(&path, notice);
        }
        let group = named(query, "group");
        let of_group = ("group", group.as_str());
        let path = if removed {
            path_with(&format!("{path}/group"), &[of_group])
        } else {
            let names = [of_group, (self.one, fields.get("id"))];
            path_with(&format!("{path}/{}", self.one), &names)
        };
        done(&path, notice)
    }

    fn edit(
        &self,
        document: &mut Value,
        (of, id): (&str, &str),
        fields: &Fields,
        problems: &mut FieldProblems,
    ) {
        let Some(group) = members::item(document, "groups", of) else {
            problems.general = Some(t!("The group was removed meanwhile.").into_owned());
            return;
        };
        if fields.is_set("remove") {
            members::remove(group, self.list, id);
            return;
        }
        let new_id = fields.get("id");
        if new_id.is_empty() {
            problems.push("id", text!("is missing"));
            return;
        }
        if new_id != id && members::item(group, self.list, new_id).is_some() {
            problems.push("id", self.is_taken);
            return;
        }
        let is_known = members::item(group, self.list, id).is_some();
        if !is_known {
            members::add(group, self.list, json!({"id": new_id}));
        }
        let item = members::item(group, self.list, if is_known { id } else { new_id });
        if let Some(item) = item.and_then(Value::as_object_mut) {
            (self.put)(item, fields, problems);
        }
        if !is_known && fields.is_set(IN_ALL) {
            show_in_all(document, of, new_id);
        }
    }

    /// `refused`: the differences to what somebody else has put there, of a form that is refused.
    fn show(
        &self,
        state: &ConsoleState,
        signed_in: &SignedIn,
        edited: &Edited,
        (group, id): (&str, &str),
        fields: Fields,
        (problems, refused): (FieldProblems, Option<Vec<Difference>>),
    ) -> PageResult {
        let draft = format!("/drafts/{}", edited.draft.id);
        let of = find(&edited.document, group).map(|(_, group)| group);
        let name = of.map(|of| text_at(of, "name"));
        let name = name.filter(|name| !name.is_empty()).unwrap_or(group);
        let item = of.and_then(|of| find_item(of, self.list, id));
        let item = item.map(|(_, item)| item);
        let form = ItemForm {
            add: translated(self.add),
            remove: translated(self.remove),
            group: name.to_owned(),
            group_path: path_with(&format!("{draft}/group"), &[("group", group)]),
            action: path_with(
                &format!("{draft}/{}", self.one),
                &[("group", group), (self.one, id)],
            ),
            revision: edited.draft.revision,
            is_new: item.is_none(),
            has_all: has_all(&edited.document),
            may_give: state.sealing_keys.is_some()
                && signed_in.caller.may(rights::CHANGE_CREDENTIALS),
            fields,
            problems,
            failed: refused.is_some(),
            differences: refused.unwrap_or_default(),
            draft,
        };
        let title = if item.is_some() {
            id.into()
        } else {
            translated(self.new_title)
        };
        (self.page)(signed_in.shell(title), form, of, item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_model_comes_into_the_group_of_all() {
        let before = json!({"groups": [
            {"id": "openai", "protocol": "A", "models": [{"id": "gpt"}, {"id": "new"}]},
            {"id": "all", "protocol": "Mixed", "entries": {"responses": {"source": "openai"}},
             "models": [{"id": "gpt", "entry": "responses"}]}]});
        let mut document = before.clone();
        show_in_all(&mut document, "openai", "new");
        let want =
            json!([{"id": "gpt", "entry": "responses"}, {"id": "new", "entry": "responses"}]);
        assert_eq!(document["groups"][1]["models"], want);
        let mut document = before.clone();
        show_in_all(&mut document, "nobody", "new");
        assert_eq!(document, before);
        let mut other = before;
        other["groups"][1]["protocol"] = "A".into();
        let mut document = other.clone();
        show_in_all(&mut document, "openai", "new");
        assert_eq!(document, other, "somebody's own");
    }
}
