//! The models of one group.

use std::rc::Rc;

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::name::{NameRule, strip_dashed_date, zero_minor_twin};
use crate::money::Prices;

/// The kind of output that a model makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelKind {
    /// Text, whatever it reads.
    #[default]
    Text,
    /// Images.
    Image,
}

/// One model of a source group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The canonical name, as the model list shows it.
    pub id: SmolStr,
    /// The kind of output that the model makes.
    pub kind: ModelKind,
    /// The name for people; the id where the document gives none.
    pub display_name: String,
    /// The time at which the model came out, in seconds since the Unix epoch; 0 where unknown.
    pub created: i64,
    /// The name the upstream knows it by, where that is not the client's own spelling.
    pub upstream: Option<SmolStr>,
    /// Whether the source account may use it. Where it may not, requests get 403 and lists leave it out.
    pub entitled: bool,
    /// Protocol A: `-YYYY-MM-DD` variants of the id are this model too.
    pub merge_dated: bool,
    /// Whether it reasons without being asked to: it is marked so, or its id or its name upstream says it.
    pub reasoning: bool,
    /// The prices; `None` where the document gives none.
    pub prices: Option<Prices>,
    /// Whether the document says that it costs nothing; then it has no prices.
    pub free: bool,
}

impl Model {
    /// Whether what it uses can be charged, or is meant not to be: a budget is worth something then.
    pub fn is_priced(&self) -> bool {
        self.free || self.prices.is_some()
    }
}

/// The models of one source group, found by any spelling that means them.
#[derive(Debug, Clone)]
pub struct Catalog {
    rule: NameRule,
    models: Vec<Rc<Model>>,
    index: HashMap<String, usize>,
}

/// Two spellings in one catalog mean the same name after folding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameTaken {
    /// The id of the model that has the name already.
    pub by: SmolStr,
}

impl Catalog {
    /// An empty catalog whose names fold by `rule`.
    pub fn new(rule: NameRule) -> Self {
        Self {
            rule,
            models: Vec::new(),
            index: HashMap::new(),
        }
    }

    /// Adds a model under its id and its aliases.
    ///
    /// # Errors
    /// Every name that, folded, some model of this catalog has already, with its owner; the model
    /// is then listed but not found by those names.
    pub fn add(&mut self, model: Model, aliases: &[String]) -> Result<(), Vec<NameTaken>> {
        let position = self.models.len();
        let mut taken = Vec::new();
        for name in core::iter::once(model.id.as_str()).chain(aliases.iter().map(String::as_str)) {
            let folded = self.rule.fold(name).into_owned();
            match self.index.get(&folded) {
                Some(&owner) => taken.push(NameTaken {
                    by: self
                        .models
                        .get(owner)
                        .map_or_else(|| model.id.clone(), |m| m.id.clone()),
                }),
                None => {
                    self.index.insert(folded, position);
                }
            }
        }
        self.models.push(Rc::new(model));
        if taken.is_empty() { Ok(()) } else { Err(taken) }
    }

    /// The model that has `name`, as a client wrote it, among its names.
    pub fn find_exact(&self, name: &str) -> Option<&Rc<Model>> {
        self.by_index(&self.rule.fold(name))
    }

    /// The names by which a model of this catalog is found.
    pub fn names_of(&self, model: &Model) -> impl Iterator<Item = &str> {
        let named = self.index.iter().filter(|(_, at)| {
            let known = self.models.get(**at);
            known.is_some_and(|known| known.id == model.id)
        });
        named.map(|(name, _)| name.as_str())
    }

    /// The model that `name`, as a client wrote it, means.
    pub fn find(&self, name: &str) -> Option<&Rc<Model>> {
        let folded = self.rule.fold(name);
        let exact = self.by_index(&folded);
        if exact.is_some() {
            return exact;
        }
        match self.rule {
            NameRule::A => {
                let base = strip_dashed_date(&folded)?;
                self.by_index(base).filter(|model| model.merge_dated)
            }
            NameRule::B => self.by_index(&zero_minor_twin(&folded)?),
            NameRule::C => None,
        }
    }

    /// The model with this id.
    pub fn with_id(&self, id: &str) -> Option<&Rc<Model>> {
        self.models.iter().find(|model| model.id == id)
    }

    /// All models, in the document's order.
    pub fn models(&self) -> &[Rc<Model>] {
        &self.models
    }

    /// Whether some model has an upstream name of its own, so that a body may have to change.
    pub fn renames(&self) -> bool {
        self.models.iter().any(|m| m.upstream.is_some())
    }

    /// Whether some model has prices.
    pub fn has_prices(&self) -> bool {
        self.models.iter().any(|m| m.prices.is_some())
    }

    fn by_index(&self, folded: &str) -> Option<&Rc<Model>> {
        self.index.get(folded).and_then(|&i| self.models.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(id: &str) -> Model {
        Model {
            id: id.into(),
            kind: ModelKind::Text,
            display_name: id.to_owned(),
            created: 0,
            upstream: None,
            entitled: true,
            merge_dated: false,
            reasoning: false,
            prices: None,
            free: false,
        }
    }

    fn catalog(rule: NameRule, ids: &[&str]) -> Catalog {
        let mut catalog = Catalog::new(rule);
        for id in ids {
            catalog.add(model(id), &[]).unwrap();
        }
        catalog
    }

    #[test]
    fn protocol_b_spellings_find_their_tier() {
        let catalog = catalog(
            NameRule::B,
            &["claude-opus-4-5", "claude-opus-4", "claude-sonnet-4-0"],
        );
        let cases = [
            ("canonical", "claude-opus-4-5", Some("claude-opus-4-5")),
            (
                "folded",
                "claude-opus-4.5-20251101-thinking",
                Some("claude-opus-4-5"),
            ),
            (
                "-0 means no minor",
                "claude-opus-4-0",
                Some("claude-opus-4"),
            ),
            (
                "no minor means -0",
                "claude-sonnet-4",
                Some("claude-sonnet-4-0"),
            ),
            (
                "date is no minor",
                "claude-opus-4-20250514",
                Some("claude-opus-4"),
            ),
            ("another minor", "claude-opus-4-6", None),
            ("case matters", "Claude-Opus-4-5", None),
            ("spaces are not trimmed", " claude-opus-4-5", None),
            ("empty", "", None),
        ];
        for (case, name, want) in cases {
            assert_eq!(catalog.find(name).map(|m| m.id.as_str()), want, "{case}");
        }
    }

    #[test]
    fn protocol_a_merges_dates_only_where_asked() {
        let mut catalog = catalog(NameRule::A, &["gpt-y"]);
        catalog
            .add(
                Model {
                    merge_dated: true,
                    ..model("gpt-x")
                },
                &["gpt-x-latest".to_owned()],
            )
            .unwrap();
        let cases = [
            ("id", "gpt-x", Some("gpt-x")),
            ("alias", "gpt-x-latest", Some("gpt-x")),
            ("merged", "gpt-x-2025-11-13", Some("gpt-x")),
            ("not merged", "gpt-y-2025-11-13", None),
            ("B's date form is nothing here", "gpt-x-20251113", None),
        ];
        for (case, name, want) in cases {
            assert_eq!(catalog.find(name).map(|m| m.id.as_str()), want, "{case}");
        }
    }

    #[test]
    fn names_are_unique_after_folding() {
        let mut catalog = catalog(NameRule::B, &["claude-x-4-5"]);
        let taken = catalog.add(model("claude-y-1"), &["claude-x-4.5".to_owned()]);
        assert_eq!(
            taken,
            Err(vec![NameTaken {
                by: "claude-x-4-5".into()
            }])
        );
    }
}
