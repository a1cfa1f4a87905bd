use super::*;
use crate::auth::KeyStore;
use crate::config::snapshot;
use crate::exchange::{Clock, Quotas};
use crate::host::fake::{FakeHost, FakeProcess};

fn root(configuration: &str, host: &FakeHost) -> WorkerRoot {
    let mut root = WorkerRoot::new(1, Rc::default());
    assert!(
        root.configure(configuration.as_bytes(), host),
        "{configuration}"
    );
    root
}

#[test]
fn a_configuration_is_accepted_or_not() {
    let group = r#"{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}"#;
    let valid = format!(r#"{{"inline": {{"groups": [{group}], "keys": []}}}}"#);
    // (configuration, whether it is accepted, whether the limits service is asked, the period in milliseconds)
    let cases = [
        ("", true, false, LONGEST_TICK_MS),
        (r#"{"limits_service": true}"#, true, true, LONGEST_TICK_MS),
        (r#"{"source": {"cluster": "c"}}"#, true, false, 500),
        (
            r#"{"source": {"cluster": "c"}, "tick_ms": 60000}"#,
            true,
            false,
            LONGEST_TICK_MS,
        ),
        (valid.as_str(), true, false, 20),
        (
            r#"{"inline": {"groups": [{}]}}"#,
            false,
            false,
            LONGEST_TICK_MS,
        ),
        ("{", false, false, LONGEST_TICK_MS),
    ];
    for (configuration, accepted, service, period) in cases {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let mut root = WorkerRoot::new(1, Rc::default());
        let got = root.configure(configuration.as_bytes(), &host);
        assert_eq!(got, accepted, "{configuration}");
        let environment = root.worker.environment(&host);
        assert_eq!(environment.reach_service(), service, "{configuration}");
        let want = Some(Duration::from_millis(period));
        assert_eq!(host.period.get(), want, "{configuration}");
    }
}

#[test]
fn a_snapshot_that_cannot_be_read_is_logged_once() {
    let process = FakeProcess::start();
    let host = FakeHost::of(&process);
    let root = root("{}", &host);
    let in_force = || root.worker.environment(&host).latest_policy();
    assert!(in_force().is_none());
    host.set(snapshot::POLICY, b"{}", None).unwrap();
    host.set(snapshot::GENERATION, &1_u64.to_le_bytes(), None)
        .unwrap();
    for _ in 0..3 {
        assert!(in_force().is_none());
    }
    assert_eq!(host.take_lines().len(), 1);
}

#[test]
fn a_callback_has_one_time() {
    let process = FakeProcess::start();
    let host = FakeHost::of(&process);
    let root = root("{}", &host);
    let environment = root.worker.environment(&host);
    let (steady, wall) = (environment.now_us(), environment.now());
    process.pass_ms(5000);
    assert_eq!((environment.now_us(), environment.now()), (steady, wall));
    let later = root.worker.environment(&host);
    assert_eq!(later.now_us(), steady + 5_000_000);
    assert_eq!(later.now(), wall + 5);
}
