//! A table of PostgreSQL that somebody has locked: what does not need it goes on, however many wait for it.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::TestDatabase;
use crate::ledger::line;
use crate::lives::{PRICES, document, futures_of, publish};

/// The longest that what needs no blocked table may take.
const SOON: Duration = Duration::from_secs(2);

/// A request of an agent or an admin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Health,
    Keys,
    Document,
    Revocation,
    Spend,
    Report,
    Ledger,
    Pages,
}

use Asks::{Document, Health, Keys, Ledger, Pages, Report, Revocation, Spend};

struct WaitingFleet {
    api: Api,
    admin: String,
    agents: Vec<(String, String)>,
}

impl WaitingFleet {
    async fn new(database: &TestDatabase) -> Self {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        let mut agents = Vec::new();
        for number in 0..12 {
            let id = format!("edge-{number}");
            let made = api
                .post(&admin, "/api/v1/envoys", &json!({"id": id}))
                .await
                .expect(201);
            let body = json!({"token": made["token"]});
            let enrolled = api
                .call("", Method::POST, "/api/v1/enrol", &[], &body)
                .await
                .expect(201);
            agents.push((id, enrolled["token"].as_str().unwrap().to_owned()));
        }
        Self { api, admin, agents }
    }

    async fn ask(&self, asks: Asks, agent: usize, turn: usize) -> ApiReply {
        let (id, token) = &self.agents[agent];
        let api = &self.api;
        match asks {
            Health => api.get("", "/healthz").await,
            Keys => api.get(token, "/api/v1/feed/keys").await,
            Document => api.get(token, "/api/v1/feed/document").await,
            Spend => api.get(token, "/api/v1/feed/spend").await,
            Revocation => {
                let path = format!("/api/v1/keys/k{turn}");
                api.call(
                    &self.admin,
                    Method::PATCH,
                    &path,
                    &[],
                    &json!({"disabled": true}),
                )
                .await
            }
            Report => {
                let report = json!({"version": "0.2.0"});
                let path = format!("/api/v1/envoys/{id}/report");
                api.call(token, Method::PUT, &path, &[], &report).await
            }
            Ledger => {
                let text = line("2026-11-24T11:00:00Z", "k", "m", "1");
                api.ledger(token, &format!("/api/v1/ledger/{id}/f{turn}?from=0"), &text)
                    .await
            }
            Pages => {
                let paths = [
                    "/api/v1/usage?by=hour",
                    "/api/v1/requests",
                    "/api/v1/envoys",
                    "/api/v1/spend?kind=key&subject=k&period=2026-11",
                ];
                api.get(&self.admin, paths[agent % paths.len()]).await
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_need_it_goes_on() {
    let database = TestDatabase::postgres().await;
    let fleet = WaitingFleet::new(&database).await;
    for (turn, (table, goes_on)) in [
        ("requests", &[Keys, Document, Revocation, Spend, Report][..]),
        (
            "usage_by_hour",
            &[Keys, Document, Revocation, Spend, Report],
        ),
        ("spend", &[Keys, Document, Revocation]),
        ("envoys", &[Keys, Document, Revocation]),
        (
            "sessions",
            &[Keys, Document, Revocation, Spend, Report, Ledger],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let key = json!({"id": format!("k{turn}"), "group": "g"});
        fleet
            .api
            .post(&fleet.admin, "/api/v1/keys", &key)
            .await
            .expect(201);
        let mut other = sqlx::PgConnection::connect(&database.text).await.unwrap();
        other.execute("BEGIN").await.unwrap();
        let lock = format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
        other.execute(AssertSqlSafe(lock)).await.unwrap();
        // All agents do all that they do, and as many people look at pages: they wait for the table, or for a connection.
        let all = [Ledger, Report, Spend, Keys, Document, Pages];
        let crowd = (0..12).flat_map(|agent| all.map(|asks| (agent, asks)));
        let crowd = futures_of(crowd.map(|(agent, asks)| fleet.ask(asks, agent, turn)));
        let measured = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            for asks in goes_on.iter().copied().chain([Health]) {
                let begun = Instant::now();
                let reply = fleet.ask(asks, 0, turn).await;
                assert_eq!(
                    reply.status,
                    200 + u16::from(asks == Report) * 4,
                    "{table}: {asks:?}: {reply:?}"
                );
                assert!(
                    begun.elapsed() < SOON,
                    "{table}: {asks:?}: {:?}",
                    begun.elapsed()
                );
            }
        };
        let (replies, ()) = tokio::join!(crowd, measured);
        let refused = replies.iter().filter(|reply| reply.status == 503).count();
        assert_eq!(
            refused > 0,
            table != "sessions",
            "{table}: some wait for it in vain"
        );
        other.execute("ROLLBACK").await.unwrap();
        for agent in 0..12 {
            for asks in all {
                let reply = fleet.ask(asks, agent, turn).await;
                assert!(
                    reply.status.is_success(),
                    "{table}: {asks:?}, when it is free again: {reply:?}"
                );
            }
        }
    }
    database.drop().await;
}

/// Health answers in time, whatever is blocked: here what it changes itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_answers_in_time() {
    let database = TestDatabase::postgres().await;
    let api = Api::new(&database).await;
    api.get("", "/healthz").await.expect(200);
    let mut other = sqlx::PgConnection::connect(&database.text).await.unwrap();
    other
        .execute("BEGIN; LOCK TABLE write_probe IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let begun = Instant::now();
    let replies = futures_of((0..20).map(|_| api.get("", "/healthz"))).await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    for reply in replies {
        reply.problem(503);
    }
    other.execute("ROLLBACK").await.unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    api.get("", "/healthz").await.expect(200);
    database.drop().await;
}
