//! Two at once: every route that changes something, against those that change the same. Whatever comes of it must be what would
//! have come of it one after the other, in some order: so nothing that was answered 2xx is lost, and of several with one revision
//! one wins.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG};
use http::{Method, Request};
use serde_json::{Value, json};
use trilane_console::api::{OPEN, ROUTES};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::{TestDatabase, on_both};
use crate::ledger::line;

/// The number of rounds of each race: `make races` runs more.
fn rounds() -> usize {
    let asked = std::env::var("TRILANE_RACE_ROUNDS");
    asked.map_or(8, |rounds| rounds.parse().unwrap())
}

/// A request. In its texts `<name>` stands for what was kept under this name, and `<n>` for what no other run of a race has.
#[derive(Debug, Clone)]
struct RaceStep {
    route: &'static str,
    path: String,
    by: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: Value,
    keep: Vec<(&'static str, &'static str)>,
    shown: LookedAt,
}

/// The part of an answer that is looked at, beside its status.
#[derive(Debug, Clone)]
enum LookedAt {
    Status,
    /// These places.
    Places(&'static [&'static str]),
    /// Counts the list's items that have this text.
    Count(&'static str),
}

/// A request to a route, whose parameters are given in their order.
fn step(route: &'static str, parameters: &[&str]) -> RaceStep {
    let (_, path) = route.split_once(' ').unwrap();
    let mut parameters = parameters.iter();
    let parts = path.split('/').map(|part| match part.strip_prefix('{') {
        Some(_) => (*parameters.next().unwrap()).to_owned(),
        None => part.to_owned(),
    });
    let path = parts.collect::<Vec<_>>().join("/");
    let query = parameters.next().map_or("", |query| query);
    RaceStep {
        route,
        path: format!("{path}{query}"),
        by: "admin",
        headers: Vec::new(),
        body: Value::Null,
        keep: Vec::new(),
        shown: LookedAt::Status,
    }
}

impl RaceStep {
    fn body(mut self, body: Value) -> Self {
        self.body = body;
        self
    }

    fn by(mut self, whom: &'static str) -> Self {
        self.by = whom;
        self
    }

    fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    fn keep(mut self, name: &'static str, place: &'static str) -> Self {
        self.keep.push((name, place));
        self
    }

    fn places(mut self, places: &'static [&'static str]) -> Self {
        self.shown = LookedAt::Places(places);
        self
    }

    fn count(mut self, text: &'static str) -> Self {
        self.shown = LookedAt::Count(text);
        self
    }

    fn method(&self) -> Method {
        self.route.split_once(' ').unwrap().0.parse().unwrap()
    }
}

/// Requests that are sent at once, what there is before them, and what is looked at afterwards.
#[derive(Debug)]
struct Race {
    name: &'static str,
    before: Vec<RaceStep>,
    rivals: Vec<RaceStep>,
    after: Vec<RaceStep>,
}

fn race(
    name: &'static str,
    before: Vec<RaceStep>,
    rivals: Vec<RaceStep>,
    after: Vec<RaceStep>,
) -> Race {
    Race {
        name,
        before,
        rivals,
        after,
    }
}

/// The outcome of a race: the status of each rival, then what was looked at.
type RaceOutcome = (Vec<u16>, Vec<String>);

type KeptValues = BTreeMap<String, String>;

/// A document in which keys, accounts and credentials of all races have their place.
fn document() -> String {
    json!({"currency": "USD", "keys": [], "groups": [{"id": "g", "name": "G", "protocol": "B", "multiplier": "1.0000",
        "accounts": [{"id": "a", "url": "https://vendor.example", "credential": "main"}],
        "models": [{"id": "m", "prices": {"input": "1", "output": "2"}}]}]})
    .to_string()
}

fn new_key(body: Value) -> RaceStep {
    let mut whole = json!({"id": "k<n>", "group": "g", "owner": "ann"});
    whole
        .as_object_mut()
        .unwrap()
        .extend(body.as_object().unwrap().clone());
    step("POST /api/v1/keys", &[])
        .body(whole)
        .keep("old", "/value")
        .keep("revision", "/key/revision")
}

fn change_key(body: Value) -> RaceStep {
    step("PATCH /api/v1/keys/{id}", &["k<n>"]).body(body)
}

fn rotate_key(seconds: u32) -> RaceStep {
    step("POST /api/v1/keys/{id}/rotate", &["k<n>"])
        .body(json!({"overlap_seconds": seconds}))
        .keep("new", "/value")
}

/// Changes the keys of a team, if they are so many.
fn change_keys(change: Value, expected: u32) -> RaceStep {
    step("POST /api/v1/keys/bulk", &[])
        .body(json!({"filter": {"team": "t<n>"}, "change": change, "expected": expected}))
}

/// Shows two keys.
fn keys_seen() -> Vec<RaceStep> {
    let other = step("GET /api/v1/keys/{id}", &["l<n>"]).places(&[
        "/disabled",
        "/owner",
        "/team",
        "/limits",
    ]);
    [key_seen(), vec![other]].concat()
}

/// Shows a key, and whether its values are valid.
fn key_seen() -> Vec<RaceStep> {
    vec![
        step("GET /api/v1/keys/{id}", &["k<n>"]).places(&[
            "/label",
            "/disabled",
            "/owner",
            "/team",
            "/limits",
            "/group",
        ]),
        step("GET /api/v1/me/key", &[])
            .by("old")
            .places(&["/key/disabled"]),
        step("GET /api/v1/me/key", &[])
            .by("new")
            .places(&["/key/disabled"]),
    ]
}

