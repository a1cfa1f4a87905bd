use super::*;

#[test]
fn every_problem_of_keys_is_named() {
    // (case, JSON pointer, what to put there, or null to take it out, the problem)
    let cases = [
        (
            "key id missing",
            "/keys/0/id",
            Value::Null,
            "keys[0].id: is missing",
        ),
        (
            "owner with a control character",
            "/keys/0/owner",
            json!("x\u{7f}"),
            "keys[0].owner: must be 1 to 128 bytes without control characters",
        ),
        (
            "owner that is too long",
            "/keys/0/owner",
            json!("é".repeat(65)),
            "keys[0].owner: must be 1 to 128 bytes without control characters",
        ),
        (
            "team",
            "/keys/0/team",
            json!("a team"),
            "keys[0].team: must be 1 to 64 letters",
        ),
        (
            "counts_as",
            "/keys/0/counts_as",
            json!("a team"),
            "keys[0].counts_as: must be 1 to 64 letters",
        ),
        (
            "multiplier",
            "/keys/0/multiplier",
            json!("0.12345"),
            "keys[0].multiplier: has more than 4 fractional digits",
        ),
        (
            "max_multiplier",
            "/keys/0/max_multiplier",
            json!("0.12345"),
            "keys[0].max_multiplier: has more than 4 fractional digits",
        ),
        (
            "an address",
            "/keys/0/addresses",
            json!(["10.0.0.0/8", "10.0.0/8"]),
            "keys[0].addresses[1]: must be an address or a range",
        ),
        (
            "addresses",
            "/keys/0/addresses",
            json!(vec!["10.0.0.1"; 129]),
            "keys[0].addresses: must name at most 128 addresses",
        ),
        (
            "no models",
            "/keys/0/models",
            json!([]),
            "keys[0].models: must name 1 to 64 models",
        ),
        (
            "a model twice",
            "/keys/0/models",
            json!(["gpt-x", "gpt-x"]),
            "keys[0].models[1]: is listed twice",
        ),
        (
            "no name of a model",
            "/keys/0/models",
            json!(["gpt x"]),
            "keys[0].models[0]: must be 1 to 128 letters",
        ),
        (
            "a model that the group has not",
            "/keys/0/models",
            json!(["gpt-x", "gpt-z"]),
            "keys[0].models[1]: is no model that the group \"mixed\" may use",
        ),
        (
            "key digest short",
            "/keys/0/sha256",
            json!("abc"),
            "keys[0].sha256: must be the 64",
        ),
        (
            "key group dangling",
            "/keys/0/group",
            json!("z"),
            "keys[0].group: names no group of this document; there are mixed, ",
        ),
        (
            "key expiry",
            "/keys/0/expires_at",
            json!("2027-01-01"),
            "keys[0].expires_at: must be a time",
        ),
        (
            "key digest twice",
            "/keys/1",
            json!({"id": "k2", "sha256": DIGEST, "group": "a"}),
            "keys[1].sha256: is the digest of keys[0] too",
        ),
        (
            "key id twice",
            "/keys/1",
            json!({"id": "key_01", "sha256": DIGEST.replace('b', "c"), "group": "a"}),
            "keys[1].id: is the id of another key too",
        ),
    ];
    each_is_named(cases);
}
