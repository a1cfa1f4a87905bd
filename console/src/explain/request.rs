//! A request as Envoy would hand it over.

use trilane::head::Head;

/// A request.
#[derive(Debug)]
pub struct DescribedRequest {
    /// The head of the request.
    pub head: Head,
    /// The body of the request; empty if it has none.
    pub body: Vec<u8>,
}

impl DescribedRequest {
    /// A request with these headers, whose names are in lower case. What a body's length needs is added.
    pub fn new(
        method: &[u8],
        target: &[u8],
        mut headers: Vec<(String, Vec<u8>)>,
        body: Vec<u8>,
    ) -> Self {
        let has = |wanted: &str| headers.iter().any(|(name, _)| name == wanted);
        if !body.is_empty() && !has("content-length") && !has("transfer-encoding") {
            let length = body.len().to_string().into_bytes();
            headers.push(("content-length".to_owned(), length));
        }
        let pseudo = [
            (":method", method),
            (":path", target),
            (":authority", b"gateway".as_slice()),
            (":scheme", b"https".as_slice()),
        ];
        let pseudo = pseudo.map(|(name, value)| (name.to_owned(), value.to_vec()));
        let head = Head::new(pseudo.into_iter().chain(headers).collect());
        Self { head, body }
    }
}