fn new_person(body: Value) -> RaceStep {
    let mut whole = json!({"id": "p<n>", "name": "", "role": "member"});
    whole
        .as_object_mut()
        .unwrap()
        .extend(body.as_object().unwrap().clone());
    step("POST /api/v1/people", &[]).body(whole)
}

fn new_people(ids: &[&str]) -> RaceStep {
    let people = ids
        .iter()
        .map(|id| json!({"id": id, "name": "", "role": "member"}));
    let people: Vec<Value> = people.collect();
    step("POST /api/v1/people/bulk", &[]).body(json!({"people": people}))
}

fn change_person(body: Value) -> RaceStep {
    step("PATCH /api/v1/people/{id}", &["p<n>"]).body(body)
}

fn new_token() -> RaceStep {
    step("POST /api/v1/tokens", &[])
        .body(json!({"name": "of <n>", "person": "p<n>"}))
        .keep("token", "/value")
        .keep("token_id", "/token/id")
}

fn new_link(keep: &'static str) -> RaceStep {
    step("POST /api/v1/people/{id}/sign-in-link", &["p<n>"]).keep(keep, "/path")
}

/// Signs in with a link; the status says whether it is good.
fn use_link(link: &'static str) -> RaceStep {
    step("POST /sign-in/link", &[]).by(link)
}

fn new_team(body: Value) -> RaceStep {
    let mut whole = json!({"id": "t<n>"});
    whole
        .as_object_mut()
        .unwrap()
        .extend(body.as_object().unwrap().clone());
    step("POST /api/v1/teams", &[]).body(whole)
}

fn change_team(body: Value) -> RaceStep {
    step("PATCH /api/v1/teams/{id}", &["t<n>"]).body(body)
}

fn member(body: Value) -> RaceStep {
    step("PUT /api/v1/teams/{id}/members/{person}", &["t<n>", "ann"]).body(body)
}

fn no_member() -> RaceStep {
    step(
        "DELETE /api/v1/teams/{id}/members/{person}",
        &["t<n>", "ann"],
    )
}

fn member_budget(body: Value) -> RaceStep {
    step(
        "PUT /api/v1/teams/{id}/members/{person}/budget",
        &["t<n>", "ann"],
    )
    .body(body)
}

fn no_member_budget() -> RaceStep {
    step(
        "DELETE /api/v1/teams/{id}/members/{person}/budget",
        &["t<n>", "ann"],
    )
}

fn member_budget_seen() -> Vec<RaceStep> {
    vec![step("GET /api/v1/budgets/{kind}/{id}", &["member", "ann@t<n>"]).places(&["/budget"])]
}

fn order_key() -> RaceStep {
    step("POST /api/v1/people/{id}/ordered-keys", &["ann"])
        .body(json!({"group": "g", "label": "L<n>"}))
        .keep("order", "/id")
}

fn take_key() -> RaceStep {
    step("POST /api/v1/me/ordered-keys/{id}/take", &["<order>"]).by("ann")
}

fn cancel_key() -> RaceStep {
    step(
        "DELETE /api/v1/people/{id}/ordered-keys/{order}",
        &["ann", "<order>"],
    )
}

fn order_seen() -> Vec<RaceStep> {
    vec![
        step(
            "GET /api/v1/people/{id}/ordered-keys",
            &["ann", "?limit=500"],
        )
        .count("L<n>"),
        step("GET /api/v1/keys", &["?search=L<n>&limit=500"]).count("L<n>"),
    ]
}

fn team_seen() -> Vec<RaceStep> {
    vec![
        step("GET /api/v1/teams/{id}", &["t<n>"]).places(&["/name", "/allowance"]),
        step("GET /api/v1/teams/{id}/members", &["t<n>"])
            .places(&["/items/0/person", "/items/0/manager"]),
    ]
}

fn new_draft() -> RaceStep {
    step("POST /api/v1/drafts", &[])
        .body(json!({"body": document(), "note": "of <n>"}))
        .keep("draft", "/id")
}

fn change_draft(note: &str) -> RaceStep {
    let body = json!({"note": note});
    step("PUT /api/v1/drafts/{id}", &["<draft>"])
        .body(body)
        .header("if-match", "\"1\"")
}

fn publish_draft() -> RaceStep {
    step("POST /api/v1/drafts/{id}/publish", &["<draft>"]).header("if-match", "\"1\"")
}

fn remove_draft() -> RaceStep {
    step("DELETE /api/v1/drafts/{id}", &["<draft>"]).header("if-match", "\"1\"")
}

fn draft_seen() -> Vec<RaceStep> {
    vec![
        step("GET /api/v1/drafts/{id}", &["<draft>"]).places(&["/note", "/revision"]),
        step("GET /api/v1/documents", &[]).count("of <n>"),
    ]
}

fn set_budget(body: Value) -> RaceStep {
    step("PUT /api/v1/budgets/{kind}/{id}", &["owner", "o<n>"]).body(body)
}

fn no_budget() -> RaceStep {
    step("DELETE /api/v1/budgets/{kind}/{id}", &["owner", "o<n>"])
}

