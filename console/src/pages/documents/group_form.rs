//! The form of a group in a draft.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{Path, RawQuery};

use serde_json::{Map, Value, json};

use super::edit::{DRAFT, THEN};
use super::editing::{self, Edited, FormOutcome};
use super::members::{self, GATES};
use super::sequence_fields::{self, FallbackChoice, ORDERS};
use super::shown::{self, GroupShown};
use super::{find_item, items, text_at};
use crate::documents::Difference;
use crate::entry_sources::{EntrySource, entry_sources, put_entry_sources, source_of};
use crate::language::translated;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page,
    limit_fields,
};
use crate::vendors::{api_style, styles};

/// The entries of Mixed groups, with the protocol that they take.
pub(super) const ENTRIES: [(&str, &str); 3] = [
    ("responses", "A"),
    ("vb_messages", "B"),
    ("vc_generate_content", "C"),
];
/// The fields that have problems shown at them.
const FIELDS: [&str; 11] = [
    "id",
    "name",
    "protocol",
    "multiplier",
    "clients",
    "cluster",
    "limits",
    "entries",
    "lists",
    "fallback",
    "image_generation",
];

/// An entry of the form: which sources it may have.
struct EntryFields {
    name: &'static str,
    title: String,
    order_name: String,
    sources: Vec<SourceFields>,
}

/// A source that an entry may have, and its models.
struct SourceFields {
    value: String,
    id: String,
    /// The name for people; empty for none.
    name: String,
    multiplier: String,
    is_set: bool,
    extra_name: String,
    extra: String,
    models: Vec<Choice>,
}

/// A model that the group may show.
struct Choice {
    value: String,
    id: String,
    is_set: bool,
}

/// A part of the group with a form of its own.
struct GroupPart {
    path: String,
    id: String,
    text: String,
}

/// A value of a choice, or the name of a box, and its title.
type TitledValue = (&'static str, Cow<'static, str>);

#[derive(Template)]
#[template(path = "draft_group.html")]
struct GroupFormPage {
    shell: PageShell,
    draft: String,
    action: String,
    revision: i64,
    is_new: bool,
    is_mixed: bool,
    fields: Fields,
    problems: FieldProblems,
    names: Vec<&'static str>,
    failed: bool,
    differences: Vec<Difference>,
    protocols: Vec<TitledValue>,
    kinds: Vec<TitledValue>,
    lists: Vec<TitledValue>,
    gates: Vec<TitledValue>,
    entries: Vec<EntryFields>,
    orders: Vec<TitledValue>,
    fallbacks: Vec<FallbackChoice>,
    models: Vec<GroupPart>,
    accounts: Vec<GroupPart>,
    new_model: String,
    new_account: String,
    numbers: Vec<(String, &'static str)>,
    budgets: Vec<(String, &'static str)>,
}

/// Returns the id of the group that a query or form names.
pub(super) fn named(query: Option<&str>, name: &str) -> String {
    Fields::parse(query.unwrap_or_default().as_bytes())
        .exact(name)
        .to_owned()
}

/// The group of this id in a document, and its number.
pub(super) fn find<'a>(document: &'a Value, id: &str) -> Option<(usize, &'a Value)> {
    find_item(document, "groups", id)
}

fn fields_of(group: &Value) -> Fields {
    let mut fields = Fields::default();
    for name in [
        "id",
        "name",
        "protocol",
        "multiplier",
        "clients",
        "cluster",
        "lists",
    ] {
        fields = fields.with(name, text_at(group, name));
    }
    for (gate, ..) in GATES {
        if group.get(gate).and_then(Value::as_bool) == Some(true) {
            fields = fields.with(gate, "yes");
        }
    }
    for (entry, of) in group
        .get("entries")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        for EntrySource { source, extra } in entry_sources(of) {
            fields = fields
                .with("source", format!("{entry} {source}"))
                .with(&extra_of(entry, &source), extra);
        }
    }
    for model in items(group, "models") {
        let source = source_of(group, model).unwrap_or_default();
        let entry = text_at(model, "entry");
        fields = fields.with(
            "model",
            format!("{entry} {source} {}", text_at(model, "id")),
        );
    }
    let fields = sequence_fields::with(fields, group);
    limit_fields::with(fields, group.get("limits").unwrap_or(&Value::Null))
}

/// The field of the extra multiplier of a source.
fn extra_of(entry: &str, source: &str) -> String {
    format!("entries.{entry}.{source}.extra_multiplier")
}

