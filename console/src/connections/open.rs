//! The connections that are open, and which of them makes room.

use core::future::pending;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use tokio::task::{self, AbortHandle, JoinSet};

use super::connection_activity::{self, ConnectionActivity};
use super::{ConnectionEvent, ConnectionLimits};

/// The connections that are open.
#[derive(Debug)]
pub(super) struct ClientConnections {
    limits: ConnectionLimits,
    tasks: JoinSet<()>,
    /// The connections that were not aborted.
    open: HashMap<task::Id, ClientConnection>,
    /// The number of open connections by address.
    of_addresses: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct ClientConnection {
    address: IpAddr,
    activity: ConnectionActivity,
    handle: AbortHandle,
}

impl ClientConnections {
    /// None yet.
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            of_addresses: HashMap::new(),
        }
    }

    /// Whether another fits.
    pub(super) fn has_room(&self) -> bool {
        self.open.len() < self.limits.most
    }

    /// Adds one. Where its address has too many, one of these is closed: the new one if no other can be spared.
    pub(super) fn add(
        &mut self,
        address: IpAddr,
        activity: ConnectionActivity,
        conversation: impl Future<Output = ()> + Send + 'static,
    ) {
        let address = address.to_canonical();
        let handle = self.tasks.spawn(conversation);
        let id = handle.id();
        let connection = ClientConnection {
            address,
            activity,
            handle,
        };
        self.open.insert(id, connection);
        (self.limits.watch)(ConnectionEvent::Opened);
        let count = self.of_addresses.entry(address).or_default();
        *count = count.saturating_add(1);
        if *count > self.limits.of_an_address {
            let of_address = self.open.iter().filter(|(_, of)| of.address == address);
            let spared = connection_activity::to_spare(
                of_address.map(|(id, of)| (*id, &of.activity)),
                Instant::now(),
            );
            self.close(spared.unwrap_or(id), ConnectionEvent::AddressCrowded);
        }
    }

    /// Waits until one ends; forever if there is none.
    pub(super) async fn one_ended(&mut self) {
        let id = match self.tasks.join_next_with_id().await {
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => error.id(),
            None => pending().await,
        };
        drop(self.forget(id));
    }

    /// Waits until all have ended.
    pub(super) async fn all_ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    /// Closes a connection if all places are taken.
    pub(super) fn make_room(&mut self) {
        if self.has_room() {
            return;
        }
        let all = self.open.iter().map(|(id, of)| (*id, &of.activity));
        if let Some(spared) = connection_activity::to_spare(all, Instant::now()) {
            self.close(spared, ConnectionEvent::Crowded);
        }
    }

    fn close(&mut self, id: task::Id, why: ConnectionEvent) {
        if let Some(connection) = self.forget(id) {
            connection.handle.abort();
            (self.limits.watch)(why);
        }
    }

    fn forget(&mut self, id: task::Id) -> Option<ClientConnection> {
        let connection = self.open.remove(&id)?;
        (self.limits.watch)(ConnectionEvent::Ended);
        if let Some(count) = self.of_addresses.get_mut(&connection.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.of_addresses.remove(&connection.address);
            }
        }
        Some(connection)
    }
}
