//! HTTP to a console: for the agent, for signing in and for the commands that ask its API.

mod console_url;
mod watched_tcp;

use std::path::Path;
use std::time::Duration;

use trilane_console::outgoing;
use ureq::Agent;
use ureq::http::{Request, Response, StatusCode};
use ureq::tls::RootCerts;
use ureq::unversioned::resolver::DefaultResolver;

pub use console_url::ConsoleUrl;

/// The longest time for a response.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest response, in bytes: a document.
const MOST: u64 = 64 << 20;

/// A console, as a program of this machine reaches it.
#[derive(Debug, Clone)]
pub struct ConsoleHttp {
    http: Agent,
    url: ConsoleUrl,
}

/// A response.
#[derive(Debug)]
pub struct ConsoleResponse {
    /// The status.
    pub status: StatusCode,
    /// Its ETag.
    pub etag: Option<String>,
    /// Its body.
    pub body: Vec<u8>,
}

/// The reason that a console did not answer. It has no credential: it is about connections.
#[derive(Debug)]
pub struct NoAnswer(pub String);

/// The body of a request: its type and its bytes.
pub type RequestBody<'a> = (&'a str, &'a [u8]);

impl ConsoleHttp {
    /// The console at this address, whose certificate is trusted by the authorities of the system or of a file.
    ///
    /// # Errors
    /// The file has no certificate.
    pub fn new(url: ConsoleUrl, ca: Option<&Path>, program: &str) -> Result<Self, String> {
        let version = env!("CARGO_PKG_VERSION");
        let mut config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // A credential goes to the named host and to no other.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(format!("{program}/{version}"));
        if url.is_tls() {
            let roots = ca.map_or(Ok(RootCerts::PlatformVerifier), outgoing::authorities)?;
            config = config.tls_config(outgoing::tls(roots));
        } else {
            // This machine: no proxy is in between.
            config = config.proxy(None);
        }
        let (connector, resolver) = (watched_tcp::connector(), DefaultResolver::default());
        Ok(Self {
            http: Agent::with_parts(config.build(), connector, resolver),
            url,
        })
    }

    /// Its address.
    pub const fn url(&self) -> &ConsoleUrl {
        &self.url
    }

    /// Sends a request.
    ///
    /// # Errors
    /// The console did not answer.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<RequestBody<'_>>,
    ) -> Result<ConsoleResponse, NoAnswer> {
        let mut request = Request::builder().method(method).uri(self.url.join(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let wrong = |error: ureq::http::Error| NoAnswer(error.to_string());
        let response = match body {
            Some((kind, bytes)) => {
                let request = request.header("content-type", kind).body(bytes);
                self.http.run(request.map_err(wrong)?)
            }
            None => self.http.run(request.body(()).map_err(wrong)?),
        };
        read(response.map_err(|error| no_answer(&error))?)
    }
}

fn read(mut response: Response<ureq::Body>) -> Result<ConsoleResponse, NoAnswer> {
    let etag = response.headers().get("etag");
    let etag = etag.and_then(|value| value.to_str().ok().map(str::to_owned));
    let limited = response.body_mut().with_config().limit(MOST);
    let body = limited.read_to_vec().map_err(|error| no_answer(&error))?;
    Ok(ConsoleResponse {
        status: response.status(),
        etag,
        body,
    })
}

fn no_answer(error: &ureq::Error) -> NoAnswer {
    NoAnswer(match error {
        ureq::Error::Timeout(_) => format!("not within {} s", PATIENCE.as_secs()),
        ureq::Error::HostNotFound => "its name does not resolve".to_owned(),
        other => other.to_string(),
    })
}