fn entries(document: &Value, fields: &Fields) -> Vec<EntryFields> {
    let all = ENTRIES.iter().map(|(name, protocol)| {
        let of_protocol = items(document, "groups")
            .iter()
            .filter(|group| text_at(group, "protocol") == *protocol);
        let sources = of_protocol.map(|group| {
            let id = text_at(group, "id").to_owned();
            let value = format!("{name} {id}");
            let models = items(group, "models").iter().map(|model| {
                let model = text_at(model, "id").to_owned();
                let value = format!("{value} {model}");
                Choice {
                    is_set: fields.all("model").any(|set| set == value),
                    value,
                    id: model,
                }
            });
            let extra_name = extra_of(name, &id);
            SourceFields {
                models: models.collect(),
                is_set: fields.all("source").any(|set| set == value),
                extra: fields.get(&extra_name).to_owned(),
                name: text_at(group, "name").to_owned(),
                multiplier: text_at(group, "multiplier").to_owned(),
                extra_name,
                value,
                id,
            }
        });
        EntryFields {
            name,
            title: t!("{style} requests", style = translated(api_style(protocol))),
            order_name: sequence_fields::order_of(name),
            sources: sources.collect(),
        }
    });
    all.collect()
}

struct GroupFormShown {
    fields: Fields,
    problems: FieldProblems,
    failed: bool,
    differences: Vec<Difference>,
}

/// The API styles that a group can have.
fn protocols() -> Vec<TitledValue> {
    let styles = styles().into_iter();
    let styles = styles.map(|(name, title)| (name, translated(title)));
    let mixed = ("Mixed", t!("Mixed: several of them, by path"));
    styles.chain([mixed]).collect()
}

fn show(signed_in: &SignedIn, edited: &Edited, id: &str, shown: GroupFormShown) -> PageResult {
    let GroupFormShown {
        fields,
        problems,
        failed,
        differences,
    } = shown;
    let draft = format!("/drafts/{}", edited.draft.id);
    let group = find(&edited.document, id).map(|(_, group)| group);
    let protocol = group.map_or_else(
        || fields.get("protocol"),
        |group| text_at(group, "protocol"),
    );
    let of_group: Option<GroupShown> = shown::groups(&edited.document)
        .into_iter()
        .find(|group| group.id == id);
    let part = |kind: &str, name: &str, id_of: &str, text: String| GroupPart {
        path: path_with(&format!("{draft}/{kind}"), &[("group", id), (name, id_of)]),
        id: id_of.to_owned(),
        text,
    };
    let models = of_group
        .iter()
        .flat_map(|group| &group.models)
        .map(|model| {
            let text = if model.input.is_empty() && model.output.is_empty() {
                model.notes.join(", ")
            } else {
                t!(
                    "{input} in · {output} out",
                    input = model.input,
                    output = model.output
                )
            };
            part("model", "model", &model.id, text)
        });
    let accounts = of_group.iter().flat_map(|group| &group.accounts);
    let accounts =
        accounts.map(|account| part("account", "account", &account.id, account.url.clone()));
    let gates = GATES.iter().filter(|(.., of)| *of == protocol);
    let title = match group.map(|group| text_at(group, "name")) {
        Some("") => id.into(),
        Some(name) => name.into(),
        None => t!("Add a group"),
    };
    let entries = entries(&edited.document, &fields);
    let fallbacks = group.map(|group| sequence_fields::choices(&edited.document, group, &fields));
    form_page(
        &GroupFormPage {
            shell: signed_in.shell(title),
            action: path_with(&format!("{draft}/group"), &[("group", id)]),
            revision: edited.draft.revision,
            is_new: group.is_none(),
            is_mixed: protocol == "Mixed",
            problems,
            names: FIELDS.to_vec(),
            failed,
            differences,
            protocols: protocols(),
            kinds: vec![
                ("", t!("strict")),
                ("current", t!("current: what today’s SDKs send, too")),
            ],
            lists: vec![
                ("", t!("all models, whatever the client speaks")),
                ("by_protocol", t!("those of the client’s API style")),
            ],
            gates: gates
                .map(|(name, title, _)| (*name, translated(title)))
                .collect(),
            entries,
            orders: ORDERS
                .map(|(name, title)| (name, translated(title)))
                .to_vec(),
            fallbacks: fallbacks.unwrap_or_default(),
            models: models.collect(),
            accounts: accounts.collect(),
            new_model: path_with(&format!("{draft}/model"), &[("group", id)]),
            new_account: path_with(&format!("{draft}/account"), &[("group", id)]),
            numbers: limit_fields::numbers(),
            budgets: limit_fields::budgets(),
            fields,
            draft,
        },
        failed,
    )
}