fn budget_seen() -> Vec<RaceStep> {
    vec![step("GET /api/v1/budgets/{kind}/{id}", &["owner", "o<n>"]).places(&["/budget"])]
}

fn new_envoy() -> RaceStep {
    step("POST /api/v1/envoys", &[])
        .body(json!({"id": "e<n>"}))
        .keep("enrolment", "/token")
}

fn let_enrol(keep: &'static str) -> RaceStep {
    step("POST /api/v1/envoys/{id}/enrolment", &["e<n>"]).keep(keep, "/token")
}

fn enrol(with: &'static str) -> RaceStep {
    step("POST /api/v1/enrol", &[])
        .body(json!({"token": with}))
        .by("nobody")
}

fn revoke() -> RaceStep {
    step("DELETE /api/v1/envoys/{id}", &["e<n>"])
}

fn envoy_seen() -> Vec<RaceStep> {
    vec![step("GET /api/v1/envoys/{id}", &["e<n>"]).places(&["/state", "/name", "/report/version"])]
}

fn put_credential(url: &str) -> RaceStep {
    let body = json!({"value": "sk-0123456789", "destinations": [{"url": url}]});
    step("PUT /api/v1/credentials/{name}", &["c<n>"]).body(body)
}

fn credentials_seen() -> Vec<RaceStep> {
    vec![step("GET /api/v1/credentials", &[]).count("c<n>")]
}

fn put_vendor(group: &str) -> RaceStep {
    let body = json!({"vendor": "openai", "url": "https://vendor.example/v1", "no_credential": true,
        "models": [{"id": "m", "prices": {"input": "1", "output": "2"}}]});
    step("PUT /api/v1/setup/vendors/{group}", &[group])
        .body(body)
        .keep(
            if group == "v<n>" {
                "vendor"
            } else {
                "other_vendor"
            },
            "/revision",
        )
}

fn no_vendor(group: &str) -> RaceStep {
    step("DELETE /api/v1/setup/vendors/{group}", &[group])
}

fn vendors_seen() -> Vec<RaceStep> {
    vec![
        step("GET /api/v1/drafts/{id}", &["first-run"]).places(&[]),
        step("GET /api/v1/setup", &[]).places(&["/vendors/0/group", "/vendors/1/group"]),
        // The next run begins with none.
        no_vendor("v<n>"),
        no_vendor("w<n>"),
    ]
}

fn new_webhook() -> RaceStep {
    step("POST /api/v1/webhooks", &[])
        .body(json!({"url": "https://hook.example/<n>"}))
        .header("idempotency-key", "hook <n>")
        .keep("hook", "/webhook/id")
}

/// Adds or changes an identity provider, as its revision was seen.
fn provider(id: &str, client: &str, revision: u32) -> RaceStep {
    step("PUT /api/v1/identity-providers/{id}", &[id])
        .body(json!({"issuer": "https://127.0.0.1:1", "client_id": client, "revision": revision}))
}

fn client_settings(model: &str) -> RaceStep {
    step("PUT /api/v1/client-settings", &[]).body(json!({"settings": {"model": model}}))
}

fn no_provider(id: &str) -> RaceStep {
    step("DELETE /api/v1/identity-providers/{id}", &[id])
}

/// Shows a provider, and removes it: the next run begins with none.
fn provider_seen() -> Vec<RaceStep> {
    let seen = step("GET /api/v1/identity-providers/{id}", &["i<n>"]);
    vec![seen.places(&["/revision", "/enabled"]), no_provider("i<n>")]
}

fn own_key() -> RaceStep {
    step("POST /api/v1/me/keys", &[])
        .body(json!({"team": "t<n>", "group": "g"}))
        .by("ann")
        .keep("own", "/key/id")
        .keep("old", "/value")
}

fn change_own(body: Value) -> RaceStep {
    step("PATCH /api/v1/me/keys/{id}", &["<own>"])
        .body(body)
        .by("ann")
}

fn rotate_own(seconds: u32) -> RaceStep {
    step("POST /api/v1/me/keys/{id}/rotate", &["<own>"])
        .body(json!({"overlap_seconds": seconds}))
        .by("ann")
        .keep("new", "/value")
}

fn team_of_ann(keys: u32) -> Vec<RaceStep> {
    vec![
        new_team(json!({"allowance": {"keys": keys, "groups": ["g"]}})),
        member(json!({})),
    ]
}

fn own_seen() -> Vec<RaceStep> {
    let mut seen = vec![
        step("GET /api/v1/me/keys", &["?limit=500"])
            .by("ann")
            .count("t<n>"),
        step("GET /api/v1/keys/{id}", &["<own>"]).places(&["/label", "/disabled"]),
    ];
    seen.extend(key_seen().into_iter().skip(1));
    seen
}

fn ledger(file: &str, from: usize, text: &str) -> RaceStep {
    step(
        "POST /api/v1/ledger/{envoy}/{file}",
        &["e", file, &format!("?from={from}")],
    )
    .body(json!(text))
}

