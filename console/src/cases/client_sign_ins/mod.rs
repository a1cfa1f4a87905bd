//! Sign-ins of clients: a coding agent or the command, without a key that anybody hands out (RFC 8628).
//!
//! A client asks for a device code and shows a [user code](user_code); its person, who is signed in at the console, compares it and
//! lets the client in ([`grants`]). The client, which polls, gets an access token and a refresh token then ([`tokens`]). The access
//! token is a key of the gateway, good for an hour, of the person and one of the person's teams, with the [terms](terms) that the
//! team's allowance has; the key keeps its id, and gets another value with a refresh. The refresh token stays the same: clients of one
//! machine share it. A sign-in ends with its [person](list), with the membership, with its key, at its end at the latest.
//!
//! A client that asks for scopes gets a [token of the API](api_tokens) instead.

mod api_tokens;
pub(crate) mod grants;
pub(crate) mod list;
pub(crate) mod terms;
pub(crate) mod tokens;
mod user_code;

/// A second, in microseconds.
const SECOND: i64 = 1_000_000;
