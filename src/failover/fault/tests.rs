use super::table::FAULTS;
use super::*;

/// Answers as vendors give them: (status, answer, the fault that it tells).
const ANSWERS: &[(u16, &str, Option<AccountFault>)] = {
    use AccountFault::{DeadKey, NoCredit, NoModel, Region, Suspended};
    &[
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},"request_id":"req_1"}"#,
            Some(NoCredit),
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}"#,
            Some(NoCredit),
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."},"request_id":"req_1"}"#,
            Some(Suspended),
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-opus-4-8"}}"#,
            Some(NoModel),
        ),
        (
            400,
            r#"{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            Some(NoCredit),
        ),
        (
            400,
            r#"{"error":{"code":"billing_hard_limit_reached","message":"x","param":null,"type":"invalid_request_error"}}"#,
            Some(NoCredit),
        ),
        (
            400,
            r#"{"error":{"code":null,"message":"Billing hard limit has been reached","param":null,"type":"invalid_request_error"}}"#,
            Some(NoCredit),
        ),
        (
            400,
            r#"{"error":{"message":"Incorrect API key.","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            Some(DeadKey),
        ),
        (
            403,
            r#"{"error":{"message":"x","type":"invalid_request_error","code":"account_deactivated"}}"#,
            Some(Suspended),
        ),
        (
            403,
            r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}"#,
            Some(Region),
        ),
        (
            404,
            r#"{"error":{"message":"The model chat-1 does not exist or you do not have access to it.","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
            Some(NoModel),
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#,
            Some(DeadKey),
        ),
        (
            403,
            r#"{"error":{"code":403,"message":"x","status":"PERMISSION_DENIED","details":[{"reason":"CONSUMER_SUSPENDED"}]}}"#,
            Some(Suspended),
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}]"#,
            Some(Region),
        ),
        (
            404,
            r#"{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}"#,
            Some(NoModel),
        ),
        (
            400,
            r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: na***ys. You can obtain an API key from https://console.x.ai."}"#,
            Some(DeadKey),
        ),
        (
            404,
            r#"{"code":"Some requested entity was not found","error":"The model grok-9 does not exist or your team does not have access to it."}"#,
            Some(NoModel),
        ),
        (
            400,
            r#"{"error":{"message":"Organization has been restricted.","type":"invalid_request_error","code":"organization_restricted"}}"#,
            Some(Suspended),
        ),
        (
            400,
            r#"{"error":{"message":"The model `x` has been decommissioned.","type":"invalid_request_error","code":"model_decommissioned"}}"#,
            Some(NoModel),
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found for a/b:free.","code":404},"user_id":"u"}"#,
            Some(NoModel),
        ),
        (
            400,
            r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            Some(NoModel),
        ),
        (
            404,
            r#"{"error":{"message":"Not found the model kimi-9 or Permission denied","type":"resource_not_found_error"}}"#,
            Some(NoModel),
        ),
        (
            400,
            r#"{"object":"error","message":"Invalid model: x","type":"invalid_model","param":null,"code":"1500"}"#,
            Some(NoModel),
        ),
        (
            400,
            r#"{"error":{"code":"Arrearage","param":null,"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage"},"id":"x"}"#,
            Some(NoCredit),
        ),
        (
            403,
            r#"{"error":{"code":"AccountOverdueError","message":"x","type":"Forbidden"}}"#,
            Some(NoCredit),
        ),
        (
            404,
            r#"{"error":{"code":"ModelNotOpen","message":"x","type":"NotFound"}}"#,
            Some(NoModel),
        ),
        (
            404,
            r#"{"error":{"code":"InvalidEndpointOrModel.NotFound","message":"x","type":"NotFound"}}"#,
            Some(NoModel),
        ),
        (
            400,
            r#"{"code":20012,"message":"Model does not exist. Please check it carefully.","data":null}"#,
            Some(NoModel),
        ),
        (
            404,
            r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#,
            Some(NoModel),
        ),
        (
            404,
            r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404}"#,
            Some(NoModel),
        ),
        (
            404,
            r#"{"error":{"message":"model 'x' not found","type":"not_found_error","param":null,"code":null}}"#,
            Some(NoModel),
        ),
        // The request's own faults.
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: must be positive"}}"#,
            None,
        ),
        (
            400,
            r#"{"code":"Client specified an invalid argument","error":"The model expects a single `text` element per message."}"#,
            None,
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support tool use.","code":404}}"#,
            None,
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"File not found."}}"#,
            None,
        ),
        (
            400,
            r#"{"error":{"message":"The encrypted content ONE could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}"#,
            None,
        ),
        // What a client wrote, repeated.
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.name: 'Your credit balance is too low to access the Anthropic API.' is no name"}}"#,
            None,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"x","param":"insufficient_quota","input":{"code":"insufficient_quota"}}}"#,
            None,
        ),
        // No words of an error, and statuses that say enough.
        (400, "", None),
        (400, "null", None),
        (400, "[]", None),
        (400, r#"{"error":null}"#, None),
        (400, r#"{"error":{"code":"insufficient_quota""#, None),
        (404, "<html>Not Found</html>", None),
        (422, r#"{"error":{"code":"insufficient_quota"}}"#, None),
        (500, r#"{"error":{"code":"insufficient_quota"}}"#, None),
    ]
};

#[test]
fn what_answers_tell() {
    for (status, answer, want) in ANSWERS {
        let told = ToldError::read(*status, answer.as_bytes()).and_then(|told| told.fault);
        assert_eq!(told, *want, "{status} {answer}");
    }
}

#[test]
fn every_row_is_used_and_has_a_page() {
    let used = |row: usize| {
        ANSWERS.iter().any(|(_, answer, _)| {
            let words = ErrorWords::read(answer.as_bytes());
            let first = words.and_then(|words| FAULTS.iter().position(|row| row.fits(&words)));
            first == Some(row)
        })
    };
    for (at, row) in FAULTS.iter().enumerate() {
        assert!(used(at), "no answer for {row:?}");
        assert!(row.page.starts_with("https://"), "{row:?}");
    }
}

#[test]
fn a_long_answer_tells_nothing() {
    let answer = |spaces: usize| {
        format!(
            r#"{{"error":{{"code":"insufficient_quota"}}{}}}"#,
            " ".repeat(spaces)
        )
    };
    let bare = answer(0).len();
    for (spaces, want) in [
        (MAX_ANSWER - bare, Some(AccountFault::NoCredit)),
        (MAX_ANSWER - bare + 1, None),
    ] {
        let told = ToldError::read(400, answer(spaces).as_bytes()).and_then(|told| told.fault);
        assert_eq!(told, want, "{spaces} spaces");
    }
}

/// Answers that refuse `stream_options`, as vendors give them, and answers that do not: (status, answer, whether it does).
const OF_USAGE: &[(u16, &str, bool)] = &[
    (
        400,
        r#"{"error":{"message":"Unknown parameter: 'stream_options'.","type":"invalid_request_error","param":"stream_options","code":"unknown_parameter"}}"#,
        true,
    ),
    (
        400,
        r#"{"error":{"message":"x","type":"invalid_request_error","param":"stream_options.include_usage","code":"unknown_parameter"}}"#,
        true,
    ),
    (
        400,
        r#"{"error":{"message":"x","type":"invalid_request_error","param":"stream_options","code":"unsupported_parameter"}}"#,
        true,
    ),
    (
        400,
        r#"{"error":{"message":"x","type":"invalid_request_error","param":"stream_options.include_usage","code":"unsupported_parameter"}}"#,
        true,
    ),
    (
        400,
        r#"{"error":{"code":null,"message":"Unrecognized request argument supplied: stream_options","param":null,"type":"invalid_request_error"}}"#,
        true,
    ),
    (
        400,
        r#"{"error":{"message":"Unrecognized request argument supplied: stream_options. Please contact us through an Azure support request.","type":"invalid_request_error","param":null,"code":null}}"#,
        true,
    ),
    (
        400,
        r#"{"error":{"message":"property 'stream_options' is unsupported, did you mean 'stream'?","type":"invalid_request_error"}}"#,
        true,
    ),
    (
        422,
        r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs are not permitted","input":true}]},"type":"invalid_request_error","param":null,"code":null}"#,
        true,
    ),
    (
        400,
        r#"{"object":"Error","detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"x"}],"message":"x","type":"invalid_request_error","code":3001}"#,
        true,
    ),
    (
        400,
        r#"{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]","type":"BadRequestError","param":null,"code":400}"#,
        true,
    ),
    (
        404,
        r#"{"error":{"message":"x","param":"stream_options.other","code":"unknown_parameter"}}"#,
        false,
    ),
    (
        400,
        r#"{"error":{"message":"x","param":"stream_options","code":"invalid_type"}}"#,
        false,
    ),
    (
        400,
        r#"{"error":{"message":"messages[0]: Unknown parameter: 'stream_options'.","param":"messages","code":"unknown_parameter"}}"#,
        false,
    ),
    (
        422,
        r#"{"detail":[{"type":"extra_forbidden","loc":["body","tools"],"msg":"x"},{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"x"}]}"#,
        false,
    ),
    (422, r#"{"detail":"stream_options"}"#, false),
    (
        500,
        r#"{"error":{"param":"stream_options","code":"unknown_parameter"}}"#,
        false,
    ),
];

#[test]
fn which_answers_refuse_the_usage_option() {
    for (status, answer, want) in OF_USAGE {
        let told = ToldError::read(*status, answer.as_bytes());
        assert_eq!(
            told.is_some_and(|told| told.refuses_usage),
            *want,
            "{status} {answer}"
        );
    }
    for row in REFUSALS {
        let used = OF_USAGE.iter().any(|(_, answer, _)| {
            ErrorWords::read(answer.as_bytes()).is_some_and(|words| row.fits(&words))
        });
        assert!(
            used && row.page.starts_with("https://"),
            "no answer for {row:?}"
        );
    }
}

#[test]
fn how_vendors_name_errors() {
    // (answer, type, code, parameter)
    type Case<'a> = (&'a str, &'a str, &'a str, &'a str);
    let cases: [Case<'_>; 8] = [
        (
            r#"{"error":{"message":"x","type":"a","param":"b","code":"c"}}"#,
            "a",
            "c",
            "b",
        ),
        (
            r#"{"error":{"message":"x","type":"a","param":null,"code":null}}"#,
            "a",
            "",
            "",
        ),
        (
            r#"{"type":"error","error":{"type":"a","message":"x"},"request_id":"r"}"#,
            "a",
            "",
            "",
        ),
        (
            r#"{"error":{"code":400,"message":"x","status":"INVALID_ARGUMENT","details":[{"x":1},{"reason":"API_KEY_INVALID"}]}}"#,
            "INVALID_ARGUMENT",
            "API_KEY_INVALID",
            "",
        ),
        (
            r#"[{"error":{"code":400,"message":"x","status":"INVALID_ARGUMENT"}}]"#,
            "INVALID_ARGUMENT",
            "400",
            "",
        ),
        (r#"{"code":"Some words","error":"x"}"#, "", "Some words", ""),
        (
            r#"{"message":{"detail":[{"type":"a","loc":["body","messages",0]}]},"type":"b","code":null}"#,
            "b",
            "a",
            "body.messages.0",
        ),
        (
            r#"{"error":{"type":{"a":1},"code":true,"param":["a"]}}"#,
            "",
            "",
            "",
        ),
    ];
    for (answer, kind, code, param) in cases {
        let error = ToldError::read(400, answer.as_bytes()).unwrap().error;
        let text = |member: &Option<SmolStr>| member.clone().unwrap_or_default();
        let got = (text(&error.kind), text(&error.code), text(&error.param));
        assert_eq!((&*got.0, &*got.1, &*got.2), (kind, code, param), "{answer}");
    }
}

#[test]
fn a_header_carries_a_failure() {
    let said = ToldFailure::read(
        404,
        br#"{"error":{"code":"model_not_found","type":"a\"b","param":"model"}}"#,
    );
    let said = said.unwrap();
    assert_eq!(said.told.fault, Some(AccountFault::NoModel));
    let header = said.to_header();
    assert!(
        header.starts_with("no_model{") && header.is_ascii(),
        "{header}"
    );
    assert_eq!(ToldFailure::of_header(&header), Some(said));
    let bare = Some(ToldFailure::from(AttemptFailure::Overloaded));
    for (value, want) in [
        ("overloaded", bare.clone()),
        ("overloaded{}", bare.clone()),
        ("overloaded{broken", bare),
        ("", None),
        ("{}", None),
        ("moonlight{}", None),
    ] {
        assert_eq!(ToldFailure::of_header(value), want, "{value}");
    }
}
