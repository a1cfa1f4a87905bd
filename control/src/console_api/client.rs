//! Requests to the API.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{ApiError, ApiFault, ApiProblem};
use super::token::ApiToken;
use crate::console_http::{ConsoleHttp, ConsoleResponse, ConsoleUrl, NoAnswer};

/// The console's API, in the name of a person.
#[derive(Debug)]
pub struct ConsoleApi {
    http: ConsoleHttp,
    token: ApiToken,
}

impl ConsoleApi {
    /// The console at this address.
    ///
    /// # Errors
    /// The file of authorities has no certificate.
    pub(super) fn new(url: ConsoleUrl, ca: Option<&Path>, token: ApiToken) -> Result<Self, String> {
        let http = ConsoleHttp::new(url, ca, "trilane")?;
        Ok(Self { http, token })
    }

    /// Its address.
    pub const fn url(&self) -> &ConsoleUrl {
        self.http.url()
    }

    /// Reads something.
    ///
    /// # Errors
    /// The reason that the console does not give it.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        self.read(&self.send("GET", path, &[], None)?)
    }

    /// Sends JSON, and reads what comes back.
    ///
    /// # Errors
    /// The reason that the console does not do it.
    pub fn send_json<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ApiError> {
        let json = serde_json::to_vec(body).map_err(|error| self.other(error.to_string()))?;
        self.read(&self.send(method, path, &[], Some(&json))?)
    }

    /// Does something with what has this ETag, without a body: `POST`.
    ///
    /// # Errors
    /// The reason that the console does not do it.
    pub fn post_seen<T: DeserializeOwned>(&self, path: &str, etag: &str) -> Result<T, ApiError> {
        self.read(&self.send("POST", path, &[("if-match", etag)], None)?)
    }

    /// Removes something, which has this ETag if one is given.
    ///
    /// # Errors
    /// The reason that the console does not do it.
    pub fn delete(&self, path: &str, etag: Option<&str>) -> Result<(), ApiError> {
        let seen: Vec<_> = etag.map(|etag| ("if-match", etag)).into_iter().collect();
        self.send("DELETE", path, &seen, None).map(drop)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        json: Option<&[u8]>,
    ) -> Result<ConsoleResponse, ApiError> {
        let token = self.token.header();
        let own = [("authorization", token.as_str())];
        let headers: Vec<_> = headers.iter().copied().chain(own).collect();
        let body = json.map(|json| ("application/json", json));
        let sent = self.http.send(method, path, &headers, body);
        let response = sent.map_err(|NoAnswer(why)| {
            self.other(format!(
                "the console at {} does not answer: {why}",
                self.url()
            ))
        })?;
        if response.status.is_success() {
            return Ok(response);
        }
        Err(self.error(&response))
    }

    fn read<T: DeserializeOwned>(&self, response: &ConsoleResponse) -> Result<T, ApiError> {
        serde_json::from_slice(&response.body).map_err(|_| self.unexpected())
    }

    /// The error for what a console of this release does not answer.
    pub fn unexpected(&self) -> ApiError {
        let url = self.url();
        self.other(format!(
            "what answers at {url} is no console of this release: name the address at which people sign in"
        ))
    }

    fn error(&self, response: &ConsoleResponse) -> ApiError {
        let Ok(problem) = serde_json::from_slice::<ApiProblem>(&response.body) else {
            return self.unexpected();
        };
        let (url, words) = (self.url(), problem.words());
        match response.status.as_u16() {
            401 => self.other(self.token.refused(url)),
            403 => ApiError {
                fault: ApiFault::Forbidden,
                text: format!("the console at {url} does not let you: {words}"),
            },
            404 => ApiError {
                fault: ApiFault::NotFound,
                text: format!("the console at {url}: {words}"),
            },
            _ => self.other(format!("the console at {url} has not done it: {words}")),
        }
    }

    fn other(&self, text: String) -> ApiError {
        let fault = ApiFault::Other;
        ApiError { fault, text }
    }
}
