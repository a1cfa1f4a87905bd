//! The API, as its clients see it, without a network.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, Method, Request, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use time::OffsetDateTime;
use tower::ServiceExt as _;
use trilane_console::cases::{ConsoleState, Reporter, Role, StatusCache};
use trilane_console::client_address::TrustedProxies;
use trilane_console::credentials::SealingKeyFile;
use trilane_console::identity_providers::ProviderAccess;
use trilane_console::in_transaction;
use trilane_console::live::LiveParts;
use trilane_console::prices::CatalogueFile;
use trilane_console::secret::{self, NewSecret};
use trilane_console::server;
use trilane_console::store::api_tokens::{self, ApiToken};
use trilane_console::store::envoys;
use trilane_console::store::people::{self, Person};
use trilane_console::store::{Store, StoreError, Transaction};
use trilane_console::vendors::VendorAccess;
use trilane_console::webhooks::sender::WebhookSender;

use crate::database::TestDatabase;

/// The API over a database.
#[derive(Debug)]
pub struct Api {
    /// All that the console serves.
    pub router: Router,
    pub store: Store,
    /// The parts of pages that are looked at.
    pub live: LiveParts,
    /// The keys that seal credentials.
    pub sealing_keys: SealingKeyFile,
    reported: Arc<Mutex<Vec<String>>>,
    _directory: TempDir,
}

/// A response.
#[derive(Debug)]
pub struct ApiReply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl ApiReply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The JSON of a response with this status.
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        if self.text.is_empty() {
            Value::Null
        } else {
            self.json()
        }
    }

    /// The JSON of a problem with this status.
    pub fn problem(self, status: u16) -> Value {
        assert_eq!(
            self.headers[CONTENT_TYPE], "application/problem+json",
            "{self:?}"
        );
        let json = self.expect(status);
        assert_eq!(json["status"], status, "{json}");
        json
    }
}

/// A person with a token.
async fn add_person(
    transaction: &mut Transaction,
    id: &str,
    role: Role,
    token: &NewSecret,
    expires_at: Option<i64>,
) -> Result<(), StoreError> {
    let person = Person {
        id: id.to_owned(),
        name: String::new(),
        role: role.name().to_owned(),
        disabled: false,
        created_at: 0,
        key_group: None,
    };
    people::insert(transaction, &person).await?;
    let token = ApiToken {
        id: format!("token of {id}"),
        digest: token.digest(),
        person_id: id.to_owned(),
        name: "test".to_owned(),
        hint: token.hint().to_owned(),
        expires_at,
        created_at: 0,
        scopes: None,
    };
    api_tokens::insert(transaction, &token).await
}

impl Api {
    pub async fn new(database: &TestDatabase) -> Self {
        Self::begin(database, OffsetDateTime::now_utc, (false, true), None).await
    }

    /// Starts a console without sealing keys.
    pub async fn without_sealing_keys(database: &TestDatabase) -> Self {
        Self::begin(database, OffsetDateTime::now_utc, (false, false), None).await
    }

    /// Starts a console that tests accounts at private addresses, too, and shows its status to everybody.
    pub async fn with_private_accounts(database: &TestDatabase) -> Self {
        Self::begin(database, OffsetDateTime::now_utc, (true, true), None).await
    }

    /// Starts a console with this clock, which tests accounts at private addresses, too, and shows its status to everybody.
    pub async fn with_clock(database: &TestDatabase, clock: fn() -> OffsetDateTime) -> Self {
        Self::begin(database, clock, (true, true), None).await
    }

    /// Starts a console that believes this header of a trusted proxy (10.0.0.1).
    pub async fn with_user_header(database: &TestDatabase, name: &'static str) -> Self {
        let name = HeaderName::from_static(name);
        Self::begin(database, OffsetDateTime::now_utc, (false, true), Some(name)).await
    }

