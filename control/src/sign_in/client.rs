//! Requests to a console that signs clients in (RFC 8628).

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use trilane_console::outgoing;
use ureq::Agent;
use ureq::tls::RootCerts;

use super::KeyLife;
use super::stored::StoredSignIn;
use crate::agent::ConsoleUrl;

/// The longest time for a response.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest answer, in bytes.
const MOST: u64 = 64 << 10;
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
    http: Agent,
    url: ConsoleUrl,
}

impl SignInClient {
    /// The console at this address, whose certificate is trusted by the authorities of the system or of a file.
    ///
    /// # Errors
    /// The file has no certificate.
    pub fn new(url: ConsoleUrl, ca: Option<&Path>) -> Result<Self, String> {
        let mut config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // A token goes to the named host and to no other.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("trilane/", env!("CARGO_PKG_VERSION")));
        if url.is_tls() {
            let roots = ca.map_or(Ok(RootCerts::PlatformVerifier), outgoing::authorities)?;
            config = config.tls_config(outgoing::tls(roots));
        } else {
            config = config.proxy(None);
        }
        Ok(Self {
            http: config.build().into(),
            url,
        })
    }

    /// The console of a sign-in.
    ///
    /// # Errors
    /// The file of its authorities has no certificate.
    pub fn of(stored: &StoredSignIn) -> Result<Self, String> {
        Self::new(stored.url.clone(), stored.ca.as_deref())
    }

    /// Whether there is a console, and its gateway.
    ///
    /// # Errors
    /// There is none, or it does not answer.
    pub fn discover(&self) -> Result<Discovery, SignInError> {
        let url = self.url.join("/.well-known/oauth-authorization-server");
        let asked = self.http.get(url).call().map_err(|error| away(&error))?;
        match read(asked) {
            Err(SignInError::Other(_)) => Err(SignInError::NoConsole(self.url.to_string())),
            found => found,
        }
    }

    /// Asks to be let in.
    ///
    /// # Errors
    /// The console does not answer, or lets nobody ask now.
    pub fn ask(&self, device: &str) -> Result<DeviceCodes, SignInError> {
        self.post(
            "/oauth/device_authorization",
            &[("client_id", CLIENT), ("device_name", device)],
        )
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
        let request = self.http.post(self.url.join(path));
        let sent = request.send_form(fields.iter().copied());
        read(sent.map_err(|error| away(&error))?)
    }
}

fn read<T: DeserializeOwned>(
    mut response: ureq::http::Response<ureq::Body>,
) -> Result<T, SignInError> {
    let status = response.status();
    let limited = response.body_mut().with_config().limit(MOST);
    let body = limited.read_to_vec().map_err(|error| away(&error))?;
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
        _ if status.is_server_error() => SignInError::Away(status.to_string()),
        _ => SignInError::Other(status.to_string()),
    })
}

/// None of the texts has a token: they are about connections.
fn away(error: &ureq::Error) -> SignInError {
    SignInError::Away(match error {
        ureq::Error::Timeout(_) => format!("not within {} s", PATIENCE.as_secs()),
        ureq::Error::HostNotFound => "its name does not resolve".to_owned(),
        other => other.to_string(),
    })
}
