//! The OpenAPI document, as the console serves it, whole: `openapi.json`.

use std::path::Path;

use crate::api::Api;
use crate::database::TestDatabase;
use crate::golden;

#[tokio::test]
async fn the_openapi_document() {
    let database = TestDatabase::sqlite();
    let api = Api::new(&database).await;
    let served = api.get("", "/api/openapi.json").await.expect(200);
    // Members are sorted: serde_json keeps them in a tree.
    let text = serde_json::to_string_pretty(&served).unwrap() + "\n";
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/console/openapi.json");
    golden::compare(&golden, &text);
}
