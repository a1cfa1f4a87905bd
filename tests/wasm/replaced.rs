//! Roots that were replaced, and live on as long as their streams: they hold nothing up, and bring nothing back.

use serde_json::Value;

use crate::documents::{LOADER, sample, wait_until_it_asks, without_key};
use crate::host::{CallAnswer, LOOK_MS, Process, Vm};
use crate::stream::{chat, exchange};

const BODY: &[u8] = br#"{"model": "gpt-x"}"#;

fn inline(document: &Value) -> String {
    format!(r#"{{"inline": {document}}}"#)
}

/// Applies a plugin configuration as Envoy does: a canary that is thrown away, the main thread's root, one worker's.
fn applied(process: &Process, configuration: &str) -> [Vm; 2] {
    drop(Vm::configured(process, "gateway", configuration));
    [(); 2].map(|()| Vm::configured(process, "gateway", configuration))
}

/// Whether key A is good, as a worker sees it that starts now.
fn good(process: &Process) -> bool {
    let mut vm = Vm::configured(process, "gateway", "{}");
    match exchange(&mut vm, chat("key-a", None), BODY) {
        stream if stream.upstream.complete => true,
        stream if stream.status() == 401 => false,
        stream => panic!("{stream:?}"),
    }
}

/// Ticks all of them, `rounds` times; whoever asks is answered with this.
fn tick_all(process: &Process, vms: &mut [&mut Vm], rounds: usize, answer: &CallAnswer) {
    for _ in 0..rounds {
        process.pass(500);
        for vm in vms.iter_mut() {
            vm.tick();
            for call in vm.calls() {
                vm.answer(call.token, answer.clone()).unwrap();
            }
        }
    }
}

#[test]
fn an_older_inline_document_stays_out() {
    for (case, old_first) in [("it ticks first", true), ("it ticks last", false)] {
        let process = Process::new();
        let [mut old, mut old_too] = applied(&process, &inline(&sample()));
        let nothing = CallAnswer::failed();
        tick_all(&process, &mut [&mut old, &mut old_too], 10, &nothing);
        assert!(good(&process), "{case}");

        let [mut new, mut new_too] = applied(&process, &inline(&without_key("ka")));
        for round in 0..40 {
            let mut all = [&mut old, &mut old_too, &mut new, &mut new_too];
            if !old_first {
                all.rotate_left(2);
            }
            tick_all(&process, &mut all, 1, &nothing);
            assert!(!good(&process), "{case}, round {round}: it was revoked");
        }
        let generation = process.generation();

        // What comes then takes effect, also where it is what was there first. The streams are still open.
        for (document, want) in [
            (sample(), true),
            (without_key("ka"), false),
            (sample(), true),
        ] {
            let mut newest = applied(&process, &inline(&document));
            let [a, b] = &mut newest;
            let mut all = [&mut old, &mut old_too, &mut new, &mut new_too, a, b];
            for round in 0..20 {
                tick_all(&process, &mut all, 1, &nothing);
                assert_eq!(good(&process), want, "{case}, round {round} of {want}");
            }
        }
        assert!(process.generation() > generation, "{case}");
        for vm in [&mut old, &mut old_too, &mut new, &mut new_too] {
            let stream = exchange(vm, chat("key-a", None), BODY);
            assert!(stream.upstream.complete, "{case}: all see the same");
        }
    }
}

/// Envoy tries a configuration before it refuses it for another reason: the root never gets a tick.
#[test]
fn a_configuration_that_is_refused_changes_nothing() {
    let process = Process::new();
    let [mut root, mut peer] = applied(&process, &inline(&sample()));
    let nothing = CallAnswer::failed();
    tick_all(&process, &mut [&mut root, &mut peer], 10, &nothing);
    let generation = process.generation();
    drop(applied(&process, &inline(&without_key("ka"))));
    for round in 0..40 {
        tick_all(&process, &mut [&mut root, &mut peer], 1, &nothing);
        assert!(good(&process), "round {round}");
    }
    assert_eq!(process.generation(), generation);
}

/// The newer configuration was taken away again: the older root is the only one there is.
#[test]
fn an_older_root_comes_back_where_the_newer_one_is_gone() {
    let process = Process::new();
    let [mut old, _] = applied(&process, &inline(&sample()));
    let nothing = CallAnswer::failed();
    tick_all(&process, &mut [&mut old], 10, &nothing);
    let mut new = applied(&process, &inline(&without_key("ka")));
    let [a, b] = &mut new;
    tick_all(&process, &mut [a, b, &mut old], 10, &nothing);
    assert!(!good(&process));
    drop(new);
    tick_all(&process, &mut [&mut old], 30, &nothing);
    assert!(good(&process));
}

/// A fetch that began before another publication ends after it.
#[test]
fn a_late_answer_overtakes_nothing() {
    for (case, etag) in [("a document", false), ("none that is new", true)] {
        let process = Process::new();
        let mut old = Vm::configured(&process, "gateway", LOADER);
        old.load(CallAnswer::ok(sample().to_string()).with("etag", "\"one\""));
        process.pass(500);
        let late = old.tick_and_call();
        let mut new = Vm::configured(&process, "gateway", &inline(&without_key("ka")));
        process.pass(20);
        new.tick();
        assert!(!good(&process), "{case}");
        let generation = process.generation();
        let answer = if etag {
            CallAnswer::status("304", "")
        } else {
            let mut other = sample();
            other["inspect_window"] = 4096.into();
            CallAnswer::ok(other.to_string())
        };
        old.answer(late.token, answer.clone()).unwrap();
        assert_eq!(process.generation(), generation, "{case}");
        tick_all(&process, &mut [&mut old, &mut new], 40, &answer);
        assert_eq!(process.generation(), generation, "{case}");
        assert!(!good(&process), "{case}");
        // Only the older one is left: it begins anew, whatever it knew of its source.
        drop(new);
        wait_until_it_asks(&mut old, &process);
        let call = old.calls().remove(0);
        let asked = crate::host::header(&call.headers, "if-none-match");
        assert_eq!(asked, None, "{case}");
        old.answer(call.token, CallAnswer::ok(sample().to_string()))
            .unwrap();
        assert!(good(&process), "{case}: published again, it is newer");
    }
}

/// A filter with a document of its own beside a singleton whose source never changes.
#[test]
fn a_filter_beside_a_singleton_publishes_nothing() {
    let process = Process::new();
    let mut singleton = Vm::configured(&process, "config-loader", LOADER);
    let revoked = CallAnswer::ok(without_key("ka").to_string());
    singleton.load(revoked.clone());
    let mut filters = applied(&process, &inline(&sample()));
    let [a, b] = &mut filters;
    for round in 0..40 {
        tick_all(&process, &mut [a, b, &mut singleton], 1, &revoked);
        assert!(!good(&process), "round {round}");
    }
    assert_eq!(process.generation(), Some(1));
}

/// A document that another loader published does not stay in force because the source still gives the same.
#[test]
fn the_same_document_is_published_again_after_another() {
    for (case, answer) in [
        ("the same bytes", CallAnswer::ok(sample().to_string())),
        ("304 to whoever has it", CallAnswer::status("304", "")),
    ] {
        let process = Process::new();
        let mut loader = Vm::configured(&process, "config-loader", LOADER);
        let first = CallAnswer::ok(sample().to_string()).with("etag", "\"one\"");
        loader.load(first.clone());
        // An earlier release knows nothing of who loads, and publishes a document of its own.
        let other = Process::new();
        drop(Vm::configured(
            &other,
            "config-loader",
            &inline(&without_key("ka")),
        ));
        process.put("trilane/policy", &other.data("trilane/policy").unwrap());
        process.put("trilane/generation", &7_u64.to_le_bytes());
        process.pass(500);
        let call = loader.tick_and_call();
        assert_eq!(
            crate::host::header(&call.headers, "if-none-match"),
            None,
            "{case}: it must give the whole document"
        );
        let _ = answer;
        loader.answer(call.token, first).unwrap();
        process.pass(LOOK_MS);
        assert!(good(&process), "{case}");
        assert!(process.generation() > Some(7), "{case}");
    }
}

/// No step of the wall clock makes another root load, or keeps one from loading.
#[test]
fn steps_of_the_wall_clock_change_nothing() {
    const DAY: i64 = 86_400_000;
    for (case, step) in [("forward", DAY), ("back", -DAY)] {
        let process = Process::new();
        let mut vms = [(); 2].map(|()| Vm::configured(&process, "gateway", LOADER));
        let answer = CallAnswer::ok(sample().to_string());
        vms[0].load(answer.clone());
        for round in 0..20 {
            process.pass(500);
            process.step(if round % 5 == 0 { step } else { 0 });
            vms[1].tick();
            assert!(vms[1].calls().is_empty(), "{case}, round {round}");
            vms[0].load(answer.clone());
        }
        let age = process.metric("trilane_config_age_seconds");
        assert_eq!(age, Some(0), "{case}");
        // The loader is gone, and the clock with it.
        let [gone, mut peer] = vms;
        drop(gone);
        process.step(step);
        wait_until_it_asks(&mut peer, &process);
    }
}
