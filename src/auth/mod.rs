//! Who asks: the credential in the request, and the standing of the key behind it.

pub mod credential;
pub mod standing;

pub use credential::{AccountKey, Form, Presented};
pub use standing::{Standing, World, standing};