fn races() -> Vec<Race> {
    let two_lines = [
        line("2026-11-24T11:00:00Z", "l<n>", "m", "1"),
        line("2026-11-24T11:00:01Z", "l<n>", "m", "2"),
    ]
    .concat();
    vec![
        race("a key is disabled and named", vec![new_key(json!({}))],
            vec![change_key(json!({"disabled": true})), change_key(json!({"label": "laptop"}))], key_seen()),
        race("a key is rotated and named", vec![new_key(json!({}))], vec![rotate_key(0), change_key(json!({"label": "laptop"}))], key_seen()),
        race("a key is rotated with an overlap and disabled", vec![new_key(json!({}))],
            vec![rotate_key(3600), change_key(json!({"disabled": true}))], key_seen()),
        race("a key that leaked is rotated as its old value is ended", vec![new_key(json!({})), rotate_key(3600).keep("middle", "/value")],
            vec![step("POST /api/v1/keys/{id}/rotate", &["k<n>"]).body(json!({"reason": "leaked"})).keep("new", "/value"),
                step("DELETE /api/v1/keys/{id}/old-values", &["k<n>"])],
            [key_seen(), vec![step("GET /api/v1/me/key", &[]).by("middle")]].concat()),
        race("an old value is ended twice", vec![new_key(json!({})), rotate_key(3600)],
            vec![step("DELETE /api/v1/keys/{id}/old-values", &["k<n>"]), step("DELETE /api/v1/keys/{id}/old-values", &["k<n>"])], key_seen()),
        race("one's own old value is ended as the key is rotated", [team_of_ann(3), vec![own_key(), rotate_own(3600)]].concat(),
            vec![step("DELETE /api/v1/me/keys/{id}/old-values", &["<own>"]).by("ann"), step("DELETE /api/v1/me/keys/{id}/old-values", &["<own>"]).by("ann")], own_seen()),
        race("a key is found by its value as it is named", vec![new_key(json!({}))],
            vec![step("POST /api/v1/keys/find", &[]).body(json!({"value": "<old>"})), change_key(json!({"label": "laptop"}))], key_seen()),
        race("keys are changed at once as one of them is", vec![new_key(json!({"team": "t<n>"})), new_key(json!({"id": "l<n>", "team": "t<n>"}))],
            vec![change_keys(json!({"disabled": true}), 2), change_key(json!({"label": "laptop"}))], keys_seen()),
        race("keys are changed at once as one of them leaves", vec![new_key(json!({"team": "t<n>"})), new_key(json!({"id": "l<n>", "team": "t<n>"}))],
            vec![change_keys(json!({"limits": {"requests_per_minute": 1}}), 2), change_key(json!({"team": null}))], keys_seen()),
        race("keys are changed at once, twice", vec![new_key(json!({"team": "t<n>"})), new_key(json!({"id": "l<n>", "team": "t<n>"}))],
            vec![change_keys(json!({"owner": "bob"}), 2), change_keys(json!({"team": "u<n>"}), 2)], keys_seen()),
        race("a key is rotated twice", vec![new_key(json!({}))], vec![rotate_key(0), rotate_key(0)], key_seen()),
        race("four with one revision of a key", vec![new_key(json!({}))],
            ["a", "b", "c", "d"].map(|label| change_key(json!({"label": label, "revision": "<revision>"}))).to_vec(), key_seen()),
        race("a key gets another owner, limits and a team", vec![new_key(json!({}))],
            vec![change_key(json!({"owner": "bob"})), change_key(json!({"limits": {"requests_per_minute": 1}})), change_key(json!({"team": "blue"}))],
            key_seen()),
        race("a key is removed and named", vec![new_key(json!({}))],
            vec![step("DELETE /api/v1/keys/{id}", &["k<n>"]), change_key(json!({"label": "laptop"}))], key_seen()),
        race("a key is removed twice", vec![new_key(json!({}))],
            vec![step("DELETE /api/v1/keys/{id}", &["k<n>"]), step("DELETE /api/v1/keys/{id}", &["k<n>"])], key_seen()),
        race("an id is given to two keys", vec![], vec![new_key(json!({"label": "a"})), new_key(json!({"label": "a"}))], key_seen()),
        race("the last key that a team allows is made twice", team_of_ann(1), vec![own_key(), own_key()], own_seen()),
        race("one's own key is disabled and named", [team_of_ann(1), vec![own_key()]].concat(),
            vec![change_own(json!({"disabled": true})), change_own(json!({"label": "laptop"}))], own_seen()),
        race("one's own key is rotated and disabled", [team_of_ann(2), vec![own_key()]].concat(),
            vec![rotate_own(3600), change_own(json!({"disabled": true})), rotate_own(3600)], own_seen()),
        race("a member makes a key and leaves", team_of_ann(1), vec![own_key(), no_member()], own_seen()),
        race("a key that is ordered is taken twice", vec![order_key()], vec![take_key(), take_key()], order_seen()),
        race("a key that is ordered is taken as the order is cancelled", vec![order_key()], vec![take_key(), cancel_key()], order_seen()),
        race("an order is cancelled twice", vec![order_key()], vec![cancel_key(), cancel_key()], order_seen()),
        race("two keys are ordered with one label", vec![], vec![order_key(), order_key()],
            vec![step("GET /api/v1/people/{id}/ordered-keys", &["ann", "?limit=500"]).count("L<n>"), cancel_key()]),
        race("a key that no document has is disabled", vec![],
            [1, 2].map(|_| step("POST /api/v1/documents/current/keys/{id}/disable", &["n<n>"])).to_vec(), vec![]),
        race("a member's budget is set and taken", [team_of_ann(1), vec![member_budget(json!({"per_day": "1"}))]].concat(),
            vec![member_budget(json!({"per_month": "5"})), no_member_budget()], member_budget_seen()),
        race("a member's budget is set as the member leaves", team_of_ann(1),
            vec![member_budget(json!({"per_month": "5"})), no_member()], member_budget_seen()),
        race("a member's budget is set as the allowance changes", team_of_ann(1),
            vec![member_budget(json!({"per_month": "5"})), change_team(json!({"allowance": {"keys": 2, "groups": ["g"], "limits": {"budget": {"per_day": "3"}}}}))],
            member_budget_seen()),
        race("an owner's budget is set and taken", vec![set_budget(json!({"per_day": "1"}))],
            vec![set_budget(json!({"per_month": "5"})), no_budget()], budget_seen()),
        race("an owner's budget is taken twice", vec![set_budget(json!({"per_day": "1"}))], vec![no_budget(), no_budget()], budget_seen()),
        race("a webhook is added once, and once more", vec![], vec![new_webhook(), new_webhook()],
            vec![step("GET /api/v1/webhooks", &["?limit=500"]).count("/<n>"), step("DELETE /api/v1/webhooks/{id}", &["<hook>"])]),
        race("an identity provider is added twice", vec![], vec![provider("i<n>", "a", 0), provider("i<n>", "a", 0)], provider_seen()),
        race("four with one revision of an identity provider", vec![provider("i<n>", "z", 0)],
            ["a", "b", "c", "d"].map(|client| provider("i<n>", client, 1)).to_vec(), provider_seen()),
        race("an identity provider is changed, read and removed", vec![provider("i<n>", "a", 0)],
            vec![provider("i<n>", "b", 1), no_provider("i<n>"), step("POST /api/v1/identity-providers/{id}/test", &["i<n>"])], provider_seen()),
        race("passwords stay on", vec![], [true, true].map(|on| step("PUT /api/v1/sign-in", &[]).body(json!({"passwords": on}))).to_vec(),
            vec![step("GET /api/v1/sign-in", &[]).places(&["/passwords"])]),
        race("a person is unlinked who has no identity", vec![new_person(json!({}))],
            ["idp", "idp"].map(|of| step("DELETE /api/v1/people/{id}/identities/{provider}", &["p<n>", of])).to_vec(), vec![]),
        race("settings of clients are written twice and removed", vec![],
            vec![client_settings("a"), client_settings("b"), step("DELETE /api/v1/client-settings", &[])],
            vec![step("GET /api/v1/client-settings", &[]).places(&["/settings"]), step("DELETE /api/v1/client-settings", &[])]),
        race("a webhook is removed twice", vec![new_webhook()],
            vec![step("DELETE /api/v1/webhooks/{id}", &["<hook>"]), step("DELETE /api/v1/webhooks/{id}", &["<hook>"])], vec![]),
        race("a webhook is tested as it is removed", vec![new_webhook()],
            vec![step("POST /api/v1/webhooks/{id}/test", &["<hook>"]), step("DELETE /api/v1/webhooks/{id}", &["<hook>"])], vec![]),
        race("a version is published again by three", vec![step("GET /api/v1/documents/current", &[]).keep("version", "/version").keep("seen", "ETag")],
            ["a", "b", "c"].map(|note| step("POST /api/v1/documents/{version}/publish", &["<version>"])
                .body(json!({"note": format!("{note} of <n>")})).header("if-match", "<seen>")).to_vec(),
            vec![step("GET /api/v1/documents", &[]).count("of <n>")]),
        race("a draft is begun once, and once more", vec![],
            vec![new_draft().header("idempotency-key", "draft <n>"), new_draft().header("idempotency-key", "draft <n>")],
            vec![step("GET /api/v1/drafts", &["?limit=500"]).count("of <n>"), remove_draft()]),
        race("four with one revision of a draft", vec![new_draft()], ["a", "b", "c", "d"].map(change_draft).to_vec(), draft_seen()),
        race("a draft is changed and published", vec![new_draft()], vec![change_draft("b"), publish_draft()], draft_seen()),
        race("a draft is removed and published", vec![new_draft()], vec![remove_draft(), publish_draft()], draft_seen()),
        race("a document is checked as a draft is published", vec![new_draft()],
            vec![step("POST /api/v1/documents/check", &[]).body(json!({"body": "{}"})), publish_draft()], draft_seen()),
        race("a draft is published twice", vec![new_draft()], vec![publish_draft(), publish_draft()], draft_seen()),
        race("an id is given to two people", vec![], vec![new_person(json!({"role": "viewer"})), new_person(json!({}))],
            vec![step("GET /api/v1/people", &["?limit=500"]).count("\"p<n>\"")]),
        race("people are added together as one of them is alone", vec![],
            vec![new_people(&["p<n>", "q<n>"]), new_person(json!({}))],
            vec![step("GET /api/v1/people", &["?limit=500"]).count("link_until"), change_person(json!({}))]),
        race("people are added together twice", vec![], vec![new_people(&["p<n>", "q<n>"]), new_people(&["q<n>", "p<n>"])],
            vec![step("GET /api/v1/people", &["?limit=500"]).count("link_until")]),
        race("a person is named and gets another role", vec![new_person(json!({}))],
            vec![change_person(json!({"name": "Pat"})), change_person(json!({"role": "viewer"})), change_person(json!({"disabled": true}))],
            vec![change_person(json!({})).places(&["/name", "/role", "/disabled"])]),
        race("a person's notices are chosen by two", vec![new_person(json!({})), new_token()],
            vec![step("PATCH /api/v1/me/notices", &[]).body(json!({"email": "a@example.com"})).by("token"),
                step("PATCH /api/v1/people/{id}/notices", &["p<n>"]).body(json!({"budgets": false}))],
            vec![step("GET /api/v1/people/{id}/notices", &["p<n>"]).places(&["/email", "/budgets"])]),
        race("a person is disabled and gets a token", vec![new_person(json!({}))],
            vec![change_person(json!({"disabled": true})), new_token()],
            vec![change_person(json!({"disabled": false})), step("GET /api/v1/me", &[]).by("token")]),
        race("a person is disabled and gets a key", vec![new_person(json!({}))],
            vec![change_person(json!({"disabled": true})), new_key(json!({"owner": "p<n>"}))], key_seen()),
        race("a person is disabled, and a key theirs", vec![new_person(json!({})), new_key(json!({}))],
            vec![change_person(json!({"disabled": true})), change_key(json!({"owner": "p<n>"}))], key_seen()),
        race("a person is disabled, and their key enabled", vec![new_person(json!({})), new_key(json!({"owner": "p<n>", "disabled": true}))],
            vec![change_person(json!({"disabled": true})), change_key(json!({"disabled": false}))], key_seen()),
        race("a person is disabled, and their key rotated", vec![new_person(json!({})), new_key(json!({"owner": "p<n>"}))],
            vec![change_person(json!({"disabled": true})), rotate_key(3600)], key_seen()),
        race("a person is disabled and enabled, and their key disabled", vec![new_person(json!({})), new_key(json!({"owner": "p<n>"}))],
            vec![change_person(json!({"disabled": true})), change_person(json!({"disabled": false})), change_key(json!({"disabled": true}))], key_seen()),
        race("a person gets another role and a token", vec![new_person(json!({}))],
            vec![change_person(json!({"role": "viewer"})), new_token()], vec![step("GET /api/v1/me", &[]).by("token").places(&["/role"])]),
        race("a person's data is erased, and the person named", vec![new_person(json!({}))],
            vec![step("DELETE /api/v1/people/{id}/data", &["p<n>"]), change_person(json!({"name": "Pat"}))],
            vec![change_person(json!({}))]),
        race("a person's data is erased, and a token made", vec![new_person(json!({}))],
            vec![step("DELETE /api/v1/people/{id}/data", &["p<n>"]), new_token()], vec![step("GET /api/v1/me", &[]).by("token")]),
        race("a person's data is erased, and a key made", vec![new_person(json!({}))],
            vec![step("DELETE /api/v1/people/{id}/data", &["p<n>"]), new_key(json!({"owner": "p<n>"}))],
            vec![step("GET /api/v1/keys/{id}", &["k<n>"])]),
        race("a person is disabled and invited", vec![new_person(json!({}))],
            vec![change_person(json!({"disabled": true})), new_link("link")], vec![change_person(json!({"disabled": false})), use_link("link")]),
        race("a person is invited twice", vec![new_person(json!({}))], vec![new_link("link"), new_link("other_link")],
            vec![step("GET /api/v1/people", &["?limit=500"]).count("link_until"), use_link("link"), use_link("other_link")]),
        race("an invitation is revoked twice", vec![new_person(json!({})), new_link("link")],
            [1, 2].map(|_| step("DELETE /api/v1/people/{id}/sign-in-link", &["p<n>"])).to_vec(), vec![use_link("link")]),
        // With a sign-in that there is they race in client_sign_ins.rs.
        race("a sign-in that is not there is ended twice", vec![new_person(json!({}))],
            vec![step("DELETE /api/v1/me/sign-ins/{id}", &["none"]), step("DELETE /api/v1/people/{id}/sign-ins/{sign_in}", &["p<n>", "none"])],
            vec![step("GET /api/v1/people/{id}/sign-ins", &["p<n>"]).count("none")]),
        race("an id is given to two teams", vec![], vec![new_team(json!({"name": "a"})), new_team(json!({"name": "a"}))], team_seen()),
        race("a team is named and gets an allowance", vec![new_team(json!({}))],
            vec![change_team(json!({"name": "Blue"})), change_team(json!({"allowance": {"keys": 1, "groups": ["g"]}}))], team_seen()),
        race("a team is removed and gets a member", vec![new_team(json!({}))],
            vec![step("DELETE /api/v1/teams/{id}", &["t<n>"]), member(json!({}))], team_seen()),
        race("a member comes, becomes a manager, and leaves", team_of_ann(1),
            vec![member(json!({"manager": true})), no_member(), change_team(json!({"name": "Blue"}))], team_seen()),
        race("a member leaves twice", team_of_ann(1), vec![no_member(), no_member()], team_seen()),
        race("a token is removed twice", vec![new_person(json!({})), new_token()],
            [1, 2].map(|_| step("DELETE /api/v1/tokens/{id}", &["<token_id>"])).to_vec(), vec![step("GET /api/v1/me", &[]).by("token")]),
        race("an id is given to two Envoys", vec![], vec![new_envoy(), new_envoy()], envoy_seen()),
        race("an Envoy is revoked and let in again", vec![new_envoy()], vec![revoke(), let_enrol("second")],
            [envoy_seen(), vec![enrol("<enrolment>"), enrol("<second>")]].concat()),
        race("an agent enrols as its Envoy is revoked", vec![new_envoy()], vec![revoke(), enrol("<enrolment>").keep("agent", "/token")],
            [envoy_seen(), vec![step("GET /api/v1/me", &[]).by("agent")]].concat()),
        race("an enrolment token is used by three", vec![new_envoy()], [1, 2, 3].map(|_| enrol("<enrolment>")).to_vec(), envoy_seen()),
        race("an agent reports and its Envoy is revoked", vec![new_envoy()],
            vec![step("PUT /api/v1/envoys/{id}/report", &["e<n>"]).body(json!({"version": "1"})), revoke()], envoy_seen()),
        race("bytes of a ledger come twice, with more behind", vec![ledger("f<n>", 0, "\n")],
            vec![ledger("f<n>", 1, &two_lines), ledger("f<n>", 1, &two_lines)],
            vec![step("GET /api/v1/usage", &["?key=l<n>"]).places(&["/items/0/counts/requests", "/items/0/charge"]),
                step("GET /api/v1/ledger/{envoy}/{file}", &["e", "f<n>"]).places(&["/lines", "/aside"])]),
        race("the same lines are made void twice", vec![new_envoy()],
            ["2026-11-25", "2026-11-25", "2026-11-26"].map(|to| step("POST /api/v1/envoys/{id}/voids", &["e<n>"]).body(json!({"from": "2026-11-24", "to": to}))).to_vec(),
            vec![step("GET /api/v1/envoys/{id}/voids", &["e<n>"]).places(&["/items/0/to", "/items/1/to", "/items/2"])]),
        race("a credential is given twice and removed", vec![put_credential("https://a.example")],
            vec![put_credential("https://b.example"), step("DELETE /api/v1/credentials/{name}", &["c<n>"]), put_credential("https://c.example")],
            credentials_seen()),
        race("an account is tested twice", vec![],
            [1, 2].map(|_| step("POST /api/v1/accounts/{group}/{account}/test", &["g", "a"]).body(json!({}))).to_vec(),
            vec![step("GET /api/v1/account-tests", &[]).places(&["/items/0/outcome"])]),
        race("models are listed twice", vec![],
            [1, 2].map(|_| step("POST /api/v1/vendors/models", &[]).body(json!({"vendor": "openai", "url": "http://127.0.0.1:9/v1", "value": "sk-x"}))).to_vec(),
            vec![]),
        race("two vendors come into the first run", vec![], vec![put_vendor("v<n>"), put_vendor("w<n>")], vendors_seen()),
        race("a vendor comes twice", vec![], vec![put_vendor("v<n>"), put_vendor("v<n>")], vendors_seen()),
        race("a vendor leaves as another one comes", vec![put_vendor("v<n>")], vec![no_vendor("v<n>"), put_vendor("w<n>")], vendors_seen()),
    ]
}

