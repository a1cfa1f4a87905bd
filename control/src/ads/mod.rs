//! Serves clusters and secrets to an Envoy on this machine: Envoy's aggregated discovery service (ADS), in its incremental form.
//!
//! A [`snapshot`] is what Envoy is to have: [clusters](cluster) and [secrets](secret) as Envoy's protobuf
//! [messages](discovery), each with a [`version`]. A stream of Envoy's is a [`session`]: it says what is to be sent, and what Envoy
//! has taken or refused ([`acknowledgement`]). The [`server`] listens on a [`socket`] that only its owner reaches, and carries
//! messages in [`frames`].

mod acknowledgement;
mod cluster;
mod discovery;
mod frames;
mod secret;
mod server;
mod session;
mod snapshot;
mod socket;
mod version;

pub use acknowledgement::Acknowledged;
pub use secret::SecretValue;
pub use server::AdsServer;
pub use snapshot::{ResourceNames, Resources};
pub use socket::SocketPlace;
