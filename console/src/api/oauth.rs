//! Signing in of clients: the device flow of OAuth 2.0 (RFC 8628), with its discovery (RFC 8414), refresh (RFC 6749, 6) and
//! revocation (RFC 7009). Clients are public: they have no secret.

use axum::extract::rejection::FormRejection;
use axum::extract::{DefaultBodyLimit, Form, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::header::{CACHE_CONTROL, HOST, PRAGMA};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cases::ConsoleState;
use crate::cases::client_sign_ins::grants::{self, AskingClient, GrantRefusal};
use crate::cases::client_sign_ins::tokens::{self, ClientTokens, TokenLife, TokenRefusal};
use crate::client_address::RemoteAddress;

/// The path of the page on which a person lets a client in.
pub const DEVICE_PAGE: &str = "/device";
/// The path at which a client asks to be let in. Clients fall back to it where they cannot use the discovery.
const DEVICE_AUTHORIZATION: &str = "/oauth/device_authorization";
/// The path of tokens.
const TOKEN: &str = "/oauth/token";
/// The path at which a client signs out.
const REVOKE: &str = "/oauth/revoke";
/// The grant of a device code.
const DEVICE_CODE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The grant of a refresh token.
const REFRESH_GRANT: &str = "refresh_token";
/// The longest form, in bytes.
const LONGEST: usize = 16 << 10;

/// The paths of the device flow.
pub fn router() -> Router<ConsoleState> {
    Router::new()
        .route("/.well-known/oauth-authorization-server", get(discovery))
        .route(DEVICE_AUTHORIZATION, post(ask))
        .route(TOKEN, post(token))
        .route(REVOKE, post(revoke))
        .layer(DefaultBodyLimit::max(LONGEST))
}

/// A JSON answer that nobody keeps.
fn answer(status: StatusCode, body: Value) -> Response {
    let headers = [(CACHE_CONTROL, "no-store"), (PRAGMA, "no-cache")];
    (status, headers, Json(body)).into_response()
}

fn error(status: StatusCode, code: &str) -> Response {
    answer(status, json!({ "error": code }))
}

/// The address at which the client reaches this server: endpoints elsewhere are refused by some clients.
fn origin(state: &ConsoleState, headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // A proxy that gives the request another host has written the one before last.
    let before = text("x-forwarded-host").and_then(|hosts| hosts.rsplit(',').next());
    let host = before.map(str::trim).or_else(|| text(HOST.as_str()))?;
    // It is told to whoever has sent it, and to nobody else.
    let scheme = match text("x-forwarded-proto") {
        Some("https") => "https",
        Some("http") => "http",
        _ if state.https => "https",
        _ => "http",
    };
    Some(format!("{scheme}://{host}"))
}

/// Describes the server (RFC 8414), and names the gateway.
async fn discovery(State(state): State<ConsoleState>, headers: HeaderMap) -> Response {
    let Some(origin) = origin(&state, &headers) else {
        return error(StatusCode::BAD_REQUEST, "invalid_request");
    };
    let mut body = json!({
        "issuer": origin,
        "device_authorization_endpoint": format!("{origin}{DEVICE_AUTHORIZATION}"),
        "token_endpoint": format!("{origin}{TOKEN}"),
        "revocation_endpoint": format!("{origin}{REVOKE}"),
        "grant_types_supported": [DEVICE_CODE_GRANT, REFRESH_GRANT],
        "response_types_supported": [],
        "token_endpoint_auth_methods_supported": ["none"],
    });
    if let (Some(gateway), Some(members)) = (&state.gateway, body.as_object_mut()) {
        members.insert("trilane_gateway".to_owned(), json!(gateway));
    }
    answer(StatusCode::OK, body)
}

/// A request to be let in. Claude Code sends an empty body.
#[derive(Deserialize)]
struct DeviceRequest {
    client_id: Option<String>,
    #[serde(default)]
    device_name: String,
    /// The scopes of a token of the API; without any it asks for a key.
    scope: Option<String>,
}

/// Lets a client wait for its person.
async fn ask(
    State(state): State<ConsoleState>,
    RemoteAddress(address): RemoteAddress,
    headers: HeaderMap,
    body: Result<Form<DeviceRequest>, FormRejection>,
) -> Response {
    // An empty body needs no type.
    let request = match body {
        Ok(Form(request)) => request,
        Err(FormRejection::InvalidFormContentType(_)) if is_empty(&headers) => DeviceRequest {
            client_id: None,
            device_name: String::new(),
            scope: None,
        },
        Err(_) => return error(StatusCode::BAD_REQUEST, "invalid_request"),
    };
    let asking = AskingClient {
        client: request.client_id.as_deref(),
        device: &request.device_name,
        scope: request.scope.as_deref(),
        address: &address,
    };
    let codes = match grants::begin(&state, asking).await {
        Ok(codes) => codes,
        Err(GrantRefusal::Name) => return error(StatusCode::BAD_REQUEST, "invalid_client"),
        Err(GrantRefusal::Scope) => return error(StatusCode::BAD_REQUEST, "invalid_scope"),
        Err(GrantRefusal::TooMany) => return error(StatusCode::TOO_MANY_REQUESTS, "slow_down"),
        Err(GrantRefusal::Other(why)) => {
            (state.reporter.0)(&format!("a client could not ask to be let in: {why}"));
            return error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable");
        }
    };
    let console = state.address.clone().or_else(|| origin(&state, &headers));
    let page = format!("{}{DEVICE_PAGE}", console.unwrap_or_default());
    let complete = format!("{page}?user_code={}", codes.user_code);
    let body = json!({
        "device_code": codes.device_code.reveal(),
        "user_code": codes.user_code,
        "verification_uri": page,
        "verification_uri_complete": complete,
        "expires_in": grants::LIFETIME,
        "interval": grants::INTERVAL,
    });
    answer(StatusCode::OK, body)
}

fn is_empty(headers: &HeaderMap) -> bool {
    let length = headers.get(http::header::CONTENT_LENGTH);
    length.is_none_or(|length| length == "0")
}

/// A request for tokens.
#[derive(Deserialize)]
struct TokenRequest {
    grant_type: Option<String>,
    device_code: Option<String>,
    refresh_token: Option<String>,
    /// `day`: the client reads its key once.
    trilane_life: Option<String>,
}

/// Gives a client tokens.
async fn token(
    State(state): State<ConsoleState>,
    body: Result<Form<TokenRequest>, FormRejection>,
) -> Response {
    let Ok(Form(request)) = body else {
        return error(StatusCode::BAD_REQUEST, "invalid_request");
    };
    let life = match request.trilane_life.as_deref() {
        None => TokenLife::Hour,
        Some("day") => TokenLife::Day,
        Some(_) => return error(StatusCode::BAD_REQUEST, "invalid_request"),
    };
    match (
        request.grant_type.as_deref(),
        request.device_code,
        request.refresh_token,
    ) {
        (Some(DEVICE_CODE_GRANT), Some(code), _) => {
            match tokens::by_device_code(&state, &code).await {
                Ok(tokens) => given(&tokens),
                Err(refusal) => refused(&state, refusal, true),
            }
        }
        (Some(REFRESH_GRANT), _, Some(refresh)) => {
            match tokens::by_refresh(&state, &refresh, life).await {
                Ok(tokens) => given(&tokens),
                Err(refusal) => refused(&state, refusal, false),
            }
        }
        (Some(DEVICE_CODE_GRANT | REFRESH_GRANT) | None, _, _) => {
            error(StatusCode::BAD_REQUEST, "invalid_request")
        }
        (Some(_), _, _) => error(StatusCode::BAD_REQUEST, "unsupported_grant_type"),
    }
}

fn given(tokens: &ClientTokens) -> Response {
    let mut body = json!({
        "access_token": tokens.access.reveal(),
        "token_type": "Bearer",
        "expires_in": tokens.expires_in,
    });
    if let (Some(refresh), Some(members)) = (&tokens.refresh, body.as_object_mut()) {
        members.insert("refresh_token".to_owned(), json!(refresh.reveal()));
    }
    answer(StatusCode::OK, body)
}

fn refused(state: &ConsoleState, refusal: TokenRefusal, polls: bool) -> Response {
    match refusal {
        TokenRefusal::Pending => error(StatusCode::BAD_REQUEST, "authorization_pending"),
        TokenRefusal::SlowDown => error(StatusCode::BAD_REQUEST, "slow_down"),
        TokenRefusal::Denied => error(StatusCode::BAD_REQUEST, "access_denied"),
        TokenRefusal::Expired => error(StatusCode::BAD_REQUEST, "expired_token"),
        // Not 400: clients delete the refresh token with either.
        TokenRefusal::Ended => error(StatusCode::UNAUTHORIZED, "invalid_grant"),
        TokenRefusal::Unavailable(why) => {
            (state.reporter.0)(&format!("a client got no tokens for now: {why}"));
            if polls {
                // A client that polls gives up at a single 5xx.
                error(StatusCode::BAD_REQUEST, "authorization_pending")
            } else {
                error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable")
            }
        }
    }
}

/// A request to sign out.
#[derive(Deserialize)]
struct RevocationRequest {
    token: Option<String>,
}

/// Ends a sign-in. A token that nobody knows is no error (RFC 7009, 2.2).
async fn revoke(
    State(state): State<ConsoleState>,
    body: Result<Form<RevocationRequest>, FormRejection>,
) -> Response {
    let Some(token) = body.ok().and_then(|Form(request)| request.token) else {
        return error(StatusCode::BAD_REQUEST, "invalid_request");
    };
    match tokens::revoke(&state, &token).await {
        Ok(()) => answer(StatusCode::OK, json!({})),
        Err(refusal) => refused(&state, refusal, false),
    }
}