/// A text with what was kept in its places.
fn filled(text: &str, kept: &KeptValues) -> String {
    let mut text = text.to_owned();
    for (name, value) in kept {
        text = text.replace(&format!("<{name}>"), value);
    }
    text
}

async fn send(api: &Api, step: &RaceStep, kept: &KeptValues) -> ApiReply {
    // What no rival has made is called by its name.
    let path = filled(&step.path, kept).replace(['<', '>'], "");
    if step.path == "/sign-in/link" {
        let link = kept
            .get(step.by)
            .map_or("", |path| path.split_once("token=").unwrap().1);
        let request = Request::post(path).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        return api
            .send(request.body(format!("token={link}").into()).unwrap())
            .await;
    }
    let token = kept.get(step.by).map_or("tlc-none", String::as_str);
    if step.route == "GET /api/v1/me/key" {
        // From an address of its own: an old value is an unknown key, and those are slowed.
        let run: u32 = kept["n"].trim_matches('x').parse().unwrap();
        let mut request = Request::get(path)
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .body(Body::empty())
            .unwrap();
        request
            .extensions_mut()
            .insert(ConnectInfo(SocketAddr::from((Ipv4Addr::from_bits(run), 1))));
        return api.send(request).await;
    }
    if let Value::String(bytes) = &step.body {
        return api.ledger(token, &path, &filled(bytes, kept)).await;
    }
    let headers: Vec<_> = step
        .headers
        .iter()
        .map(|(name, value)| (*name, filled(value, kept)))
        .collect();
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let body = filled(&step.body.to_string(), kept);
    let body = serde_json::from_str(&body).unwrap();
    api.call(token, step.method(), &path, &headers, &body).await
}

