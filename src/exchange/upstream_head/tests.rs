use std::collections::BTreeSet;
use std::path::Path;

use super::*;

#[rustfmt::skip]
const KEPT_BACK: &[&str] = &[
    // Credentials.
    "authorization", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-goog-api-key", "x-vc-api-key", "xi-api-key",
    "x-auth-token", "x-auth", "x-access-token", "x-id-token", "x-jwt-assertion", "x-jwt", "x-secret", "client-secret",
    "x-client-secret", "x-password", "password", "x-credential", "credentials", "cookie", "cookie2", "set-cookie",
    "ocp-apim-subscription-key", "subscription-key", "x-functions-key", "x-rapidapi-key", "x-litellm-api-key", "x-portkey-api-key",
    "helicone-auth", "cf-aig-authorization", "cf-access-client-secret", "cf-access-jwt-assertion", "x-amz-security-token",
    "x-amz-date", "x-aws-access-key-id", "x-access-key", "x-oauth", "oauth2-token", "x-webauth-user", "authentication",
    "x_api_key", "api_key", "x.api.key", "x-csrf-token", "x-xsrf", "x-hub-signature", "x-master-key", "x-otp",
    "x-forwarded-access-token", "x-forwarded-client-cert", "x-client-cert", "x-ms-token-aad-access-token", "authority",
    "x-goog-iam-authorization-token", "sec-websocket-key", "x-apikey", "x-authtoken", "x-basicauth", "bearer",
    // Addresses.
    "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded", "x-forwarded-prefix", "x-real-ip",
    "x-client-ip", "client-ip", "x-clientip", "x-cluster-client-ip", "cf-connecting-ip", "cf-connecting-ipv6", "true-client-ip",
    "fastly-client-ip", "remote-addr", "x-remote-addr", "x-remote-ip", "remote-user", "via", "x-originating-ip", "x-source-ip",
    "x-envoy-external-address", "cf-ipcountry", "x-geo-city", "x-appengine-user-ip", "x-azure-clientip", "x-original-forwarded-for",
    // Another method, path or form.
    "x-http-method", "x-http-method-override", "x-method", "x-method-override", "x-original-method", "x-original-url",
    "x-original-uri", "x-original-host", "x-rewrite-url", "x-request-uri", "x-host", "x-override-url", "x-accel-redirect",
    "x-proxy-url", "x-path", "x-content-type-override",
    "accept-encoding", "accept-charset", "range", "if-range", "prefer", "x-fields", "x-goog-fieldmask",
    "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    // Another tenant, route or model.
    "openai-organization", "openai-project", "x-goog-user-project", "x-goog-request-params", "x-goog-quota-user",
    "x-goog-api-version", "x-goog-upload-protocol", "anthropic-workspace-id", "anthropic-organization-id", "anthropic-user-profile-id", "chatgpt-account-id",
    "x-tenant-id", "x-model", "x-ai-eg-model", "x-model-provider", "x-backend", "x-upstream", "x-target-url",
    // Orders to gateways, clouds and Envoy.
    "x-litellm-tags", "x-litellm-timeout", "x-portkey-config", "x-portkey-provider", "helicone-target-url", "helicone-cache-enabled",
    "x-vertex-ai-llm-shared-request-type", "x-vertex-ai-llm-request-type", "cf-aig-skip-cache", "cf-ray", "x-ms-client-principal-id", "x-ms-region", "x-amzn-bedrock-trace", "x-amz-target",
    "x-envoy-upstream-rq-timeout-ms", "x-envoy-max-retries", "x-trilane-cluster", "x-trilane-error", "x-kong-request-id",
    "x-consumer-id", "x-arr-ssl", "x-bt-use-cache", "x-bf-vk", "proxy-connection",
];

#[rustfmt::skip]
const PASSED: &[&str] = &[
    ":method", ":path", ":authority", ":scheme", "", "host", "user-agent", "accept", "accept-language", "content-type",
    "content-length", "content-encoding", "transfer-encoding", "connection", "x-request-id", "traceparent", "tracestate",
    "x-forwarded-proto", "x-envoy-internal",
    "anthropic-version", "anthropic-beta", "anthropic-dangerous-direct-browser-access",
    "vb-version", "openai-beta", "x-goog-api-client", "x-stainless-lang", "x-stainless-retry-count",
    "x-stainless-helper-method", "x-stainless-poll-helper", "session-id", "session_id", "x-session-id", "x-session-affinity",
    "conversation_id", "thread-id", "x-claude-code-session-id", "x-codex-turn-metadata", "x-codex-beta-features",
    "x-codex-window-id", "x-codex-installation-id", "x-openai-subagent", "originator", "version", "x-app", "x-title",
    "http-referer", "referer", "origin", "sec-fetch-mode", "x-server-timeout", "x-client-request-id", "x-interaction-id",
    "x-initiator", "date", "priority", "expect", "x-author", "x-max-tokens", "x-keyboard", "x-b3-traceid", "baggage",
    "x-gemini-api-privileged-user-id", "helper-method", "accept-language",
];

