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
