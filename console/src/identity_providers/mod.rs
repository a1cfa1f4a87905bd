//! Sign-in by OpenID Connect, as far as identity providers see it: authorization code with PKCE, one client at each provider.
//!
//! [`ProviderAccess`] sends the requests, bounded, and keeps what discovery said. A [`ProviderClient`] makes the address that a
//! browser is sent to, takes the code that comes back ([`ProviderAnswer`]: verified [`Claims`] and perhaps a refresh token), and asks
//! again later. It knows nothing of people: the use cases make persons of claims.

mod access;
mod browser;
mod claims;
mod client;
mod fault;
mod known;
pub mod secrets;
mod still_there;

pub use access::ProviderAccess;
pub use browser::BrowserSecret;
pub use claims::Claims;
pub use client::{ProviderAnswer, ProviderClient};
pub use fault::ProviderFault;
pub use known::ProviderMetadata;
pub use still_there::StillThere;
