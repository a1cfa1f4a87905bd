//! A person whom a trusted proxy names in a header.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use http::Request;
use http::header::{COOKIE, LOCATION};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::on_both;
use crate::page_security::session;

const HEADER: &str = "x-auth-request-email";

async fn get(api: &Api, path: &str, peer: &str, cookie: &str, named: &[&str]) -> ApiReply {
    let mut request = Request::get(path).header(COOKIE, cookie);
    for name in named {
        request = request.header(HEADER, *name);
    }
    let mut request = request.body(String::new().into()).unwrap();
    let peer: SocketAddr = format!("{peer}:4711").parse().unwrap();
    request.extensions_mut().insert(ConnectInfo(peer));
    api.send(request).await
}

on_both! {
    async fn whom_the_proxy_names(database: &TestDatabase) {
        let api = Api::with_user_header(database, HEADER).await;
        for (id, role) in [("ann@a.example", Role::Member), ("bob@a.example", Role::Member), ("edge", Role::Agent)] {
            api.person(id, role).await;
        }
        let (proxy, other) = ("10.0.0.1", "192.0.2.7");
        for (case, peer, named, want) in [
            ("a person", proxy, &["Ann@a.example"][..], 303),
            ("nobody is named", proxy, &[][..], 200),
            ("an empty name", proxy, &[" "], 200),
            ("two names: one may be a client's", proxy, &["ann@a.example", "bob@a.example"], 200),
            ("somebody who is not here", proxy, &["eve@a.example"], 403),
            ("an agent", proxy, &["edge"], 403),
            ("not from the proxy", other, &["ann@a.example"], 200),
        ] {
            let reply = get(&api, "/sign-in?to=/keys", peer, "", named).await;
            assert_eq!(reply.status.as_u16(), want, "{case}: {}", reply.text);
            assert_eq!(reply.headers.contains_key("set-cookie"), want == 303, "{case}");
        }
        let cookie = session(&get(&api, "/sign-in", proxy, "", &["ann@a.example"]).await);
        for (case, peer, named, want) in [
            ("the same person", proxy, &["ann@a.example"][..], 200),
            ("nobody is named", proxy, &[][..], 200),
            ("somebody else is signed in at the proxy by now", proxy, &["bob@a.example"], 303),
            ("what others name counts for nothing", other, &["bob@a.example"], 200),
        ] {
            let reply = get(&api, "/keys", peer, &cookie, named).await;
            assert_eq!(reply.status.as_u16(), want, "{case}");
            if want == 303 {
                assert_eq!(reply.headers[LOCATION], "/sign-in?to=%2Fkeys", "{case}");
            }
        }
        // Off by default: no header is believed.
        let api = Api::new(database).await;
        assert_eq!(get(&api, "/sign-in", proxy, "", &["ann@a.example"]).await.status.as_u16(), 200);
    }
}
