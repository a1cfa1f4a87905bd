//! The form of an account or a model of a source group in a draft.

use serde_json::{Map, Value, json};

use super::editing::{self, Edited, FormOutcome};
use super::group_form::{find, named};
use super::{items, members, text_at};
use crate::cases::{ApiProblem, ConsoleState};
use crate::documents::Difference;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, done};
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
    /// The title of the form of a new one.
    pub new_title: &'static str,
    /// The fields of a new one.
    pub new_fields: fn() -> Fields,
    /// The fields of one that there is.
    pub fields_of: fn(&Value) -> Fields,
    /// Takes what a form says of one.
    pub put: fn(&mut Map<String, Value>, &Fields, &mut FieldProblems),
    /// Makes its page.
    pub page: ItemPage,
}

/// The form, as a page shows it.
pub struct ItemForm {
    pub one: &'static str,
    pub draft: String,
    pub group: String,
    pub group_path: String,
    pub action: String,
    pub revision: i64,
    pub is_new: bool,
    /// Whether the document has a group that serves all vendors.
    pub has_all: bool,
    pub fields: Fields,
    pub problems: FieldProblems,
    pub failed: bool,
    pub differences: Vec<Difference>,
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
        let mut all = items(of, self.list).iter().enumerate();
        let (fields, problems) = match all.find(|(_, item)| text_at(item, "id") == id) {
            Some((number, item)) => {
                let part = format!("groups[{at}].{}[{number}]", self.list);
                let said = editing::said_of(state, &signed_in.caller, draft, &part).await?;
                ((self.fields_of)(item), said)
            }
            None if id.is_empty() => ((self.new_fields)(), FieldProblems::default()),
            None => return Err(ApiProblem::not_found().into()),
        };
        self.show(signed_in, &edited, (&group, &id), fields, problems, None)
    }

    /// Changes the item that a query names, adds one, or removes it.
    ///
    /// # Errors
    /// Those of the draft; there is no such group.
    pub async fn save(&self, sent: SignedForm, draft: &str, query: Option<&str>) -> PageResult {
        let (state, signed_in, fields) = sent.parts();
        let edited = editing::open(&state, &signed_in, draft).await?;
        let (group, id) = (named(query, "group"), named(query, self.one));
        find(&edited.document, &group).ok_or_else(ApiProblem::not_found)?;
        let edit = |document: &mut Value, problems: &mut FieldProblems| {
            self.edit(document, (&group, &id), &fields, problems);
        };
        match editing::save(&state, &signed_in.caller, edited, &fields, edit).await? {
            FormOutcome::Saved if fields.is_set("remove") => {
                let path = path_with(&format!("/drafts/{draft}/group"), &[("group", &group)]);
                Ok(done(&path, Notice::Removed))
            }
            FormOutcome::Saved => {
                let path = format!("/drafts/{draft}/{}", self.one);
                let names = [("group", group.as_str()), (self.one, fields.get("id"))];
                Ok(done(&path_with(&path, &names), Notice::Saved))
            }
            FormOutcome::Refused(problems, differences) => {
                let edited = editing::open(&state, &signed_in, draft).await?;
                let names = (group.as_str(), id.as_str());
                self.show(
                    &signed_in,
                    &edited,
                    names,
                    fields,
                    problems,
                    Some(differences),
                )
            }
        }
    }

    fn edit(
        &self,
        document: &mut Value,
        (of, id): (&str, &str),
        fields: &Fields,
        problems: &mut FieldProblems,
    ) {
        let Some(group) = members::item(document, "groups", of) else {
            problems.general = Some("The group was removed meanwhile.".to_owned());
            return;
        };
        if fields.is_set("remove") {
            members::remove(group, self.list, id);
            return;
        }
        let new_id = fields.get("id");
        if new_id.is_empty() {
            problems.push("id", "is missing");
            return;
        }
        if new_id != id && members::item(group, self.list, new_id).is_some() {
            problems.push("id", &format!("is another {}'s of this group", self.one));
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
        signed_in: &SignedIn,
        edited: &Edited,
        (group, id): (&str, &str),
        fields: Fields,
        problems: FieldProblems,
        refused: Option<Vec<Difference>>,
    ) -> PageResult {
        let draft = format!("/drafts/{}", edited.draft.id);
        let of = find(&edited.document, group).map(|(_, group)| group);
        let item = of.and_then(|of| {
            let mut all = items(of, self.list).iter();
            all.find(|item| text_at(item, "id") == id)
        });
        let form = ItemForm {
            one: self.one,
            group: group.to_owned(),
            group_path: path_with(&format!("{draft}/group"), &[("group", group)]),
            action: path_with(
                &format!("{draft}/{}", self.one),
                &[("group", group), (self.one, id)],
            ),
            revision: edited.draft.revision,
            is_new: item.is_none(),
            has_all: has_all(&edited.document),
            fields,
            problems,
            failed: refused.is_some(),
            differences: refused.unwrap_or_default(),
            draft,
        };
        let title = if item.is_some() { id } else { self.new_title };
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
