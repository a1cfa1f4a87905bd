//! The size of the input of captured requests, as the filter counts it: `make estimates` compares the tokens that are
//! estimated from it with those of a tokenizer.
//!
//! Takes files of raw HTTP/1.1 requests; prints a line of JSON for each that has a JSON body.

use std::process::ExitCode;

use serde_json::json;
use trilane::body::BodyScanner;

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        let request = match std::fs::read(&path) {
            Ok(request) => request,
            Err(error) => {
                eprintln!("error: {path}: {error}");
                return ExitCode::FAILURE;
            }
        };
        let head = request.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(body) = head.and_then(|at| request.get(at.saturating_add(4)..)) else {
            continue;
        };
        let mut scanner = BodyScanner::json();
        if !body.starts_with(b"{") || scanner.feed(body).is_err() || scanner.finish().is_err() {
            continue;
        }
        let size = scanner.input_size();
        println!(
            "{}",
            json!({"path": path, "text_bytes": size.text_bytes, "images": size.images, "audios": size.audios,
                "files": size.files})
        );
    }
    ExitCode::SUCCESS
}
