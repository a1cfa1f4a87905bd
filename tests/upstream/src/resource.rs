//! Protocol C's resources beside the models' methods: lists and objects that hold next to nothing.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::fixture::FIXTURES;
use crate::template::TemplateValues;

/// The models that the lists name.
const MODELS: [&str; 2] = ["gemini-2.5-flash", "gemini-2.5-pro"];

/// The answer for a path under `/v1beta/`: a list for a collection, else an object of that name.
pub fn get(path: &str, id: u64) -> Bytes {
    let path = path.trim_end_matches('/');
    match path.split_once('/') {
        None if path == "models" => {
            let models: Vec<_> = MODELS
                .iter()
                .map(|name| model(&format!("models/{name}")))
                .collect();
            [b"{\"models\":[", models.join(&b","[..]).as_slice(), b"]}"]
                .concat()
                .into()
        }
        None => {
            let mut list = serde_json::Map::new();
            list.insert(path.to_owned(), Value::Array(Vec::new()));
            list.insert("name".to_owned(), format!("{path}/sim-{id}").into());
            Value::Object(list).to_string().into()
        }
        Some(("models", _)) => model(path),
        Some(_) => json!({"name": path}).to_string().into(),
    }
}

fn model(name: &str) -> Bytes {
    FIXTURES.model.fill(&TemplateValues {
        text: Value::from(name).to_string(),
        ..TemplateValues::default()
    })
}