    async fn begin(
        database: &TestDatabase,
        clock: fn() -> OffsetDateTime,
        (is_open, seals): (bool, bool),
        user_header: Option<HeaderName>,
    ) -> Self {
        let store = database.open().await;
        let reported = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&reported);
        let directory = TempDir::new().unwrap();
        let sealing_keys = SealingKeyFile::new(directory.path().join("sealing.keys"));
        assert!(sealing_keys.create().unwrap());
        let live = LiveParts::new(Duration::from_millis(20));
        let state = ConsoleState {
            store: store.clone(),
            https: false,
            certificate: None,
            proxies: TrustedProxies::new(vec!["10.0.0.1".parse().unwrap()]),
            gateway: None,
            address: None,
            status: is_open.then(StatusCache::default),
            vendors: VendorAccess::new(is_open, directory.path().join("no-authorities")),
            providers: ProviderAccess::new(is_open, directory.path().join("no-authorities")),
            sender: WebhookSender::new(is_open, None),
            user_header,
            sealing_keys: seals.then(|| sealing_keys.clone()),
            prices: CatalogueFile::default(),
            reporter: Reporter(Arc::new(move |reason: &str| {
                to.lock().unwrap().push(reason.to_owned())
            })),
            live: live.clone(),
            clock,
        };
        Self {
            router: server::router(state),
            live,
            store,
            sealing_keys,
            reported,
            _directory: directory,
        }
    }

    /// A new person's token.
    pub async fn person(&self, id: &str, role: Role) -> String {
        self.person_until(id, role, None).await
    }

    pub async fn person_until(
        &self,
        id: &str,
        role: Role,
        expires_at: Option<OffsetDateTime>,
    ) -> String {
        let token = NewSecret::token().unwrap();
        let expires_at = expires_at.map(|time| time.unix_timestamp() * 1_000_000);
        in_transaction!(self.store, transaction => add_person(transaction, id, role, &token, expires_at).await).unwrap();
        token.reveal().to_owned()
    }

    /// The token of an Envoy's agent that was approved on the console's machine.
    pub async fn approved_agent(&self, id: &str) -> String {
        let token = self.person(id, Role::Agent).await;
        in_transaction!(self.store, transaction => {
            envoys::insert(transaction, id, 0).await?;
            envoys::approve(transaction, id, &secret::digest(&token)).await
        })
        .unwrap();
        token
    }

    pub async fn send(&self, request: Request<Body>) -> ApiReply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        assert_ne!(head.status, StatusCode::INTERNAL_SERVER_ERROR);
        ApiReply {
            status: head.status,
            headers: head.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// A request with JSON.
    pub async fn call(
        &self,
        token: &str,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> ApiReply {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = &confirmed(path, body);
        let body = if body.is_null() {
            Body::empty()
        } else {
            request = request.header(CONTENT_TYPE, "application/json");
            Body::from(body.to_string())
        };
        self.send(request.body(body).unwrap()).await
    }

    pub async fn get(&self, token: &str, path: &str) -> ApiReply {
        self.call(token, Method::GET, path, &[], &Value::Null).await
    }

    /// Waits until all that a list has is done.
    pub async fn until_ended(&self, token: &str, path: &str) -> Value {
        loop {
            let all = self.get(token, path).await.expect(200);
            if all["items"]
                .as_array()
                .unwrap()
                .iter()
                .all(|of| of["ended_at"].is_string())
            {
                return all;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn post(&self, token: &str, path: &str, body: &Value) -> ApiReply {
        self.call(token, Method::POST, path, &[], body).await
    }

    /// Bytes of a ledger file.
    pub async fn ledger(&self, token: &str, path: &str, bytes: &str) -> ApiReply {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .header(CONTENT_TYPE, "application/x-ndjson");
        self.send(request.body(Body::from(bytes.to_owned())).unwrap())
            .await
    }

    /// Nothing has failed for no fault of a request's.
    pub fn was_well(&self) {
        assert!(
            self.reported.lock().unwrap().is_empty(),
            "{:?}",
            self.reported
        );
    }
}

/// The body of a change of keys, with new owners and teams confirmed: most tests have some that are nobody's. Those of the rule say so themselves.
fn confirmed(path: &str, body: &Value) -> Value {
    let mut body = body.clone();
    let change = match path.strip_prefix("/api/v1/keys") {
        Some("/bulk") => body.get_mut("change"),
        Some(_) => Some(&mut body),
        None => None,
    };
    if let Some(change) = change.and_then(Value::as_object_mut) {
        for (name, confirmation) in [("owner", "new_owner"), ("team", "new_team")] {
            if change.contains_key(name) {
                change.entry(confirmation).or_insert(true.into());
            }
        }
    }
    body
}
