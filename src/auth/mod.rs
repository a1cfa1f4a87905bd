//! Authentication: the credential in the request, and the API key behind it.

pub mod credential;
pub mod key_status;

pub use credential::{ApiKey, CredentialForm, PresentedCredential};
pub use key_status::{KeyStatus, KeyStore, authenticate};
