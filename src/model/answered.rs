//! The model that an answer names, held against the one that was asked for.

use std::rc::Rc;

use super::bare_name::BareName;
use super::{Catalog, Model};

/// The model that an answer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredModel<'a> {
    /// The one that was asked for, under one of its names.
    Asked,
    /// Another one of the catalog.
    Listed(&'a Rc<Model>),
    /// None that the catalog has.
    Unlisted,
}

impl Catalog {
    /// The model that the upstream calls `name`.
    pub fn find_upstream(&self, name: &str) -> Option<&Rc<Model>> {
        let mut models = self.models().iter();
        let renamed = models.find(|model| model.upstream.as_deref() == Some(name));
        renamed.or_else(|| self.find(name))
    }

    /// Finds the model that an answer names by `name` that was asked of `asked`.
    ///
    /// A name that the catalog has as it stands is that model's. Otherwise a date, a vendor's prefix and a tag are left out of
    /// account.
    pub fn answered(&self, asked: &Model, name: &str) -> AnsweredModel<'_> {
        if asked.id == name || asked.upstream.as_deref() == Some(name) {
            return AnsweredModel::Asked;
        }
        match self.find_upstream(name) {
            Some(model) if model.id == asked.id => return AnsweredModel::Asked,
            Some(model) => return AnsweredModel::Listed(model),
            None => {}
        }
        let bare = BareName::of(name);
        if asked.is_called(&bare) {
            return AnsweredModel::Asked;
        }
        // The longest first: what a catalog has with its date or tag is another model than the one without.
        let mut spellings = [bare.whole, bare.untagged, bare.base].into_iter();
        let listed = spellings.find_map(|name| self.find_upstream(name));
        let mut others = self.models().iter();
        match listed.or_else(|| others.find(|model| model.is_called(&bare))) {
            Some(model) if model.id == asked.id => AnsweredModel::Asked,
            Some(model) => AnsweredModel::Listed(model),
            None => AnsweredModel::Unlisted,
        }
    }
}