/// The form of a group, or for a new one.
pub async fn group(
    Visit { state, signed_in }: Visit,
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
) -> PageResult {
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let id = named(query.as_deref(), "group");
    let (fields, problems) = match find(&edited.document, &id) {
        Some((at, group)) => (
            fields_of(group),
            editing::said_of(&state, &signed_in.caller, &draft, &format!("groups[{at}]")).await?,
        ),
        None if id.is_empty() => (
            Fields::default()
                .with("clients", "current")
                .with("multiplier", "1.0000"),
            FieldProblems::default(),
        ),
        None => return Err(crate::cases::ApiProblem::not_found().into()),
    };
    let fields = fields.with(THEN, named(query.as_deref(), THEN));
    let shown = GroupFormShown {
        fields,
        problems,
        failed: false,
        differences: Vec::new(),
    };
    show(&signed_in, &edited, &id, shown)
}

/// Changes a group, adds one, or removes one.
pub async fn save_group(
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
    sent: SignedForm,
) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let id = named(query.as_deref(), "group");
    let new_id = fields.get("id").to_owned();
    let is_removal = fields.is_set("remove");
    let edit = |document: &mut Value, problems: &mut FieldProblems| {
        if is_removal {
            members::remove(document, "groups", &id);
            return;
        }
        if new_id != id && find(document, &new_id).is_some() {
            problems.push("id", text!("is another group's"));
            return;
        }
        if find(document, &id).is_none() {
            let new = json!({"id": new_id, "protocol": fields.get("protocol"), "models": []});
            members::add(document, "groups", new);
        }
        let of = if find(document, &id).is_some() {
            &id
        } else {
            &new_id
        };
        let group = members::item(document, "groups", of).and_then(Value::as_object_mut);
        if let Some(group) = group {
            put(group, &fields, problems);
        }
    };
    match editing::save(&state, &signed_in.caller, edited, &fields, edit).await? {
        FormOutcome::Saved if is_removal => Ok(done(&format!("/drafts/{draft}"), Notice::Removed)),
        FormOutcome::Saved if fields.get(THEN) == DRAFT => {
            Ok(done(&format!("/drafts/{draft}"), Notice::Saved))
        }
        FormOutcome::Saved => {
            let path = path_with(&format!("/drafts/{draft}/group"), &[("group", &new_id)]);
            Ok(done(&path, Notice::Saved))
        }
        FormOutcome::Refused(problems, differences) => {
            let edited = editing::open(&state, &signed_in, &draft).await?;
            show(
                &signed_in,
                &edited,
                &id,
                GroupFormShown {
                    fields,
                    problems,
                    failed: true,
                    differences,
                },
            )
        }
    }
}

/// Takes what a form says of a group.
fn put(group: &mut Map<String, Value>, fields: &Fields, problems: &mut FieldProblems) {
    for name in ["id", "name", "clients"] {
        members::put_text(group, name, fields.get(name));
    }
    let protocol = group
        .get("protocol")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    for (gate, _, of) in GATES {
        if of == protocol {
            members::put_switch(group, gate, fields.is_set(gate), false);
        }
    }
    members::put_limits(group, fields, problems);
    if protocol != "Mixed" {
        members::put_text(group, "multiplier", fields.get("multiplier"));
        members::put_text(group, "cluster", fields.get("cluster"));
        sequence_fields::put_fallback(group, fields);
        return;
    }
    members::put_text(group, "lists", fields.get("lists"));
    let before = Value::Object(group.clone());
    let mut entries = members::taken(group, "entries");
    for (name, ..) in ENTRIES {
        let mut entry = members::taken(&mut entries, name);
        let ticked = |of: &EntrySource| {
            let value = format!("{name} {}", of.source);
            fields.all("source").any(|set| set == value)
        };
        let mut sources = entry_sources(&Value::Object(entry.clone()));
        sources.retain(ticked);
        let removed = |source: &str| {
            let was = before.get("entries").and_then(|entries| entries.get(name));
            let mut was = was.map(entry_sources).unwrap_or_default().into_iter();
            was.any(|of| of.source == source)
        };
        // A model that is ticked brings its source along, unless that is what was taken out.
        for set in fields.all("source").chain(fields.all("model")) {
            let Some((_, of)) = set.split_once(' ').filter(|(entry, _)| *entry == name) else {
                continue;
            };
            let source = of.split_once(' ').map_or(of, |(source, _)| source);
            let is_known = sources.iter().any(|known| known.source == source);
            if !is_known && !removed(source) {
                let (source, extra) = (source.to_owned(), String::new());
                sources.push(EntrySource { source, extra });
            }
        }
        for of in &mut sources {
            of.extra = fields.get(&extra_of(name, &of.source)).to_owned();
        }
        if !sources.is_empty() {
            put_entry_sources(&mut entry, sources);
            sequence_fields::put_order(&mut entry, name, fields);
            entries.insert(name.to_owned(), Value::Object(entry));
        }
    }
    let models: Vec<Value> = fields
        .all("model")
        .filter_map(|set| ticked_model(set, &before, &entries))
        .collect();
    group.insert("entries".to_owned(), Value::Object(entries));
    group.insert("models".to_owned(), models.into());
}

