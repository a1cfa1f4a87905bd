use super::*;

/// The name of the member that a key is taken for.
fn name(key: &str) -> Option<&'static str> {
    Some(steering_member(key.as_bytes())?.member()?.name)
}

#[test]
fn members_in_any_spelling() {
    let cases = [
        ("provider", Some("provider")),
        ("Provider", Some("provider")),
        ("PROVIDER", Some("provider")),
        ("providers", Some("providers")),
        ("models", Some("models")),
        ("MODELS", Some("models")),
        ("model\u{17f}", Some("models")),
        ("bac\u{212a}", None),
        ("rout\u{e9}", None),
        ("loc\u{212a}", None),
        ("moc\u{212a}_response", Some("mock_*")),
        ("fallbac\u{212a}s", Some("fallbacks")),
        ("provider_options", Some("provider_options")),
        ("providerOptions", Some("provider_options")),
        ("ProviderOptions", Some("provider_options")),
        ("provider-options", Some("provider_options")),
        ("PROVIDER_OPTIONS", Some("provider_options")),
        ("provider_option", None),
        ("provider_optionss", None),
        ("extraBody", Some("extra_body")),
        ("extrabody", Some("extra_body")),
        ("extra_body_", Some("extra_body")),
        ("_extra__body", Some("extra_body")),
        ("apiBase", Some("api_base")),
        ("mock_response", Some("mock_*")),
        ("mock_testing_content_policy_fallbacks", Some("mock_*")),
        (
            "output_cost_per_token_above_200k_tokens",
            Some("output_cost_per_*"),
        ),
        ("awsRegionName", Some("aws_*")),
        ("deployment", Some("deployment*")),
        ("deploymentId", Some("deployment*")),
        // Only what begins so may be longer than any name.
        (&format!("provider{}", "_".repeat(23)), Some("provider")),
        (&format!("provider{}", "_".repeat(24)), None),
        ("", None),
        ("_", None),
        ("model", None),
        ("mode", None),
        ("provider ", None),
        (" provider", None),
        ("provider\0", None),
        ("openrouter:advisor", None),
    ];
    for (key, want) in cases {
        assert_eq!(name(key), want, "{key:?}");
    }
}

#[test]
fn tools_by_the_beginning_of_their_type() {
    let cases = [
        ("openrouter:advisor", true),
        ("OpenRouter:Advisor", true),
        ("openrouter:experimental__search_models", true),
        ("openrouter:", true),
        ("openrouter", false),
        ("function", false),
        ("web_search", false),
        ("provider", false),
        ("", false),
    ];
    for (kind, want) in cases {
        assert_eq!(steering_tool(kind.as_bytes()).is_some(), want, "{kind}");
    }
}

#[test]
fn every_row_is_found_by_its_own_name_and_no_other() {
    for row in &STEERING {
        let key = row.name.trim_end_matches('*');
        let found = steering_member(key.as_bytes()).or_else(|| steering_tool(key.as_bytes()));
        let found = found.and_then(SteeringId::member);
        assert_eq!(found, Some(row), "{}", row.name);
        assert!(key.len() < MAX_WORD, "{}", row.name);
        let plain = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b':');
        assert!(key.bytes().all(plain), "{}", row.name);
        assert!(!row.page.is_empty(), "{}", row.name);
    }
}

#[test]
fn a_source_lets_some_pass() {
    let mut passes = SteeringSet::default();
    for (name, want) in [
        ("provider", true),
        ("openrouter:*", true),
        ("mock_*", true),
        // These are checked as models, which every source must have.
        ("models", false),
        ("safety_model", false),
        ("Provider", false),
        ("mock_response", false),
        ("temperature", false),
        ("", false),
    ] {
        assert_eq!(passes.allow(name), want, "{name:?}");
        assert_eq!(
            SteeringSet::names().any(|known| known == name),
            want,
            "{name:?}"
        );
    }
    let seen = |keys: &[&str]| {
        let mut seen = SteeringSet::default();
        for key in keys {
            seen.insert(steering_member(key.as_bytes()).unwrap());
        }
        seen.first_outside(passes).map(|member| member.name)
    };
    assert_eq!(seen(&[]), None);
    assert_eq!(seen(&["provider", "mock_response"]), None);
    assert_eq!(seen(&["provider", "extra_body"]), Some("extra_body"));
    assert_eq!(seen(&["extraBody", "plugins"]), Some("plugins"));
}
