//! An identity provider on this machine: discovery, keys, token endpoint, user info. It checks what a provider must, and has the
//! fault that a test wants.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJwsSigningAlgorithm};
use openidconnect::{JsonWebKeyId, PrivateSigningKey as _};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use tokio::net::TcpListener;

/// The id and the secret of the console's client, and the address that it comes back to.
pub const CLIENT: (&str, &str) = ("trilane-client", "s3cret/with+signs");

/// A fault of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Nothing,
    OtherNonce,
    NoNonce,
    OtherAudience,
    TwoAudiences,
    OtherParty,
    OtherIssuer,
    /// The token has expired so many seconds ago.
    Expired(i64),
    /// The token is issued in so many seconds.
    InFuture(i64),
    AlgNone,
    Hs256ByPublicKey,
    Hs256BySecret,
    OtherKey,
    UnknownKid,
    BrokenSignature,
    NoIdToken,
    NotJson,
    Huge,
    Redirects,
    ServerError,
    Silent,
    /// The user info is about somebody else.
    OtherUserInfo,
    /// Discovery names another issuer.
    OtherDiscovery,
    /// The token endpoint refuses with this code.
    Refuses(&'static str),
}

struct Code {
    challenge: String,
    redirect: String,
    nonce: String,
    subject: String,
}

/// An account: claims of the ID token, and of the user info.
pub struct Account {
    pub claims: Value,
    pub info: Value,
}

struct Inner {
    issuer: String,
    fault: Fault,
    key: (String, CoreEdDsaPrivateSigningKey),
    codes: BTreeMap<String, Code>,
    used: BTreeSet<String>,
    refresh: BTreeMap<String, String>,
    accounts: BTreeMap<String, Account>,
    /// The number of things made, for their names.
    made: u32,
    /// Whether refresh tokens are given, and an ID token with a refresh.
    gives_refresh: bool,
    refreshes_id_token: bool,
    /// Requests by path.
    asked: BTreeMap<String, u32>,
    redirect: String,
    clock: fn() -> OffsetDateTime,
}

/// The provider.
#[derive(Clone)]
pub struct Provider(Arc<Mutex<Inner>>);

/// A key of its own each time: nothing of it is anywhere else.
fn new_key(kid: &str, seed: u8) -> CoreEdDsaPrivateSigningKey {
    let mut der = hex::decode("302e020100300506032b657004220420").unwrap();
    der.extend([seed; 32]);
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(der)
    );
    CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, Some(JsonWebKeyId::new(kid.to_owned())))
        .unwrap()
}

