//! The way from where something is seen to the form that changes it, in a draft of one's own.

use serde_json::Value;

use super::group_form::find;
use super::{find_item, items};
use crate::cases::drafts;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{Notice, PageResult, SignedForm, done};

/// The field that leads back to the draft's page once a form is saved.
pub const THEN: &str = "then";
/// Its value.
pub const DRAFT: &str = "draft";

/// The form that somebody wants.
enum WantedForm {
    /// Of a model or an account: its list in the group, its name in paths, and its id, empty for a new one.
    Item(&'static str, &'static str, String),
    /// Of one more account like the first of the group.
    AnotherAccount,
    /// Of the limits of all keys of the group.
    Limits,
    /// Of the limits of a key of the document, by its id.
    KeyLimits(String),
    /// Of the group.
    Group,
}

impl WantedForm {
    /// The form, and the group. A price is named by its group and its model, with a blank between.
    fn of(fields: &Fields) -> (Self, String) {
        if let Some((group, model)) = fields.exact("price").split_once(' ') {
            return (
                Self::Item("models", "model", model.to_owned()),
                group.to_owned(),
            );
        }
        let item = |list, one: &'static str| {
            let has = fields.has(one);
            has.then(|| Self::Item(list, one, fields.exact(one).to_owned()))
        };
        let wanted = match fields.get("form") {
            "another-account" => Self::AnotherAccount,
            "limits" if fields.has("key") => Self::KeyLimits(fields.exact("key").to_owned()),
            "limits" => Self::Limits,
            _ => item("models", "model")
                .or_else(|| item("accounts", "account"))
                .unwrap_or(Self::Group),
        };
        (wanted, fields.exact("group").to_owned())
    }

    /// Whether a document has what the form is of.
    fn is_of(&self, document: &Value, group: &str) -> bool {
        let has = |of: &Value, list, id: &str| find_item(of, list, id).is_some();
        if let Self::KeyLimits(id) = self {
            return has(document, "keys", id);
        }
        let Some((_, group)) = find(document, group) else {
            return false;
        };
        match self {
            Self::Item(list, _, id) => id.is_empty() || has(group, list, id),
            Self::AnotherAccount => !items(group, "accounts").is_empty(),
            Self::Limits | Self::KeyLimits(_) | Self::Group => true,
        }
    }

    /// The path of the form in a draft.
    fn path(&self, draft: &str, group: &str) -> String {
        let with = |form: &str, names: &[&[(&str, &str)]]| {
            path_with(&format!("/drafts/{draft}/{form}"), &names.concat())
        };
        let then = [(THEN, DRAFT)];
        let at = |form, more: &[_]| with(form, &[&[("group", group)], more, &then]);
        match self {
            Self::Item(_, one, id) => at(one, &[(one, id)]),
            Self::AnotherAccount => at("account", &[("like", "first")]),
            Self::Limits => at("limits", &[]),
            Self::KeyLimits(id) => with("limits", &[&[("key", id)], &then]),
            Self::Group => at("group", &[]),
        }
    }
}

/// Leads to the form of what somebody wants to change, in their draft, which is begun where they have none.
pub async fn edit(sent: SignedForm) -> PageResult {
    let (wanted, group) = WantedForm::of(&sent.fields);
    let group = group.as_str();
    let has = |document: &Value| wanted.is_of(document, group);
    let (draft, is_new) = drafts::own(&sent.state, &sent.signed_in.caller, has).await?;
    let notice = if is_new {
        Notice::DraftBegun
    } else {
        Notice::DraftUsed
    };
    Ok(done(&wanted.path(&draft.id, group), notice))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn which_form_it_is() {
        let document = json!({"groups": [
            {"id": "a", "models": [{"id": "m"}], "accounts": [{"id": "one"}]}, {"id": "b"}],
            "keys": [{"id": "k"}]});
        for (form, path, is_there) in [
            (
                "group=a&model=m",
                "/drafts/d/model?group=a&model=m&then=draft",
                true,
            ),
            (
                "price=a+m",
                "/drafts/d/model?group=a&model=m&then=draft",
                true,
            ),
            (
                "group=a&model=x",
                "/drafts/d/model?group=a&model=x&then=draft",
                false,
            ),
            (
                "group=a&model=",
                "/drafts/d/model?group=a&model=&then=draft",
                true,
            ),
            (
                "group=a&account=one",
                "/drafts/d/account?group=a&account=one&then=draft",
                true,
            ),
            (
                "group=a&form=another-account",
                "/drafts/d/account?group=a&like=first&then=draft",
                true,
            ),
            (
                "group=b&form=another-account",
                "/drafts/d/account?group=b&like=first&then=draft",
                false,
            ),
            (
                "group=b&form=limits",
                "/drafts/d/limits?group=b&then=draft",
                true,
            ),
            (
                "key=k&form=limits",
                "/drafts/d/limits?key=k&then=draft",
                true,
            ),
            (
                "key=x&form=limits",
                "/drafts/d/limits?key=x&then=draft",
                false,
            ),
            ("group=c", "/drafts/d/group?group=c&then=draft", false),
        ] {
            let fields = Fields::parse(form.as_bytes());
            let (wanted, group) = WantedForm::of(&fields);
            assert_eq!(wanted.path("d", &group), path, "{form}");
            assert_eq!(wanted.is_of(&document, &group), is_there, "{form}");
        }
    }
}