fn keep(step: &RaceStep, reply: &ApiReply, kept: &mut KeptValues) {
    if !reply.status.is_success() {
        return;
    }
    for (name, place) in &step.keep {
        let value = match *place {
            "ETag" => Some(reply.headers[ETAG].to_str().unwrap().replace('"', "\\\"")),
            place => match reply.json().pointer(place) {
                Some(Value::String(text)) => Some(text.clone()),
                found => found.map(Value::to_string),
            },
        };
        // What came again has no secret any more.
        if let Some(value) = value {
            kept.insert((*name).to_owned(), value);
        }
    }
}

fn seen(step: &RaceStep, reply: &ApiReply, kept: &KeptValues) -> String {
    let status = reply.status.as_u16();
    if !reply.status.is_success() {
        return format!("{} {status}", step.route);
    }
    let shown = match &step.shown {
        LookedAt::Status => String::new(),
        LookedAt::Places(places) => {
            let json = reply.json();
            let values = places
                .iter()
                .map(|place| format!("{place}: {}", json.pointer(place).unwrap_or(&Value::Null)));
            values.collect::<Vec<_>>().join(", ")
        }
        LookedAt::Count(text) => {
            let text = filled(text, kept);
            let items = reply.json()["items"].as_array().unwrap().clone();
            let has = items.iter().filter(|item| {
                item.to_string().contains(&text) && item.to_string().contains(&kept["n"])
            });
            has.count().to_string()
        }
    };
    format!("{} {status} {shown}", step.route).replace(&kept["n"], "<n>")
}

