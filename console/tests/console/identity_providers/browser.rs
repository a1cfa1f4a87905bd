//! A browser: it keeps cookies, and follows what it is told.

use std::collections::BTreeMap;

use http::Request;
use http::header::{CONTENT_TYPE, COOKIE, HOST, LOCATION, SET_COOKIE};
use serde_json::json;
use trilane_console::cases::Role;

use super::provider::{CLIENT, Provider};
use crate::api::{Api, ApiReply};

/// The console's host, as browsers know it.
pub const SITE: &str = "http://console.test";

/// The address that the provider `idp` sends browsers back to.
pub const BACK: &str = "http://console.test/sign-in/with/idp/callback";

/// A browser.
#[derive(Debug, Clone, Default)]
pub struct Browser {
    pub cookies: BTreeMap<String, String>,
}

impl Browser {
    fn keep(&mut self, reply: &ApiReply) {
        for cookie in reply.headers.get_all(SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("; HttpOnly; SameSite=Lax"), "{cookie}");
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    fn cookie(&self) -> String {
        let all: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        all.join("; ")
    }

    pub async fn get(&mut self, api: &Api, path: &str) -> ApiReply {
        let request = Request::get(path)
            .header(HOST, "console.test")
            .header(COOKIE, self.cookie());
        let reply = api.send(request.body(String::new().into()).unwrap()).await;
        self.keep(&reply);
        reply
    }

    pub async fn post(&mut self, api: &Api, path: &str, fields: &[(&str, &str)]) -> ApiReply {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        let request = Request::post(path)
            .header(HOST, "console.test")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(COOKIE, self.cookie());
        let reply = api.send(request.body(form.finish().into()).unwrap()).await;
        self.keep(&reply);
        reply
    }

    /// Begins to sign in; the address at the provider.
    pub async fn begin(&mut self, api: &Api) -> String {
        let reply = self.get(api, "/sign-in/with/idp?to=/keys").await;
        assert_eq!(reply.status.as_u16(), 303, "{reply:?}");
        reply.headers[LOCATION].to_str().unwrap().to_owned()
    }

    /// Comes back with what the provider gave.
    pub async fn finish(&mut self, api: &Api, brought: &BTreeMap<String, String>) -> ApiReply {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(brought);
        self.get(
            api,
            &format!("/sign-in/with/idp/callback?{}", query.finish()),
        )
        .await
    }

    /// Signs in as an account of the provider.
    pub async fn sign_in(&mut self, api: &Api, provider: &Provider, subject: &str) -> ApiReply {
        let url = self.begin(api).await;
        self.finish(api, &provider.authorize(&url, subject)).await
    }

    /// Whether it is signed in.
    pub async fn is_in(&mut self, api: &Api) -> bool {
        let reply = self.get(api, "/tokens").await;
        match reply.status.as_u16() {
            200 => true,
            303 => false,
            other => panic!("{other}: {reply:?}"),
        }
    }
}

/// An admin's token, of a console in which the provider is named `idp`, with these settings beside.
pub async fn with_provider(api: &Api, provider: &Provider, more: serde_json::Value) -> String {
    let admin = api.person("root", Role::Admin).await;
    put_provider(api, &admin, provider, more).await;
    admin
}

/// Names the provider, with these settings beside.
pub async fn put_provider(api: &Api, admin: &str, provider: &Provider, more: serde_json::Value) {
    let mut body = json!({"issuer": provider.issuer(), "client_id": CLIENT.0, "client_secret": CLIENT.1, "label": "Example"});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let path = "/api/v1/identity-providers/idp";
    api.call(admin, http::Method::PUT, path, &[], &body)
        .await
        .expect(200);
}