/// A model that is ticked: as it was `before`, or anew. `None` where its entry has not its source any more.
fn ticked_model(set: &str, before: &Value, entries: &Map<String, Value>) -> Option<Value> {
    let (entry, rest) = set.split_once(' ')?;
    let (source, id) = rest.split_once(' ')?;
    let sources = entry_sources(entries.get(entry)?);
    if !sources.iter().any(|of| of.source == source) {
        return None;
    }
    let known = items(before, "models").iter().find(|model| {
        text_at(model, "id") == id
            && text_at(model, "entry") == entry
            && source_of(before, model).as_deref() == Some(source)
    });
    let mut model = match known {
        Some(known) => known.as_object()?.clone(),
        None => Map::from_iter([
            ("id".to_owned(), id.into()),
            ("entry".to_owned(), entry.into()),
        ]),
    };
    if sources.len() > 1 && !model.contains_key("sources") {
        model.insert("source".to_owned(), source.into());
    }
    Some(Value::Object(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_saved_as_it_is_changes_nothing() {
        let sample = include_str!("../../../../envoy/gateway.json");
        let sample: Value = serde_json::from_str(sample).unwrap();
        for group in items(&sample, "groups") {
            let mut after = group.clone();
            let mut problems = FieldProblems::default();
            put(
                after.as_object_mut().unwrap(),
                &fields_of(group),
                &mut problems,
            );
            assert!(problems.is_empty());
            let found = crate::documents::differences(group, &after);
            assert_eq!(found, [], "{}", text_at(group, "id"));
        }
    }

    #[test]
    fn a_mixed_group_has_what_is_ticked() {
        let one = json!({"id": "m", "protocol": "Mixed", "entries": {"responses": {"source": "a"}},
            "models": [{"id": "y", "entry": "responses"}]});
        let two = json!({"id": "m", "protocol": "Mixed", "entries": {"responses": {"sources": [{"source": "a"}, {"source": "c"}]}},
            "models": [{"id": "y", "entry": "responses", "source": "a"}, {"id": "z", "entry": "responses", "source": "c"}]});
        for (case, before, form, want) in [
            (
                "another entry",
                &one,
                "source=vb_messages+b&entries.vb_messages.b.extra_multiplier=0.5&model=vb_messages+b+x",
                json!({"id": "m", "protocol": "Mixed", "entries": {"vb_messages": {"source": "b", "extra_multiplier": "0.5"}},
                    "models": [{"id": "x", "entry": "vb_messages"}]}),
            ),
            (
                "a second source",
                &one,
                "source=responses+a&model=responses+a+y&model=responses+c+z",
                two.clone(),
            ),
            (
                "one of two, and a model of the other",
                &two,
                "source=responses+c&model=responses+a+y&model=responses+c+z",
                json!({"id": "m", "protocol": "Mixed", "entries": {"responses": {"sources": [{"source": "c"}]}},
                    "models": [{"id": "z", "entry": "responses", "source": "c"}]}),
            ),
            (
                "lists",
                &one,
                "lists=by_protocol&source=responses+a&model=responses+a+y",
                json!({"id": "m", "protocol": "Mixed", "lists": "by_protocol", "entries": {"responses": {"source": "a"}},
                    "models": [{"id": "y", "entry": "responses"}]}),
            ),
        ] {
            let mut group = before.clone();
            put(
                group.as_object_mut().unwrap(),
                &Fields::parse(format!("id=m&{form}").as_bytes()),
                &mut FieldProblems::default(),
            );
            assert_eq!(group, want, "{case}");
        }
        for group in [one, two] {
            let mut after = group.clone();
            let problems = &mut FieldProblems::default();
            put(after.as_object_mut().unwrap(), &fields_of(&group), problems);
            assert_eq!(after, group, "saved as it is");
        }
    }
}
