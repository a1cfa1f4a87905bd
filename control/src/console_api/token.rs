//! The token that a command sends: out of a file, the environment, or what signing in has stored. Never out of a command line, which
//! other users of the machine see.

use std::path::{Path, PathBuf};
use std::{env, fmt};

use time::OffsetDateTime;

use crate::console_http::ConsoleUrl;
use crate::document::read_input;
use crate::failure::Failure;
use crate::sign_in;
use crate::timestamp;

/// The variable with a token.
const VARIABLE: &str = "TRILANE_TOKEN";

/// A token of the API, and its source. `Debug` does not print it.
#[derive(Clone)]
pub struct ApiToken {
    value: String,
    source: TokenSource,
}

/// The place that a token comes from.
#[derive(Debug, Clone)]
enum TokenSource {
    File(PathBuf),
    Environment,
    SignIn,
}

impl fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ApiToken").field(&self.source).finish()
    }
}

impl ApiToken {
    /// The token for a console, and the file of authorities that signing in has stored with it.
    ///
    /// # Errors
    /// There is none, or it is none.
    pub fn find(url: &ConsoleUrl, file: Option<&Path>) -> Result<(Self, Option<PathBuf>), Failure> {
        if let Some(file) = file {
            let bytes = read_input(file).map_err(|error| {
                Failure::Unreadable(format!(
                    "cannot read the token in {}: {error}",
                    file.display()
                ))
            })?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            return Ok((Self::of(&text, TokenSource::File(file.to_owned()))?, None));
        }
        if let Some(text) = env::var_os(VARIABLE).filter(|text| !text.is_empty()) {
            let text = text.to_string_lossy();
            return Ok((Self::of(&text, TokenSource::Environment)?, None));
        }
        let Some(stored) = sign_in::api_token()? else {
            return Err(Failure::Usage(format!(
                "no token for {url}: trilane login --api {url} gets one for a person; a program has one of the console's page \
                 Tokens, in {VARIABLE} or in a file that --token-file names"
            )));
        };
        if stored.url != *url {
            return Err(Failure::Usage(format!(
                "this machine is signed in at {}, not at {url}: trilane login --api {url}",
                stored.url
            )));
        }
        if stored.good_until <= OffsetDateTime::now_utc().unix_timestamp() {
            let ended = timestamp::unix_text(stored.good_until).unwrap_or_default();
            return Err(Failure::Data(format!(
                "the sign-in at {url} has ended ({ended}): trilane login --api {url}"
            )));
        }
        Ok((Self::of(&stored.token, TokenSource::SignIn)?, stored.ca))
    }

    fn of(text: &str, source: TokenSource) -> Result<Self, Failure> {
        let value = text.trim();
        let is_one = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_one {
            return Err(Failure::Unreadable(format!(
                "{}: this is no token of a console, which begins with tlc-",
                source.name()
            )));
        }
        Ok(Self {
            value: value.to_owned(),
            source,
        })
    }

    /// The header with it.
    pub fn header(&self) -> String {
        format!("Bearer {}", self.value)
    }

    /// The reason that a console does not take it, with what to do.
    pub fn refused(&self, url: &ConsoleUrl) -> String {
        let name = self.source.name();
        let again = match self.source {
            TokenSource::SignIn => format!("trilane login --api {url}"),
            TokenSource::File(_) | TokenSource::Environment => {
                "make another on its page Tokens".to_owned()
            }
        };
        format!(
            "the console at {url} does not take the token of {name}: it has expired, was revoked, or is another console's. {again}"
        )
    }
}

impl TokenSource {
    fn name(&self) -> String {
        match self {
            Self::File(file) => format!("--token-file {}", file.display()),
            Self::Environment => VARIABLE.to_owned(),
            Self::SignIn => "trilane login --api".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_token() {
        let token = ApiToken::of("tlc-secret\n", TokenSource::Environment).unwrap();
        assert_eq!(token.header(), "Bearer tlc-secret");
        assert!(!format!("{token:?}").contains("secret"));
    }
}
