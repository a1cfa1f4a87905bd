//! Credentials of upstream accounts, sealed.
//!
//! An account names its credential (`"credential": "anthropic"`). A credential is given for a [`CredentialDestination`]: host, scheme,
//! proxy and authorities. It is sealed (`sealing`) together with both, so the database has no use for it elsewhere, and a
//! document that sends its account elsewhere discards it ([`account_credentials`](crate::account_credentials)). The keys that seal are in a file (`key_file`) beside the
//! database, never in it. They seal the secrets of webhooks as well.

mod destination;
mod key_file;
mod sealed_for;
mod sealed_value;
mod sealing;
mod value;

pub use destination::{AccountCredential, CredentialDestination, CredentialDestinations, is_label};
pub use key_file::{SealingKeyFile, SealingKeys};
pub use sealed_for::SealedFor;
pub use sealed_value::SealedValue;
pub use sealing::SealingKey;
pub use value::{LONGEST, ValueFault, check_value, is_name};
