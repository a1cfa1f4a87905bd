//! The condition of a final 502: every account of the source was refused for its credential, and nothing else went wrong.

use super::*;

const TRY: &str = "via_upstream;-;";
const RESET: &str = "upstream_reset_before_response_started{connection_failure};UF;";
const NO_CREDENTIAL: &str = "failed_to_inject_credential;-;";

#[test]
fn a_502_is_final_where_every_account_was_refused() {
    type Tries<'a> = &'a [(&'a str, u16, &'a str)];
    // What the client gets, and whether asking again is said to be of no use; `None`: the account's own answer.
    type Want = Option<(u16, bool)>;
    const FINAL: Want = Some((502, true));
    const AGAIN: Want = Some((502, false));
    const MAY_NOT: Want = Some((403, true));
    let cases: [(&str, &str, u16, &str, Tries<'_>, Want); 19] = [
        ("a cluster by hand", "k-b", 401, UPSTREAM, &[], FINAL),
        (
            "a cluster by hand, the model",
            "k-b",
            403,
            UPSTREAM,
            &[],
            MAY_NOT,
        ),
        (
            "a cluster by hand, balance",
            "k-b",
            402,
            UPSTREAM,
            &[],
            None,
        ),
        ("a cluster by hand, Envoy's", "k-b", 401, ENVOY, &[], AGAIN),
        ("an only account", "k-b-account", 401, UPSTREAM, &[], FINAL),
        (
            "an only account, the model",
            "k-b-account",
            403,
            UPSTREAM,
            &[],
            MAY_NOT,
        ),
        (
            "an only account, no credential",
            "k-b-account",
            401,
            ENVOY,
            &[],
            AGAIN,
        ),
        (
            "an only account, gone",
            "k-b-account",
            503,
            ENVOY,
            &[],
            AGAIN,
        ),
        (
            "all of several",
            "k-b-accounts",
            401,
            UPSTREAM,
            &[("one", 401, TRY), ("two", 401, TRY)],
            FINAL,
        ),
        (
            "all of several, one by 403",
            "k-b-accounts",
            401,
            UPSTREAM,
            &[("two", 403, TRY), ("one", 401, TRY)],
            FINAL,
        ),
        (
            "all of several, the last by 403",
            "k-b-accounts",
            403,
            UPSTREAM,
            &[("one", 401, TRY), ("two", 403, TRY)],
            MAY_NOT,
        ),
        (
            "one was not asked",
            "k-b-accounts",
            401,
            UPSTREAM,
            &[("one", 401, TRY)],
            AGAIN,
        ),
        (
            "one is broken",
            "k-b-accounts",
            401,
            UPSTREAM,
            &[("one", 500, TRY), ("two", 401, TRY)],
            AGAIN,
        ),
        (
            "one is at its limit",
            "k-b-accounts",
            401,
            UPSTREAM,
            &[("one", 429, TRY), ("two", 401, TRY)],
            AGAIN,
        ),
        (
            "one is unpaid",
            "k-b-accounts",
            401,
            UPSTREAM,
            &[("one", 402, TRY), ("two", 401, TRY)],
            AGAIN,
        ),
        (
            "one is gone",
            "k-b-accounts",
            401,
            UPSTREAM,
            &[("one", 503, RESET), ("two", 401, TRY)],
            AGAIN,
        ),
        (
            "one is gone, the last",
            "k-b-accounts",
            503,
            UPSTREAM,
            &[("one", 401, TRY), ("two", 503, RESET)],
            AGAIN,
        ),
        (
            "one has no credential",
            "k-b-accounts",
            401,
            UPSTREAM,
            &[("two", 401, NO_CREDENTIAL), ("one", 401, TRY)],
            AGAIN,
        ),
        (
            "one broke off, and refused when it was asked again",
            "k-b-accounts",
            401,
            UPSTREAM,
            &[("one", 503, RESET), ("one", 401, TRY), ("two", 401, TRY)],
            FINAL,
        ),
    ];
    let (in_force, world) = setting();
    for (case, key, status, details, tries, want) in cases {
        let key = format!("x-api-key: {key}");
        let headers = [key.as_str(), "anthropic-version: 2023-06-01"];
        let mut exchange = Exchange::default();
        let request = head("POST /v1/messages", &headers);
        exchange.on_request_head(&request, false, Some(&in_force), &world);
        exchange.on_request_body(br#"{"model":"claude-z-2"}"#, true, &world);
        for (account, status, report) in tries {
            world.try_by_hop(account, Some((*status, report)));
        }
        let last = Last { status, details };
        let outcome = after_answer(&mut exchange, &last, &world);
        let got = match &outcome {
            Outcome::Reply(reply) => {
                let stop = ("x-should-retry", "false".to_owned());
                Some((reply.status, reply.headers.contains(&stop)))
            }
            _ => None,
        };
        assert_eq!(got, want, "{case}");
        let told = reply_of(&outcome).map(|(.., body)| body["error"]["message"].to_string());
        let operator = told.is_some_and(|message| message.contains("tell the operator"));
        assert_eq!(operator, want == FINAL, "{case}: who is to be told");
        let record = exchange.on_done(&FakeEnd(""), &world).expect("a record");
        assert_eq!(
            record.ending.name() == "upstream_failed",
            want.is_some(),
            "{case}"
        );
    }
}
