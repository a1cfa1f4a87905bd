//! The headers by which clients learn what is left of their limits, in each protocol's words.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::limits::{BudgetBalance, Figures, Gauge, Window};
use crate::money::Amount;
use crate::protocol::Protocol;

/// The headers that tell what is left: of rates in the words of the protocol (C has none), of budgets in the same words
/// for all, for no vendor has such.
pub fn of(
    protocol: Protocol,
    figures: &Figures,
    currency: Option<&str>,
) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    match protocol {
        Protocol::A => {
            for (names, gauge) in [(A_REQUESTS, figures.requests), (A_TOKENS, figures.tokens())] {
                put(&mut headers, names, gauge, |gauge| duration(gauge.reset_us));
            }
        }
        Protocol::B => {
            for (names, gauge) in [
                (B_REQUESTS, figures.requests),
                (B_TOKENS, figures.tokens()),
                (B_INPUT, figures.input_tokens),
                (B_OUTPUT, figures.output_tokens),
            ] {
                put(&mut headers, names, gauge, |gauge| {
                    moment(figures.at_us.saturating_add(gauge.reset_us))
                });
            }
        }
        Protocol::C => {}
    }
    for (window, [limit, remaining]) in BUDGETS {
        if let Some(BudgetBalance {
            budget,
            remaining: left,
            ..
        }) = figures.budget(window)
        {
            headers.push((limit, money(budget, currency)));
            headers.push((remaining, money(left, currency)));
        }
    }
    headers
}

/// An amount as headers have it, with its currency where the document names one: `179.499699 USD`.
fn money(amount: Amount, currency: Option<&str>) -> String {
    match currency {
        Some(currency) => format!("{amount} {currency}"),
        None => amount.to_string(),
    }
}

/// Whether a header of an upstream's answer speaks of limits: those of our account there, which are
/// nobody's business. Names are lower-case, as Envoy has them.
pub fn speaks_of_limits(name: &[u8]) -> bool {
    FAMILIES
        .iter()
        .any(|family| name.starts_with(family.as_bytes()))
}

/// The beginnings of the names of such headers: OpenAI's and those that follow it, Anthropic's, the
/// fields of the IETF draft, Azure's.
const FAMILIES: [&str; 5] = [
    "x-ratelimit-",
    "anthropic-ratelimit-",
    "anthropic-priority-",
    "ratelimit",
    "x-ms-ratelimit-",
];