impl Provider {
    pub async fn start(redirect: &str, clock: fn() -> OffsetDateTime) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let provider = Self(Arc::new(Mutex::new(Inner {
            issuer,
            fault: Fault::Nothing,
            key: ("k1".to_owned(), new_key("k1", 1)),
            codes: BTreeMap::new(),
            used: BTreeSet::new(),
            refresh: BTreeMap::new(),
            accounts: BTreeMap::new(),
            made: 0,
            gives_refresh: true,
            refreshes_id_token: true,
            asked: BTreeMap::new(),
            redirect: redirect.to_owned(),
            clock,
        })));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks", get(jwks))
            .route("/token", post(token))
            .route("/userinfo", get(user_info))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        provider
    }

    pub fn issuer(&self) -> String {
        self.0.lock().unwrap().issuer.clone()
    }

    pub fn fault(&self, fault: Fault) {
        self.0.lock().unwrap().fault = fault;
    }

    /// Signs with another key from now on, and publishes that one alone.
    pub fn rotate(&self) {
        let mut inner = self.0.lock().unwrap();
        inner.made += 1;
        let kid = format!("k-{}", inner.made);
        inner.key = (kid.clone(), new_key(&kid, 77));
    }

    pub fn account(&self, subject: &str, claims: Value) {
        let account = Account {
            claims,
            info: json!({}),
        };
        let mut inner = self.0.lock().unwrap();
        inner.accounts.insert(subject.to_owned(), account);
    }

    /// The claims of the user info.
    pub fn info(&self, subject: &str, info: Value) {
        let mut inner = self.0.lock().unwrap();
        inner.accounts.get_mut(subject).unwrap().info = info;
    }

    /// Ends the account: no refresh token of it is good any more.
    pub fn end(&self, subject: &str) {
        let mut inner = self.0.lock().unwrap();
        inner.refresh.retain(|_, of| of != subject);
    }

    pub fn gives_refresh(&self, gives: bool) {
        self.0.lock().unwrap().gives_refresh = gives;
    }

    pub fn refreshes_id_token(&self, does: bool) {
        self.0.lock().unwrap().refreshes_id_token = does;
    }

    pub fn asked(&self, path: &str) -> u32 {
        self.0.lock().unwrap().asked.get(path).copied().unwrap_or(0)
    }

    /// Signs a person in: the query of an authorization request is checked, and a code is made for it.
    pub fn authorize(&self, url: &str, subject: &str) -> BTreeMap<String, String> {
        let mut inner = self.0.lock().unwrap();
        let (path, query) = url.split_once('?').unwrap();
        assert_eq!(path, format!("{}/authorize", inner.issuer));
        let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        let asked: BTreeMap<String, String> = pairs.iter().cloned().collect();
        assert_eq!(pairs.len(), asked.len(), "each parameter once: {url}");
        for (name, want) in [
            ("response_type", "code"),
            ("client_id", CLIENT.0),
            ("redirect_uri", inner.redirect.as_str()),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(asked[name], want, "{name}");
        }
        let scopes: Vec<&str> = asked["scope"].split(' ').collect();
        assert!(
            scopes.contains(&"openid") && scopes.contains(&"offline_access"),
            "{scopes:?}"
        );
        for name in ["state", "nonce", "code_challenge"] {
            assert!(asked[name].len() >= 43, "{name} is too short to be random");
        }
        assert!(!url.contains(CLIENT.1), "the secret goes to no browser");
        inner.made += 1;
        let code = format!("code-{}", inner.made);
        inner.codes.insert(
            code.clone(),
            Code {
                challenge: asked["code_challenge"].clone(),
                redirect: asked["redirect_uri"].clone(),
                nonce: asked["nonce"].clone(),
                subject: subject.to_owned(),
            },
        );
        let issuer = inner.issuer.clone();
        [
            ("code", code),
            ("state", asked["state"].clone()),
            ("iss", issuer),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

impl Inner {
    fn now(&self) -> i64 {
        (self.clock)().unix_timestamp()
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let text = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let text = text.join(".");
        let hmac = |key: &[u8]| {
            let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
            mac.update(text.as_bytes());
            mac.finalize().into_bytes().to_vec()
        };
        let eddsa = |key: &CoreEdDsaPrivateSigningKey| {
            key.sign(&CoreJwsSigningAlgorithm::EdDsa, text.as_bytes())
                .unwrap()
        };
        let signature = match self.fault {
            Fault::AlgNone => Vec::new(),
            Fault::Hs256BySecret => hmac(CLIENT.1.as_bytes()),
            Fault::Hs256ByPublicKey => {
                let key = serde_json::to_value(self.key.1.as_verification_key()).unwrap();
                hmac(&URL_SAFE_NO_PAD.decode(key["x"].as_str().unwrap()).unwrap())
            }
            Fault::OtherKey => eddsa(&new_key(&self.key.0, 99)),
            Fault::BrokenSignature => {
                let mut signature = eddsa(&self.key.1);
                signature[10] ^= 1;
                signature
            }
            _ => eddsa(&self.key.1),
        };
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn id_token(&self, subject: &str, nonce: Option<&str>) -> String {
        let (fault, now) = (self.fault, self.now());
        let mut claims = json!({"iss": self.issuer, "sub": subject, "aud": CLIENT.0, "exp": now + 300, "iat": now});
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        let own = self.accounts[subject].claims.as_object().unwrap().clone();
        claims.as_object_mut().unwrap().extend(own);
        match fault {
            Fault::OtherNonce => claims["nonce"] = json!("0".repeat(64)),
            Fault::NoNonce => drop(claims.as_object_mut().unwrap().remove("nonce")),
            Fault::OtherAudience => claims["aud"] = json!("somebody-else"),
            Fault::TwoAudiences => claims["aud"] = json!([CLIENT.0, "somebody-else"]),
            Fault::OtherParty => claims["azp"] = json!("somebody-else"),
            Fault::OtherIssuer => claims["iss"] = json!("https://evil.example"),
            Fault::Expired(ago) => claims["exp"] = json!(now - ago),
            Fault::InFuture(ahead) => claims["iat"] = json!(now + ahead),
            _ => {}
        }
        let alg = match fault {
            Fault::AlgNone => "none",
            Fault::Hs256ByPublicKey | Fault::Hs256BySecret => "HS256",
            _ => "EdDSA",
        };
        let kid = if fault == Fault::UnknownKid {
            "k0"
        } else {
            self.key.0.as_str()
        };
        self.sign(&json!({"alg": alg, "typ": "JWT", "kid": kid}), &claims)
    }
}

fn error(code: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({"error": code}))).into_response()
}

fn note(inner: &mut Inner, path: &str) {
    *inner.asked.entry(path.to_owned()).or_default() += 1;
}

async fn discovery(State(provider): State<Provider>) -> Response {
    let mut inner = provider.0.lock().unwrap();
    note(&mut inner, "/discovery");
    let issuer = &inner.issuer;
    let named = match inner.fault {
        Fault::OtherDiscovery => "https://evil.example",
        _ => issuer.as_str(),
    };
    Json(json!({
        "issuer": named, "authorization_endpoint": format!("{issuer}/authorize"), "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/jwks"), "userinfo_endpoint": format!("{issuer}/userinfo"),
        "end_session_endpoint": format!("{issuer}/end"), "response_types_supported": ["code"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA", "HS256", "none"], "scopes_supported": ["openid", "email", "offline_access"],
    }))
    .into_response()
}

async fn jwks(State(provider): State<Provider>) -> Response {
    let mut inner = provider.0.lock().unwrap();
    note(&mut inner, "/jwks");
    let key = inner.key.1.as_verification_key();
    // One of a kind that nobody knows is no fault.
    Json(json!({"keys": [{"kty": "XYZ", "kid": "odd"}, key]})).into_response()
}

async fn token(State(provider): State<Provider>, headers: HeaderMap, body: String) -> Response {
    let fault = {
        let mut inner = provider.0.lock().unwrap();
        note(&mut inner, "/token");
        inner.fault
    };
    match fault {
        Fault::Silent => {
            tokio::time::sleep(Duration::from_secs(600)).await;
            return error("server_error");
        }
        Fault::ServerError => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Fault::NotJson => return "not JSON".into_response(),
        Fault::Huge => return Json(json!({"access_token": "a".repeat(70_000)})).into_response(),
        Fault::Redirects => return Redirect::temporary("/token").into_response(),
        Fault::Refuses(code) => return error(code),
        _ => {}
    }
    let mut inner = provider.0.lock().unwrap();
    let escaped = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let basic = STANDARD.encode(format!("{}:{}", escaped(CLIENT.0), escaped(CLIENT.1)));
    if headers
        .get(AUTHORIZATION)
        .is_none_or(|it| it != format!("Basic {basic}").as_str())
    {
        return (
            StatusCode::UNAUTHORIZED,
            Json(json!({"error": "invalid_client"})),
        )
            .into_response();
    }
    let sent: BTreeMap<String, String> = form_urlencoded::parse(body.as_bytes())
        .into_owned()
        .collect();
    let (subject, nonce) = match sent["grant_type"].as_str() {
        "authorization_code" => {
            let code = &sent["code"];
            let Some(found) = inner.codes.remove(code) else {
                return error("invalid_grant");
            };
            inner.used.insert(code.clone());
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&sent["code_verifier"]));
            if challenge != found.challenge || sent["redirect_uri"] != found.redirect {
                return error("invalid_grant");
            }
            (found.subject, Some(found.nonce))
        }
        "refresh_token" => match inner.refresh.remove(&sent["refresh_token"]) {
            Some(subject) => (subject, None),
            None => return error("invalid_grant"),
        },
        _ => return error("unsupported_grant_type"),
    };
    let mut answer =
        json!({"access_token": format!("at-{subject}"), "token_type": "Bearer", "expires_in": 300});
    if fault != Fault::NoIdToken && (nonce.is_some() || inner.refreshes_id_token) {
        answer["id_token"] = json!(inner.id_token(&subject, nonce.as_deref()));
    }
    if inner.gives_refresh {
        // Each is good once.
        inner.made += 1;
        let mut token = String::from("rt-");
        write!(token, "{}", inner.made).unwrap();
        inner.refresh.insert(token.clone(), subject);
        answer["refresh_token"] = json!(token);
    }
    Json(answer).into_response()
}

async fn user_info(State(provider): State<Provider>, headers: HeaderMap) -> Response {
    let mut inner = provider.0.lock().unwrap();
    note(&mut inner, "/userinfo");
    let bearer = headers[AUTHORIZATION].to_str().unwrap();
    let subject = bearer.strip_prefix("Bearer at-").unwrap();
    let mut info: Map<String, Value> = inner.accounts[subject].info.as_object().unwrap().clone();
    let of = if inner.fault == Fault::OtherUserInfo {
        "mallory"
    } else {
        subject
    };
    info.insert("sub".to_owned(), json!(of));
    Json(info).into_response()
}
