//! Requests from the console's host to addresses that somebody has typed: those of vendors and of webhooks.
//!
//! A name is resolved once, and only to addresses that are [allowed](AllowedAddresses). The connection goes to the very address
//! that was checked ([`GuardedResolver`]), whatever the name means a moment later.

mod public_address;
mod resolver;
mod tls;

pub use public_address::AllowedAddresses;
pub use resolver::{GuardedResolver, NoAddress};
pub use tls::{authorities, tls};