/// The names for limit, remaining and reset.
type Names = [&'static str; 3];

const A_REQUESTS: Names = [
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
];
const A_TOKENS: Names = [
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
];
const B_REQUESTS: Names = [
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
];
const B_TOKENS: Names = [
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
];
const B_INPUT: Names = [
    "anthropic-ratelimit-input-tokens-limit",
    "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset",
];
const B_OUTPUT: Names = [
    "anthropic-ratelimit-output-tokens-limit",
    "anthropic-ratelimit-output-tokens-remaining",
    "anthropic-ratelimit-output-tokens-reset",
];

/// The names for the budget of a window and what is left of it. [An upstream](crate::exchange::is_withheld) cannot
/// say them.
const BUDGETS: [(Window, [&str; 2]); 2] = [
    (
        Window::Day,
        [
            "x-trilane-budget-limit-day",
            "x-trilane-budget-remaining-day",
        ],
    ),
    (
        Window::Month,
        [
            "x-trilane-budget-limit-month",
            "x-trilane-budget-remaining-month",
        ],
    ),
];

fn put(
    headers: &mut Vec<(&'static str, String)>,
    [limit, remaining, reset]: Names,
    gauge: Option<Gauge>,
    until: impl FnOnce(&Gauge) -> String,
) {
    if let Some(gauge) = gauge {
        headers.push((limit, gauge.limit.to_string()));
        headers.push((remaining, gauge.remaining.to_string()));
        headers.push((reset, until(&gauge)));
    }
}

/// A duration as protocol A writes it: `6m0s`, `1.5s`, `20ms`.
fn duration(us: u64) -> String {
    let ms = us.div_ceil(1000);
    let (minutes, rest) = (ms / 60_000, ms % 60_000);
    let (seconds, thousandths) = (rest / 1000, rest % 1000);
    if ms < 1000 {
        return format!("{ms}ms");
    }
    let fraction = if thousandths == 0 {
        String::new()
    } else {
        let digits = format!(".{thousandths:03}");
        digits.trim_end_matches('0').to_owned()
    };
    if minutes > 0 {
        format!("{minutes}m{seconds}{fraction}s")
    } else {
        format!("{seconds}{fraction}s")
    }
}

/// A moment as protocol B writes it, in whole seconds: `2026-11-22T10:15:30Z`.
pub fn moment(us: u64) -> String {
    let seconds = i64::try_from(us.div_ceil(1_000_000)).unwrap_or(i64::MAX);
    OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|moment| moment.format(&Rfc3339).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases = [
            (0, "0ms"),
            (1, "1ms"),
            (999_000, "999ms"),
            (1_000_000, "1s"),
            (1_500_000, "1.5s"),
            (8_640_000, "8.64s"),
            (60_000_000, "1m0s"),
            (359_999_001, "6m0s"),
            (90_250_000, "1m30.25s"),
        ];
        for (us, want) in cases {
            assert_eq!(duration(us), want, "{us}");
        }
    }

    #[test]
    fn what_each_protocol_is_told() {
        let gauge = |limit, remaining, reset_us| {
            Some(Gauge {
                limit,
                remaining,
                reset_us,
            })
        };
        let figures = Figures {
            requests: gauge(60, 59, 1_000_000),
            input_tokens: gauge(1000, 900, 6_000_000),
            output_tokens: gauge(500, 100, 48_000_000),
            budgets: [None; 2],
            at_us: 1_790_000_000_000_000,
        };
        let written = |protocol| {
            let headers = of(protocol, &figures, None).into_iter();
            headers
                .map(|(name, value)| format!("{name}: {value}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            written(Protocol::A),
            [
                "x-ratelimit-limit-requests: 60",
                "x-ratelimit-remaining-requests: 59",
                "x-ratelimit-reset-requests: 1s",
                "x-ratelimit-limit-tokens: 500",
                "x-ratelimit-remaining-tokens: 100",
                "x-ratelimit-reset-tokens: 48s",
            ]
        );
        assert_eq!(
            written(Protocol::B),
            [
                "anthropic-ratelimit-requests-limit: 60",
                "anthropic-ratelimit-requests-remaining: 59",
                "anthropic-ratelimit-requests-reset: 2026-09-21T14:13:21Z",
                "anthropic-ratelimit-tokens-limit: 500",
                "anthropic-ratelimit-tokens-remaining: 100",
                "anthropic-ratelimit-tokens-reset: 2026-09-21T14:14:08Z",
                "anthropic-ratelimit-input-tokens-limit: 1000",
                "anthropic-ratelimit-input-tokens-remaining: 900",
                "anthropic-ratelimit-input-tokens-reset: 2026-09-21T14:13:26Z",
                "anthropic-ratelimit-output-tokens-limit: 500",
                "anthropic-ratelimit-output-tokens-remaining: 100",
                "anthropic-ratelimit-output-tokens-reset: 2026-09-21T14:14:08Z",
            ]
        );
        assert_eq!(written(Protocol::C), [""; 0]);
        for header in written(Protocol::A).iter().chain(&written(Protocol::B)) {
            assert!(speaks_of_limits(header.as_bytes()), "{header}");
        }
    }

    #[test]
    fn what_is_left_of_budgets() {
        let balance = |remaining, budget| {
            let [remaining, budget] = [remaining, budget].map(|text| Amount::parse(text).unwrap());
            Some(BudgetBalance {
                remaining,
                budget,
                spent: Amount::ZERO,
            })
        };
        let day = [
            ("x-trilane-budget-limit-day", "10"),
            ("x-trilane-budget-remaining-day", "0.00000000000000000001"),
        ];
        let month = [
            ("x-trilane-budget-limit-month", "200.5"),
            ("x-trilane-budget-remaining-month", "0"),
        ];
        let both: Vec<_> = day.into_iter().chain(month).collect();
        let (of_day, of_month) = (
            balance("0.00000000000000000001", "10.00"),
            balance("0", "200.50"),
        );
        // (budgets, currency, what is told)
        let cases = [
            ([None, None], Some("USD"), Vec::new()),
            ([of_day, None], None, day.to_vec()),
            ([None, of_month], None, month.to_vec()),
            ([of_day, of_month], None, both.clone()),
            ([of_day, of_month], Some("EUR"), both),
        ];
        for (budgets, currency, want) in cases {
            let figures = Figures {
                budgets,
                ..Figures::default()
            };
            let end = currency.map(|code| format!(" {code}")).unwrap_or_default();
            let want: Vec<_> = want
                .into_iter()
                .map(|(name, amount)| (name, format!("{amount}{end}")))
                .collect();
            for protocol in [Protocol::A, Protocol::B, Protocol::C] {
                let case = format!("{protocol}, {budgets:?}, {currency:?}");
                assert_eq!(of(protocol, &figures, currency), want, "{case}");
            }
        }
    }

    #[test]
    fn what_speaks_of_limits() {
        let cases = [
            ("x-ratelimit-limit-project-tokens", true),
            ("anthropic-ratelimit-unified-status", true),
            ("anthropic-priority-input-tokens-limit", true),
            ("ratelimit-remaining", true),
            ("ratelimit", true),
            ("ratelimit-policy", true),
            ("x-ms-ratelimit-remaining-tokens", true),
            ("retry-after", false),
            ("x-request-id", false),
            ("anthropic-organization-id", false),
        ];
        for (name, want) in cases {
            assert_eq!(speaks_of_limits(name.as_bytes()), want, "{name}");
        }
    }
}
