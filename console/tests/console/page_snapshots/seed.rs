//! A small console in use, the same in every run.

use http::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::datetime;
use trilane_console::webhooks::watch::BudgetWatch;

use crate::api::Api;
use crate::database::TestDatabase;
use crate::requests::line;
use crate::vendors::{self, CREDENTIAL, VendorServer};

/// The time at which the console's clock stands.
pub const NOW: OffsetDateTime = datetime!(2026-11-24 12:00 UTC);
/// A label that pages must not take for their own.
const SCRIPT: &str = "<script>alert('x')</script>\"'&";

/// The ids and addresses that paths and fields have in braces, and the vendors that answer.
pub struct Seeded {
    named: Vec<(&'static str, String)>,
    _vendors: Vec<VendorServer>,
}

impl Seeded {
    /// Puts what is known in the place of names in braces.
    pub fn path(&self, path: &str) -> String {
        let named = self.named.iter();
        named.fold(path.to_owned(), |path, (name, value)| {
            path.replace(&format!("{{{name}}}"), value)
        })
    }
}

/// Adds the people, before there is anything else.
pub async fn people(api: &Api, admin: &str) {
    for (id, name, role) in [
        ("ann", "Ann Archer", "member"),
        ("victor", "Victor Ives", "viewer"),
        ("bob", "", "member"),
    ] {
        let person = json!({"id": id, "name": name, "role": role});
        api.post(admin, "/api/v1/people", &person).await.expect(201);
    }
}

/// The document in force, with this multiplier of one group.
fn document(vendor: &str, multiplier: &str) -> Value {
    let opus = json!({"input": "5", "cache_read": "0.5", "cache_write_5m": "6.25", "output": "25", "per_call": {"web_search": "0.01"}});
    let gpt = json!({"input": "1.25", "cache_read": "0.125", "output": "10",
        "tiers": {"flex": {"input": "0.625", "output": "5"}}, "above": [{"input_tokens": 200_000, "prices": {"input": "2.5", "output": "15"}}]});
    json!({"currency": "USD", "keys": [], "groups": [
        {"id": "a-official", "name": "Channel A", "protocol": "A", "multiplier": multiplier,
            "accounts": [{"id": "a-official-1", "url": "https://a.example.com/v1", "credential": "a-official-1"},
                {"id": "a-reserve", "url": "https://reserve.example.com", "credential": "a-official-1", "priority": 1, "weight": 3}],
            "models": [{"id": "gpt-5.1", "display_name": "GPT-5.1", "merge_dated": true, "prices": gpt}]},
        {"id": "b-official", "name": "Channel B", "protocol": "B", "multiplier": "2.0000", "count_tokens": true,
            "limits": {"budget": {"per_month": "1000"}, "requests_per_minute": 600},
            "accounts": [{"id": "b-official-1", "url": vendor, "credential": "b-official-1"},
                {"id": "b-official-2", "url": "https://b.example.com", "credential": "b-official-2", "cost": "0.9"}],
            "models": [{"id": "claude-opus-4-5", "display_name": "Claude Opus 4.5", "upstream": "claude-opus-4-5-20251101",
                "aliases": ["claude-opus-latest"], "prices": opus}, {"id": "claude-free", "free": true}]},
        {"id": "mixed", "name": "Aggregate", "protocol": "Mixed",
            "entries": {"responses": {"source": "a-official", "extra_multiplier": "1.0000"}, "vb_messages": {"source": "b-official", "extra_multiplier": "1.1000"}},
            "models": [{"id": "claude-opus-4-5", "entry": "vb_messages"}, {"id": "gpt-5.1", "entry": "responses"}]},
    ]})
}

/// Calls the API below `/api/v1/`; it must succeed.
async fn call(api: &Api, token: &str, method: Method, path: &str, body: Value) -> Value {
    let path = format!("/api/v1/{path}");
    let reply = api.call(token, method, &path, &[], &body).await;
    let status = reply.status.as_u16();
    assert!(reply.status.is_success(), "{path}: {reply:?}");
    reply.expect(status)
}

/// Makes the keys. The value of ann's.
async fn keys(api: &Api, admin: &str) -> String {
    let evals = json!({"budget": {"per_month": "20"}, "requests_per_minute": 120});
    let data = json!({"budget": {"per_day": "30", "per_month": "300"}, "concurrent_requests": 4, "output_tokens_per_minute": 100_000});
    let mut value = String::new();
    for key in [
        json!({"id": "ci-review", "group": "mixed", "owner": "Platform team", "label": "CI review", "limits": {"budget": {"per_month": "1000"}}}),
        json!({"id": "data", "group": "mixed", "owner": "Data team", "label": "Data notebooks", "limits": data, "expires_at": "2099-01-01T00:00:00Z",
            "models": ["claude-opus-4-5"], "multiplier": "1.5000", "team": "red"}),
        json!({"id": "evals", "group": "b-official", "owner": "ann", "team": "blue", "label": "Evals", "limits": evals}),
        json!({"id": "mobile-old", "group": "mixed", "owner": "Mobile team", "max_multiplier": "2.2000", "disabled": true}),
        json!({"id": "odd", "group": "a-official", "label": SCRIPT}),
    ] {
        let is_of_ann = key["owner"] == "ann";
        let made = call(api, admin, Method::POST, "keys", key).await;
        if is_of_ann {
            value = made["value"].as_str().unwrap().to_owned();
        }
    }
    let overlap = json!({"overlap_seconds": 3600});
    call(api, admin, Method::POST, "keys/ci-review/rotate", overlap).await;
    value
}

/// Lines of today, of yesterday and of another month.
fn ledger() -> String {
    let opus = |at: &str, key: &str, owner: &str, more: Value| {
        let mut members = json!({"trilane.key.id": key, "trilane.key.owner": owner, "trilane.key.team": null, "trilane.group": "mixed",
            "trilane.source": "b-official", "trilane.account": "b-official-2", "trilane.entry": "vb_messages", "trilane.protocol": "B",
            "trilane.endpoint": "messages", "trilane.client": "claude-cli/2.1", "trilane.session": "0199-ab", "trilane.labels": {"project": "apollo"}, "url.path": "/v1/messages", "trilane.model": "claude-opus-4-5", "gen_ai.request.model": "claude-opus-4-5",
            "trilane.multiplier": "2.2000", "trilane.stream": true, "gen_ai.usage.input_tokens": 15_340, "gen_ai.usage.output_tokens": 812,
            "gen_ai.usage.cache_read.input_tokens": 12_000, "trilane.charge": "0.0946", "trilane.cost_factor": "0.9", "trilane.cost": "0.0387"});
        let of = members.as_object_mut().unwrap();
        of.extend(more.as_object().unwrap().clone());
        line(at, members)
    };
    let evals = |at: &str, more: Value| {
        let mut members = json!({"trilane.key.team": "blue", "trilane.group": "b-official", "trilane.entry": null, "trilane.multiplier": "2.0000",
            "trilane.charge": "4.75", "trilane.spent.key.day": "1", "trilane.instance": "1"});
        let of = members.as_object_mut().unwrap();
        of.extend(more.as_object().unwrap().clone());
        opus(at, "evals", "ann", members)
    };
    let refused = json!({"http.response.status_code": 429, "trilane.outcome": "refused", "trilane.usage.status": "none", "trilane.charge": null,
        "trilane.cost": null, "trilane.cost_factor": null, "trilane.account": null, "trilane.tries": null, "error.type": "rate_limit_exceeded",
        "trilane.limit": "requests", "trilane.limit.scope": "key", "gen_ai.usage.input_tokens": null, "gen_ai.usage.output_tokens": null,
        "gen_ai.usage.cache_read.input_tokens": null, "trilane.time_to_first_byte_us": null});
    let tried = json!({"trilane.tries": 3, "trilane.tries.failed": [{"account": "b-official-1", "kind": "unauthorized", "status": 400,
            "fault": "no_credit", "error": {"type": "invalid_request_error", "code": "insufficient_quota", "param": "x"}},
        {"account": "b-official-1", "kind": "connection", "status": 0, "reason": "remote_connection_failure"}]});
    let estimated = json!({"trilane.usage.status": "estimated", "trilane.outcome": "client_abort", "http.response.status_code": 0});
    let unpriced = json!({"trilane.model": "gpt-5.1", "trilane.source": "a-official", "trilane.account": "a-official-1", "trilane.charge": null,
        "trilane.cost": null, "trilane.cost_factor": null});
    [
        opus(
            "2026-10-30T09:00:00Z",
            "ci-review",
            "Platform team",
            json!({"trilane.charge": "12.5"}),
        ),
        opus(
            "2026-11-23T22:10:00Z",
            "ci-review",
            "Platform team",
            json!({}),
        ),
        opus("2026-11-24T09:30:00Z", "data", "Data team", unpriced),
        opus("2026-11-24T10:00:00Z", "data", "Data team", tried),
        evals("2026-11-24T11:00:00Z", json!({})),
        evals("2026-11-24T11:05:00Z", estimated),
        evals(
            "2026-11-24T11:10:00Z",
            json!({"trilane.time_to_first_byte_us": 40_000}),
        ),
        evals("2026-11-24T11:20:00Z", json!({})),
        evals("2026-11-24T11:58:00Z", refused),
    ]
    .concat()
}

/// A document with sources in sequence.
fn sequence(vendor: &str) -> Value {
    let mut document = document(vendor, "0.3000");
    let reserve = json!({"id": "b-reserve", "protocol": "B", "multiplier": "3.0000", "models": [{"id": "claude-opus-4-5", "free": true}],
        "accounts": [{"id": "b-reserve-1", "url": "https://reserve.example.com", "credential": "b-official-2"}]});
    let entry = json!({"order": "cheapest", "sources": [{"source": "b-official", "extra_multiplier": "1.1000"}, {"source": "b-reserve"}]});
    document["groups"][1]["fallback"] = json!(["b-reserve"]);
    document["groups"][2]["entries"]["vb_messages"] = entry;
    document["groups"][2]["models"][0]["sources"] = json!(["b-official", "b-reserve"]);
    document["groups"].as_array_mut().unwrap().push(reserve);
    document
}

/// Two versions, a draft of the first with sources in sequence, one of the second that a gateway would refuse, and one that is no
/// JSON.
async fn documents(api: &Api, database: &TestDatabase, admin: &str, vendor: &str) {
    let mut refused = document(vendor, "a fifth");
    refused["groups"][1]["models"][0]["prices"]["input"] = json!("dear");
    refused["groups"][1]["name"] = json!("Channel B, renamed");
    let mut changed = document(vendor, "0.5000");
    changed["groups"][1]["limits"] = json!({"requests_per_minute": 60});
    let accounts = changed["groups"][1]["accounts"].as_array_mut().unwrap();
    accounts.push(json!({"id": "b-official-3", "url": "https://third.example.com", "credential": "b-official-3", "priority": 1}));
    for (id, body, publishes) in [
        ("one", document(vendor, "0.2000").to_string(), true),
        ("outdated", sequence(vendor).to_string(), false),
        ("two", document(vendor, "0.2500").to_string(), true),
        ("refused", refused.to_string(), false),
        ("text", "{".to_owned(), false),
        ("changed", changed.to_string(), false),
    ] {
        let new = json!({"body": body, "note": format!("The draft {id}")});
        let draft = call(api, admin, Method::POST, "drafts", new).await;
        let drawn = draft["id"].as_str().unwrap();
        if publishes {
            let path = format!("/api/v1/drafts/{drawn}/publish");
            let seen = [("if-match", "\"1\"")];
            let reply = api
                .call(admin, Method::POST, &path, &seen, &Value::Null)
                .await;
            reply.expect(201);
        } else {
            // Lists are in the order of ids, and those are drawn.
            let sql = format!("UPDATE drafts SET id = '{id}' WHERE id = '{drawn}'");
            database.execute(&sql).await.unwrap();
        }
    }
}

async fn envoys(api: &Api, admin: &str) -> String {
    let new = json!({"id": "edge-1", "name": "Frankfurt"});
    let made = call(api, admin, Method::POST, "envoys", new).await;
    let enrol = json!({"token": made["token"]});
    let agent = call(api, "", Method::POST, "enrol", enrol).await;
    let agent = agent["token"].as_str().unwrap().to_owned();
    let report = json!({"version": "0.1.0", "document": "of another time", "in_force": "", "keys": 3, "clock": "2026-11-24T12:00:00Z",
        "ledger_waiting": 4096, "troubles": ["the console cannot be reached"]});
    call(api, &agent, Method::PUT, "envoys/edge-1/report", report).await;
    call(api, admin, Method::POST, "envoys", json!({"id": "edge-2"})).await;
    agent
}

/// Vendors of the first run: one that lists its models, and one that does not any more.
async fn setup(api: &Api, admin: &str, listing: &str, silent: &str) {
    let priced = json!({"id": "claude-opus", "upstream": "anthropic/claude-opus-4.8", "prices": {"input": "5", "output": "25"}});
    let kept =
        json!({"vendor": "openrouter", "url": listing, "value": CREDENTIAL, "models": [priced]});
    call(api, admin, Method::PUT, "setup/vendors/openrouter", kept).await;
    let own = json!({"vendor": "compatible", "url": silent, "no_credential": true, "models": [{"id": "own", "free": true}, {"id": "dear"}]});
    call(api, admin, Method::PUT, "setup/vendors/silent", own).await;
}

/// Brings everything in, as an operator would.
/// Adds a client that is signed in, and one that waits.
async fn clients(database: &TestDatabase) {
    let at = NOW.unix_timestamp() * 1_000_000;
    let (until, later) = (at + 600_000_000, at + 90 * 86_400_000_000);
    for sql in [
        format!(
            "INSERT INTO client_sign_ins VALUES ('claude-code-3f2a9b01', 'ann', 'r1', 'claude-code', '', '10.1.2.3', 1, {until}, {at}, {at}, {later})"
        ),
        format!(
            "INSERT INTO client_sign_ins VALUES ('trilane-77c0ffee', 'ann', 'r2', 'trilane', 'laptop', '10.1.2.4', 1, {until}, {at}, {at}, {later})"
        ),
        format!(
            "INSERT INTO device_grants VALUES ('g1', 'BCDFGHJK', 'trilane', 'laptop', '10.1.2.3', 5, 0, 'pending', NULL, NULL, NULL, NULL, {at}, {until})"
        ),
        format!(
            "INSERT INTO device_grants VALUES ('g2', 'BCDFGHJL', 'trilane', 'laptop', '10.1.2.3', 5, 0, 'pending', NULL, NULL, NULL, 'keys:write usage:read', {at}, {until})"
        ),
    ] {
        database.execute(&sql).await.unwrap();
    }
}

pub async fn fill(api: &Api, database: &TestDatabase, admin: &str) -> Seeded {
    clients(database).await;
    let (openai, anthropic, openrouter) = (
        vendors::openai(),
        vendors::anthropic(),
        vendors::openrouter(),
    );
    let post = async |path: &str, body: Value| call(api, admin, Method::POST, path, body).await;
    let put = async |path: &str, body: Value| call(api, admin, Method::PUT, path, body).await;
    let silent = VendorServer::new(|_| (404, "no such page".to_owned()));
    documents(api, database, admin, &anthropic.url("")).await;
    let limits = json!({"budget": {"per_month": "15"}});
    let allowance = json!({"keys": 2, "groups": ["mixed", "b-official"], "limits": limits, "lifetime_days": 90});
    let blue = json!({"id": "blue", "name": "Blue", "allowance": allowance});
    post("teams", blue).await;
    post("teams", json!({"id": "red"})).await;
    put("teams/blue/members/ann", json!({})).await;
    put("teams/blue/members/bob", json!({"manager": true})).await;
    let ordered = json!({"group": "mixed", "team": "blue", "label": "Laptop", "limits": {"budget": {"per_month": "20"}}});
    post("people/ann/ordered-keys", ordered).await;
    let mut named = vec![("value", keys(api, admin).await)];
    let agent = envoys(api, admin).await;
    let taken = api
        .ledger(&agent, "/api/v1/ledger/edge-1/f?from=0", &ledger())
        .await;
    assert_eq!(taken.expect(200)["lines"], 9);
    let mut watch = BudgetWatch::default();
    while watch.look(&api.store, NOW).await.unwrap() {}
    let of_ann = json!({"per_day": "40", "per_month": "900.50"});
    put("budgets/owner/ann", of_ann).await;
    put("budgets/team/red", json!({"per_day": "5"})).await;
    let credential = json!({"value": CREDENTIAL, "destinations": [{"url": anthropic.url("")}]});
    put("credentials/b-official-1", credential).await;
    let unused =
        json!({"value": CREDENTIAL, "destinations": [{"url": "https://unused.example.com"}]});
    put("credentials/unused", unused).await;
    // Nobody listens there.
    let slack = json!({"kind": "slack", "url": "http://127.0.0.1:1/services/secret"});
    let made = post("webhooks", slack).await;
    let id = made["webhook"]["id"].as_str().unwrap();
    let tested = post(&format!("webhooks/{id}/test"), Value::Null).await;
    assert_eq!(tested["delivered"], false);
    let rules = json!([{"claim": "groups", "equals": "platform", "role": "admin", "teams": ["blue"], "key_group": "mixed"}]);
    let provider = json!({"label": "Example", "issuer": "https://id.example.com", "client_id": "trilane", "client_secret": CREDENTIAL,
        "allowed_domains": ["example.com"], "rules": rules});
    put("identity-providers/example", provider).await;
    for (subject, person, ended) in [("00u1", "ann", "FALSE"), ("00u2", "root", "TRUE")] {
        let identity = format!(
            "INSERT INTO identities (provider_id, subject, person_id, checked_at, asked_at, ended, created_at) \
             VALUES ('example', '{subject}', '{person}', {at}, {at}, {ended}, {at})",
            at = trilane_console::timestamp::microseconds(NOW)
        );
        database.execute(&identity).await.unwrap();
    }
    setup(api, admin, &openrouter.url("/api/v1"), &silent.url("/v1")).await;
    for (name, query) in [
        ("request", "account=b-official-2&key=data"),
        ("refused", "status=429"),
        ("own", "owner=ann&status=200"),
        ("estimated", "outcome=client_abort"),
    ] {
        let path = format!("requests?limit=1&{query}");
        let found = call(api, admin, Method::GET, &path, Value::Null).await;
        named.push((name, found["items"][0]["id"].as_str().unwrap().to_owned()));
    }
    named.push(("openai", openai.url("/v1")));
    named.push(("nothing", silent.url("/v1")));
    Seeded {
        named,
        _vendors: vec![openai, anthropic, openrouter, silent],
    }
}