/// Runs a race: its rivals at once, or one after the other in an order.
async fn run(
    api: &Arc<Api>,
    race: &Race,
    order: Option<&[usize]>,
    tokens: &KeptValues,
) -> RaceOutcome {
    static RUNS: AtomicU32 = AtomicU32::new(1000);
    let mut kept = tokens.clone();
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    kept.insert("n".to_owned(), format!("x{number}x"));
    for step in &race.before {
        let reply = send(api, step, &kept).await;
        assert!(
            reply.status.is_success(),
            "{}: {step:?}: {reply:?}",
            race.name
        );
        keep(step, &reply, &mut kept);
    }
    let mut replies = BTreeMap::new();
    match order {
        Some(order) => {
            for place in order {
                replies.insert(*place, send(api, &race.rivals[*place], &kept).await);
            }
        }
        None => {
            let begun = race.rivals.iter().cloned().map(|rival| {
                let (api, kept) = (Arc::clone(api), kept.clone());
                tokio::spawn(async move { send(&api, &rival, &kept).await })
            });
            for (place, reply) in begun.collect::<Vec<_>>().into_iter().enumerate() {
                replies.insert(place, reply.await.unwrap());
            }
        }
    }
    for (place, reply) in &replies {
        keep(&race.rivals[*place], reply, &mut kept);
    }
    let mut after = Vec::new();
    for step in &race.after {
        let reply = send(api, step, &kept).await;
        keep(step, &reply, &mut kept);
        after.push(seen(step, &reply, &kept));
    }
    (
        replies
            .values()
            .map(|reply| reply.status.as_u16())
            .collect(),
        after,
    )
}

