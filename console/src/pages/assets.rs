//! Style and script, compiled in. Their names have a digest of their content, so browsers may keep them for ever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use sha2::{Digest as _, Sha256};

struct Asset {
    name: String,
    kind: &'static str,
    body: &'static str,
}

fn asset(stem: &str, ending: &str, kind: &'static str, body: &'static str) -> Asset {
    let digest = hex::encode(Sha256::digest(body));
    let digest = digest.get(..12).unwrap_or_default();
    Asset {
        name: format!("{stem}.{digest}.{ending}"),
        kind,
        body,
    }
}

static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let body = include_str!("../../assets/console.css");
    asset("console", "css", "text/css; charset=utf-8", body)
});
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let body = include_str!("../../assets/console.js");
    asset("console", "js", "text/javascript; charset=utf-8", body)
});
static ICON: LazyLock<Asset> = LazyLock::new(|| {
    let body = include_str!("../../assets/icon.svg");
    asset("icon", "svg", "image/svg+xml", body)
});

/// The file names of the style, the script and the icon.
pub fn names() -> [&'static str; 3] {
    [&STYLE.name, &SCRIPT.name, &ICON.name]
}

/// Serves one of them.
pub async fn get(Path(name): Path<String>) -> Response {
    let assets = [&*STYLE, &*SCRIPT, &*ICON];
    let Some(asset) = assets.into_iter().find(|asset| asset.name == name) else {
        // One of another release, most likely: it is not kept.
        return (StatusCode::NOT_FOUND, [(CACHE_CONTROL, "no-store")]).into_response();
    };
    let headers = [
        (CONTENT_TYPE, asset.kind),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, asset.body).into_response()
}