impl Model {
    /// Whether a name may be this model's, but for what vendors put around it.
    fn is_called(&self, name: &BareName<'_>) -> bool {
        let own = [Some(self.id.as_str()), self.upstream.as_deref()];
        let mut own = own.into_iter().flatten();
        own.any(|own| BareName::of(own).is_like(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalog::{ModelKind, NameTaken};
    use crate::model::name::NameRule;

    /// A catalog of models by id, upstream name and aliases.
    fn catalog(rule: NameRule, models: &[(&str, Option<&str>, &[&str])]) -> Catalog {
        let mut catalog = Catalog::new(rule);
        for (id, upstream, aliases) in models {
            let model = Model {
                id: (*id).into(),
                kind: ModelKind::Text,
                display_name: (*id).to_owned(),
                created: 0,
                upstream: upstream.map(Into::into),
                entitled: true,
                merge_dated: false,
                reasoning: false,
                prices: None,
                free: false,
            };
            let aliases: Vec<String> = aliases.iter().map(|alias| (*alias).to_owned()).collect();
            assert_eq!(catalog.add(model, &aliases), Ok::<(), Vec<NameTaken>>(()));
        }
        catalog
    }

    #[test]
    fn the_model_of_an_answer() {
        let a = catalog(
            NameRule::A,
            &[
                ("gpt-5.1", None, &["gpt-5.1-chat-latest"]),
                ("gpt-5.1-pro", None, &[]),
                ("gpt-4o", None, &[]),
                ("gpt-4o-2024-05-13", None, &[]),
                ("vendor/own", Some("vendor/own-8b"), &[]),
                ("fast", Some("gpt-5.1"), &[]),
                ("llama3:8b", None, &[]),
                ("llama3:70b", None, &[]),
                ("old-latest", None, &[]),
                ("kimi-k2", None, &[]),
                ("kimi-k2-thinking", None, &[]),
            ],
        );
        let b = catalog(
            NameRule::B,
            &[
                ("claude-haiku-4-5", None, &[]),
                ("claude-opus-4", None, &[]),
            ],
        );
        let c = catalog(
            NameRule::C,
            &[
                ("gemini-2.5-flash", None, &[]),
                ("gemini-2.5-pro", None, &[]),
            ],
        );
        let asked = "";
        #[rustfmt::skip]
        let cases = [
            (&a, "gpt-5.1", "gpt-5.1", Some(asked)),
            (&a, "gpt-5.1", "gpt-5.1-2025-11-13", Some(asked)),
            (&a, "gpt-5.1", "gpt-5.1-chat-latest", Some(asked)),
            (&a, "gpt-5.1", "openai/gpt-5.1", Some(asked)),
            (&a, "gpt-5.1", "openai/gpt-5.1-2025-11-13:nitro", Some(asked)),
            (&a, "gpt-5.1", "accounts/fireworks/models/gpt-5.1", Some(asked)),
            (&a, "gpt-5.1", "publishers/x/models/gpt-5.1@001", Some(asked)),
            (&a, "gpt-5.1", "gpt-5.1-pro", Some("gpt-5.1-pro")),
            (&a, "gpt-5.1", "openai/gpt-5.1-pro-2025-11-13", Some("gpt-5.1-pro")),
            (&a, "gpt-5.1", "gpt-5.1-mini", None),
            (&a, "gpt-5.1", "gpt-5", None),
            // One name upstream for two models: the one that was asked for.
            (&a, "fast", "gpt-5.1", Some(asked)),
            (&a, "fast", "gpt-5.1-2025-11-13", Some(asked)),
            // One that is listed with its date is a model of its own.
            (&a, "gpt-4o", "gpt-4o-2024-08-06", Some(asked)),
            (&a, "gpt-4o", "gpt-4o-2024-05-13", Some("gpt-4o-2024-05-13")),
            (&a, "gpt-4o-2024-05-13", "gpt-4o", Some("gpt-4o")),
            (&a, "vendor/own", "own-8b", Some(asked)),
            (&a, "vendor/own", "own", Some(asked)),
            (&a, "llama3:8b", "llama3", Some(asked)),
            (&a, "llama3:8b", "llama3:70b", Some("llama3:70b")),
            (&a, "llama3:8b", "llama3:405b", None),
            (&a, "old-latest", "old-2024-08-06", Some(asked)),
            (&a, "kimi-k2", "moonshotai/kimi-k2-thinking", Some("kimi-k2-thinking")),
            (&b, "claude-haiku-4-5", "claude-haiku-4-5-20251001", Some(asked)),
            (&b, "claude-haiku-4-5", "claude-haiku-4.5", Some(asked)),
            (&b, "claude-haiku-4-5", "us.anthropic.claude-haiku-4-5-20251001-v1:0", Some(asked)),
            (&b, "claude-haiku-4-5", "anthropic/claude-haiku-4.5", Some(asked)),
            (&b, "claude-haiku-4-5", "claude-haiku-4-5@20251001", Some(asked)),
            (&b, "claude-haiku-4-5", "claude-opus-4-0", Some("claude-opus-4")),
            (&b, "claude-haiku-4-5", "claude-opus-5", None),
            (&c, "gemini-2.5-flash", "gemini-2.5-flash", Some(asked)),
            (&c, "gemini-2.5-flash", "models/gemini-2.5-flash", Some(asked)),
            (&c, "gemini-2.5-flash", "gemini-2.5-flash-001", Some(asked)),
            (&c, "gemini-2.5-flash", "gemini-2.5-pro-002", Some("gemini-2.5-pro")),
        ];
        for (catalog, model, name, want) in cases {
            let asked = catalog.find(model).unwrap();
            let got = match catalog.answered(asked, name) {
                AnsweredModel::Asked => Some(""),
                AnsweredModel::Listed(other) => Some(other.id.as_str()),
                AnsweredModel::Unlisted => None,
            };
            assert_eq!(got, want, "{model} answered by {name}");
        }
    }
}