/// All orders of so many.
fn orders(many: usize) -> Vec<Vec<usize>> {
    if many == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in orders(many - 1) {
        for place in 0..many {
            let mut order = shorter.clone();
            order.insert(place, many - 1);
            all.push(order);
        }
    }
    all
}

async fn begin(database: &TestDatabase) -> (Arc<Api>, KeptValues) {
    let api = Api::new(database).await;
    let mut tokens = KeptValues::new();
    for (id, role) in [
        ("admin", Role::Admin),
        ("ann", Role::Member),
        ("bob", Role::Member),
    ] {
        tokens.insert(id.to_owned(), api.person(id, role).await);
    }
    crate::credentials::publish(&api, &tokens["admin"], &document()).await;
    (Arc::new(api), tokens)
}

on_both! {
    /// Every race, many times over, against all orders in which its rivals could have come one after the other.
    async fn whatever_comes_of_two_at_once_could_have_come_of_them_in_turn(database: &TestDatabase) {
        let (api, tokens) = begin(database).await;
        let (rounds, mut failures) = (rounds(), Vec::new());
        for race in races() {
            let mut allowed = BTreeSet::new();
            for order in orders(race.rivals.len()) {
                allowed.insert(run(&api, &race, Some(&order), &tokens).await);
            }
            let mut wrong: BTreeMap<RaceOutcome, usize> = BTreeMap::new();
            for _ in 0..rounds {
                let outcome = run(&api, &race, None, &tokens).await;
                if !allowed.contains(&outcome) {
                    *wrong.entry(outcome).or_default() += 1;
                }
            }
            for (outcome, times) in wrong {
                println!("{}: {times} of {rounds} came of no order", race.name);
                failures.push(format!("{}: {times} of {rounds}: {outcome:?}\n  in turn: {allowed:?}", race.name));
            }
        }
        assert!(failures.is_empty(), "{} outcomes that no order has:\n{}", failures.len(), failures.join("\n"));
        api.was_well();
    }
}

/// A route that changes something has a race.
#[test]
fn every_changing_route_has_a_race() {
    let table = ROUTES.iter().map(|route| (&route.method, route.path));
    let open = OPEN.iter().map(|(method, path)| (method, *path));
    let changing: BTreeSet<String> = table
        .chain(open)
        .filter(|(method, _)| *method != Method::GET)
        .map(|(method, path)| format!("{method} {path}"))
        .collect();
    let all = races();
    let raced: BTreeSet<String> = all
        .iter()
        .flat_map(|race| &race.rivals)
        .map(|rival| rival.route.to_owned())
        .collect();
    let missing: Vec<_> = changing.difference(&raced).collect();
    assert!(
        missing.is_empty(),
        "say in races() what these must not lose: {missing:?}"
    );
    let unknown: Vec<_> = raced.difference(&changing).collect();
    assert!(unknown.is_empty(), "no route: {unknown:?}");
    let names: BTreeSet<_> = all.iter().map(|race| race.name).collect();
    assert_eq!(names.len(), all.len(), "each has a name of its own");
}
