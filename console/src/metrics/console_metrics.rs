//! The metrics of a console.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::time::Duration;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use time::OffsetDateTime;
use tokio::time::timeout;

use super::fleet;
use super::server::{MetricsSource, MetricsText};
use crate::counted::{MetricLabels, counted, one};
use crate::live::LiveParts;
use crate::store::disk_use::{self, DiskUse};
use crate::store::{PoolStanding, Store, StoreError, Workload, fleet as stored};

/// The longest time for the database.
const PATIENCE: Duration = Duration::from_secs(5);
/// The prefix of all metric names.
const PREFIX: &str = "trilane_console";

/// The metrics of a console over a database.
pub struct ConsoleMetrics {
    store: Store,
    live: LiveParts,
}

impl fmt::Debug for ConsoleMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConsoleMetrics(..)")
    }
}

impl ConsoleMetrics {
    /// Those of the console over this database, with these parts of pages.
    pub fn new(store: Store, live: LiveParts) -> Self {
        let store = store.of(Workload::Background);
        Self { store, live }
    }

    async fn standing(&self) -> Result<stored::FleetStanding, StoreError> {
        let mut transaction = self.store.read().await?;
        let standing = stored::read(&mut transaction).await;
        transaction.rollback().await;
        standing
    }
}

fn register_room(registry: &mut Registry, room: DiskUse) {
    for (name, help, bytes) in [
        (
            "database_bytes",
            "How much room the database takes",
            Some(room.bytes),
        ),
        (
            "database_free_bytes",
            "Room in the file of SQLite that is used again before it grows",
            room.free,
        ),
        (
            "disk_free_bytes",
            "Room on the file system of the file of SQLite",
            room.disk_free,
        ),
    ] {
        if let Some(bytes) = bytes {
            let gauge: Gauge = Gauge::default();
            gauge.set(bytes);
            registry.register(name, help, gauge);
        }
    }
}

fn register_pools(registry: &mut Registry, pools: &[PoolStanding]) {
    let connections = Family::<MetricLabels, Gauge>::default();
    let most = Family::<MetricLabels, Gauge>::default();
    for pool in pools {
        for (state, count) in [("busy", pool.busy), ("idle", pool.idle)] {
            let labels = vec![("pool", pool.name.to_owned()), ("state", state.to_owned())];
            connections.get_or_create(&labels).set(count.into());
        }
        most.get_or_create(&one("pool", pool.name))
            .set(pool.most.into());
    }
    registry.register(
        "database_connections",
        "Connections of the database, by what they are for",
        connections,
    );
    registry.register(
        "database_connections_most",
        "The most connections of the database that there may be, by what they are for",
        most,
    );
}

impl MetricsSource for ConsoleMetrics {
    fn write<'a>(
        &'a self,
        text: &'a mut MetricsText,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            let mut registry = Registry::with_prefix(PREFIX);
            let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
            registry.register("build", "The release of this console", version);
            // A console whose database is away still says what it has counted.
            let standing = timeout(PATIENCE, self.standing()).await;
            let standing = standing.ok().and_then(Result::ok);
            let up: Gauge = Gauge::default();
            let can_change = timeout(PATIENCE, self.store.can_change()).await;
            up.set(i64::from(matches!(can_change, Ok(Ok(())))));
            registry.register("database_up", "Whether a change can be made", up);
            register_pools(&mut registry, &self.store.pools());
            if let Some(standing) = &standing {
                let now = OffsetDateTime::now_utc().unix_timestamp();
                fleet::register(&mut registry, standing, now);
                // Not of one that is away: it would be waited for twice.
                if let Ok(Ok(room)) = timeout(PATIENCE, disk_use::read(&self.store)).await {
                    register_room(&mut registry, room);
                }
            }
            let live: Gauge = Gauge::default();
            live.set(i64::try_from(self.live.count()).unwrap_or(i64::MAX));
            registry.register("live_parts", "Parts of pages that somebody looks at", live);
            counted().register(&mut registry);
            text.add(&registry);
        })
    }
}
