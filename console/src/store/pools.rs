//! Connections, for each workload its own.

use core::time::Duration;
use std::sync::Arc;

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Database, Executor as _, Pool};

use super::Workload;

/// The time after which PostgreSQL ends an idle transaction. A console whose host is gone leaves it open, with its locks,
/// until TCP notices, which takes hours.
const GONE: Duration = Duration::from_secs(30);

/// A pool for each workload. Clones share them.
#[derive(Debug)]
pub struct Pools<DB: Database>(Arc<[Pool<DB>; Workload::ALL.len()]>);

impl<DB: Database> Clone for Pools<DB> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// The state of a connection pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolStanding {
    /// The name of their workload.
    pub name: &'static str,
    /// Connections that are in use.
    pub busy: u32,
    /// Connections that wait for use.
    pub idle: u32,
    /// The most that there may be.
    pub most: u32,
}

impl PoolStanding {
    /// Reads the figures of a pool.
    pub fn of<DB: Database>(name: &'static str, pool: &Pool<DB>) -> Self {
        let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
        Self {
            name,
            busy: pool.size().saturating_sub(idle),
            idle,
            most: pool.options().get_max_connections(),
        }
    }
}

impl<DB: Database> Pools<DB> {
    /// Makes one for each workload.
    pub fn new(pool: impl Fn(Workload) -> Pool<DB>) -> Self {
        Self(Arc::new(Workload::ALL.map(pool)))
    }

    /// Returns the pool of a workload.
    pub fn of(&self, workload: Workload) -> &Pool<DB> {
        let [intake, reports, feeds, pages, background, health] = &*self.0;
        match workload {
            Workload::Intake => intake,
            Workload::Reports => reports,
            Workload::Feeds => feeds,
            Workload::Pages => pages,
            Workload::Background => background,
            Workload::Health => health,
        }
    }

    /// Returns the state of each pool.
    pub fn standing(&self) -> Vec<PoolStanding> {
        let all = Workload::ALL.iter();
        all.map(|workload| PoolStanding::of(workload.name(), self.of(*workload)))
            .collect()
    }

    /// Closes all connections.
    pub async fn close(&self) {
        for pool in &*self.0 {
            pool.close().await;
        }
    }
}

/// Settings of PostgreSQL's planner: no statement of a console is so long that compiling it first is worth it, or dividing it
/// among processes, each of which sums up nearly all groups that the others do.
const PLAIN_PLANS: &str = "SET jit = off; SET max_parallel_workers_per_gather = 0";

/// A pool of PostgreSQL, whose connections wait as long as the workload may.
pub fn postgres_pool(of: Workload) -> PgPoolOptions {
    let milliseconds = |of: Duration| of.as_millis();
    let set = format!(
        "{PLAIN_PLANS}; SET idle_in_transaction_session_timeout = {}; SET lock_timeout = {}; SET statement_timeout = {}",
        milliseconds(GONE),
        milliseconds(of.lock_timeout()),
        milliseconds(of.statement_timeout()),
    );
    PgPoolOptions::new()
        .max_connections(of.connections())
        .acquire_timeout(of.patience())
        .after_connect(move |connection, _| {
            let set = AssertSqlSafe(set.clone());
            Box::pin(async move { connection.execute(sqlx::raw_sql(set)).await.map(drop) })
        })
}
