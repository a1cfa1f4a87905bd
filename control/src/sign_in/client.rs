//! Requests to a console that signs clients in (RFC 8628).

use std::fmt;
use std::path::Path;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::KeyLife;
use crate::console_http::{ConsoleHttp, ConsoleResponse, ConsoleUrl, NoAnswer};

/// The name of this client.
const CLIENT: &str = "trilane";

/// The part of the discovery (RFC 8414) that is read.
#[derive(Debug, Deserialize)]
pub struct Discovery {
    /// The endpoint where clients ask; read to tell that there is one.
    #[serde(rename = "device_authorization_endpoint")]
    _device_authorization: String,
    /// The address of the gateway, if the console knows it.
    #[serde(rename = "trilane_gateway")]
    pub gateway: Option<String>,
}

/// The codes of a client that waits.
#[derive(Deserialize)]
pub struct DeviceCodes {
    /// The code to poll with.
    pub device_code: String,
    /// The code that the person compares.
    pub user_code: String,
    /// The page on which the person lets it in.
    pub verification_uri_complete: String,
    /// The seconds for which the codes are good.
    pub expires_in: u64,
    /// The seconds between two polls.
    pub interval: u64,
}

/// Tokens that the console has issued.
#[derive(Deserialize)]
pub struct IssuedTokens {
    /// The key.
    pub access_token: String,
    /// The seconds for which it is good.
    pub expires_in: i64,
    /// The token with which another key is fetched, if it is another one.
    pub refresh_token: Option<String>,
}

/// The reason that a request failed. No text has a token.
#[derive(Debug)]
pub enum SignInError {
    /// Nobody has decided yet.
    Pending,
    /// It was asked too soon.
    SlowDown,
    /// Somebody has refused it.
    Denied,
    /// The code is too old.
    Expired,
    /// The sign-in is over.
    Ended,
    /// A scope is not one that is given by signing in.
    Scope,
    /// Nobody signs clients in there.
    NoConsole(String),
    /// The console did not answer, or cannot now; why.
    Away(String),
    /// Another answer.
    Other(String),
}

impl fmt::Display for SignInError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending => f.write_str("nobody has let this machine in yet"),
            Self::SlowDown => f.write_str("the console wants to be asked less often"),
            Self::Denied => f.write_str(
                "not let in: somebody has refused it, or the team lets its members make no keys",
            ),
            Self::Expired => f.write_str("the code is too old: trilane login again"),
            Self::Ended => f.write_str("the sign-in has ended: trilane login again"),
            Self::Scope => f.write_str(
                "the console gives no such scope to who signs in: trilane login --help names those that it gives; for others \
                 make a token on its page Tokens",
            ),
            Self::NoConsole(url) => write!(
                f,
                "{url} signs nobody in: it must be the address of the console, or of a gateway that passes signing in on"
            ),
            Self::Away(why) => write!(f, "the console does not answer: {why}"),
            Self::Other(why) => write!(f, "the console answers {why}"),
        }
    }
}

/// The error of an answer (RFC 6749, 5.2).
#[derive(Debug, Default, Deserialize)]
struct OauthError {
    #[serde(default)]
    error: String,
}

/// A console that signs clients in.
#[derive(Debug)]
pub struct SignInClient {
    http: ConsoleHttp,
}

impl SignInClient {
    /// The console at this address, whose certificate is trusted by the authorities of the system or of a file.
    ///
    /// # Errors
    /// The file has no certificate.
    pub fn new(url: ConsoleUrl, ca: Option<&Path>) -> Result<Self, String> {
        let http = ConsoleHttp::new(url, ca, CLIENT)?;
        Ok(Self { http })
    }

    /// Whether there is a console, and its gateway.
    ///
    /// # Errors
    /// There is none, or it does not answer.
    pub fn discover(&self) -> Result<Discovery, SignInError> {
        let path = "/.well-known/oauth-authorization-server";
        match read(self.http.send("GET", path, &[], None)) {
            Err(SignInError::Other(_)) => Err(SignInError::NoConsole(self.http.url().to_string())),
            found => found,
        }
    }

    /// Whether its API is at this address, too.
    ///
    /// # Errors
    /// It does not answer.
    pub fn has_api(&self) -> Result<bool, SignInError> {
        #[derive(Deserialize)]
        struct Problem {
            r#type: String,
        }
        let asked = self.http.send("GET", "/api/v1/me", &[], None);
        let response = asked.map_err(|NoAnswer(why)| SignInError::Away(why))?;
        let problem = serde_json::from_slice::<Problem>(&response.body);
        Ok(problem.is_ok_and(|problem| problem.r#type == "/problems/unauthorized"))
    }

    /// Asks to be let in: for a key, or for a token of the API with these scopes.
    ///
    /// # Errors
    /// The console does not answer, or lets nobody ask now.
    pub fn ask(&self, device: &str, scope: Option<&str>) -> Result<DeviceCodes, SignInError> {
        let mut fields = vec![("client_id", CLIENT), ("device_name", device)];
        fields.extend(scope.map(|scope| ("scope", scope)));
        self.post("/oauth/device_authorization", &fields)
    }

    /// Asks whether somebody has let it in.
    ///
    /// # Errors
    /// Nobody has yet, or will.
    pub fn poll(&self, device_code: &str) -> Result<IssuedTokens, SignInError> {
        let grant = "urn:ietf:params:oauth:grant-type:device_code";
        let fields = [
            ("grant_type", grant),
            ("device_code", device_code),
            ("client_id", CLIENT),
        ];
        self.post("/oauth/token", &fields)
    }

    /// Fetches another key.
    ///
    /// # Errors
    /// The sign-in is over, or the console does not answer.
    pub fn refresh(&self, token: &str, life: KeyLife) -> Result<IssuedTokens, SignInError> {
        let mut fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", CLIENT),
        ];
        if life == KeyLife::Day {
            fields.push(("trilane_life", "day"));
        }
        self.post("/oauth/token", &fields)
    }

    /// Ends the sign-in.
    ///
    /// # Errors
    /// The console does not answer.
    pub fn revoke(&self, token: &str) -> Result<(), SignInError> {
        #[derive(Deserialize)]
        struct Nothing {}
        let Nothing {} = self.post("/oauth/revoke", &[("token", token)])?;
        Ok(())
    }

    fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Result<T, SignInError> {
        let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        let fields = fields.iter();
        let fields = fields.map(|(name, value)| format!("{name}={}", encoded(value)));
        let form = fields.collect::<Vec<_>>().join("&");
        let body = ("application/x-www-form-urlencoded", form.as_bytes());
        read(self.http.send("POST", path, &[], Some(body)))
    }
}

fn read<T: DeserializeOwned>(sent: Result<ConsoleResponse, NoAnswer>) -> Result<T, SignInError> {
    let ConsoleResponse { status, body, .. } =
        sent.map_err(|NoAnswer(why)| SignInError::Away(why))?;
    if status.is_success() {
        let parsed = serde_json::from_slice(&body);
        return parsed.map_err(|_| SignInError::Other("what is no answer to a sign-in".to_owned()));
    }
    let error: OauthError = serde_json::from_slice(&body).unwrap_or_default();
    Err(match error.error.as_str() {
        "authorization_pending" => SignInError::Pending,
        "slow_down" => SignInError::SlowDown,
        "access_denied" => SignInError::Denied,
        "expired_token" => SignInError::Expired,
        "invalid_grant" => SignInError::Ended,
        "invalid_scope" => SignInError::Scope,
        _ if status.is_server_error() => SignInError::Away(status.to_string()),
        _ => SignInError::Other(status.to_string()),
    })
}