#[test]
fn headers_of_requests() {
    for name in KEPT_BACK {
        assert!(is_stripped(name.as_bytes()), "{name} goes on");
        assert_eq!(stripped(name.as_bytes()).as_deref(), Some(*name));
    }
    for name in PASSED {
        assert!(!is_stripped(name.as_bytes()), "{name} stays here");
    }
}

/// Of all that agents and SDKs were seen to send, these headers stay here and no others.
#[test]
fn headers_of_real_clients() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/requests");
    let mut kept = BTreeSet::new();
    let mut passed = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "http") {
            continue;
        }
        let request = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&request).replace("\r\n", "\n");
        let head = text.split("\n\n").next().unwrap();
        for line in head.lines().skip(1) {
            let name = line.split(':').next().unwrap().to_ascii_lowercase();
            let names = if is_stripped(name.as_bytes()) {
                &mut kept
            } else {
                &mut passed
            };
            names.insert(name);
        }
    }
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    let want = [
        "accept-encoding",
        "authorization",
        "sec-websocket-key",
        "x-api-key",
        "x-goog-api-key",
    ];
    assert_eq!(kept, want);
    assert!(passed.len() > 30, "{passed:?}");
}

#[rustfmt::skip]
#[test]
fn headers_of_answers() {
    let withheld = [
        "set-cookie", "set-cookie2", "x-envoy-upstream-service-time", "x-envoy-ratelimited", "x-envoy-attempt-count",
        "x-trilane-error", "x-trilane-again", "x-trilane-cluster", "x-ratelimit-limit-tokens", "ratelimit-policy",
        "anthropic-ratelimit-requests-limit", "x-api-key", "authorization", "x-auth-token", "www-authenticate",
        "authentication-info", "x-amz-security-token",
        // Past this gateway.
        "location", "content-location", "operation-location", "x-location", "refresh", "link", "x-redirect-by", "x-redirect-url",
        "azure-asyncoperation", "x-goog-upload-url", "x-goog-upload-control-url", "alt-svc", "sourcemap", "x-sourcemap", "content-base-uri",
        "x-sendfile", "x-lighttpd-send-file", "x-accel-redirect", "x-accel-expires", "x-reproxy-url", "x-reproxy-file",
        "strict-transport-security", "clear-site-data", "service-worker-allowed", "access-control-allow-origin",
        "access-control-allow-credentials", "access-control-expose-headers", "access-control-max-age", "timing-allow-origin",
        "cross-origin-opener-policy", "cross-origin-resource-policy", "nel", "report-to", "reporting-endpoints", "expect-ct",
        "content-security-policy", "content-security-policy-report-only", "public-key-pins", "proxy-authenticate",
        "proxy-authentication-info", "proxy-status", "proxy-connection", "speculation-rules", "origin-trial",
        "x-permitted-cross-domain-policies",
        // The account.
        "openai-organization", "openai-project", "anthropic-organization-id", "anthropic-workspace-id", "x-goog-project",
        "x-ms-tenant-id", "x-ms-deployment-name", "azureml-model-deployment", "x-account-id", "x-litellm-model-api-base",
        "llm_provider-openai-organization",
    ];
    for name in withheld {
        assert!(is_withheld(name.as_bytes()), "{name} goes on");
    }
    let passed = [
        ":status", "content-type", "content-length", "date", "server", "x-request-id", "request-id", "retry-after", "x-should-retry",
        "openai-processing-ms", "openai-version", "openai-model", "cf-ray", "x-codex-plan-type", "server-timing", "etag",
        "x-goog-upload-status", "x-envoy", "anthropic-fast-mode", "vary", "cache-control", "age", "via", "content-language",
        "content-disposition", "content-encoding", "last-modified", "accept-ranges", "x-content-type-options", "x-cloud-trace-context",
        "x-litellm-call-id", "trailer", "allow", "x-robots-tag", "x-allocation", "expires", "pragma", "x-curl", "origin", "x-database",
    ];
    for name in passed {
        assert!(!is_withheld(name.as_bytes()), "{name} stays here");
    }
}
