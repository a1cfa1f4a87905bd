//! Loading by the filters themselves, where no singleton exists: one of several VMs does it.

use crate::documents::{LOADER, sample, wait_until_it_asks, without_key};
use crate::host::{CallAnswer, LOOK_MS, Process, Vm};
use crate::stream::{chat, exchange};

const BODY: &[u8] = br#"{"model": "gpt-x"}"#;

fn gateways(process: &Process, count: usize) -> Vec<Vm> {
    (0..count)
        .map(|_| Vm::configured(process, "gateway", LOADER))
        .collect()
}

/// Ticks every VM, answers whoever asks, says which ones did.
fn round(vms: &mut [Vm], answer: &CallAnswer) -> Vec<usize> {
    let mut asked = Vec::new();
    for (i, vm) in vms.iter_mut().enumerate() {
        vm.tick();
        for call in vm.calls() {
            asked.push(i);
            vm.answer(call.token, answer.clone()).unwrap();
        }
    }
    asked
}

/// Lets the VMs tick until one of them loads.
fn wait_for_a_holder(vms: &mut [Vm], process: &Process, answer: &CallAnswer) {
    for _ in 0..6 {
        process.pass(500);
        if !round(vms, answer).is_empty() {
            return;
        }
    }
    panic!("nobody loads");
}

#[test]
fn one_vm_loads_for_all() {
    let process = Process::new();
    let mut vms = gateways(&process, 3);
    let good = CallAnswer::ok(sample().to_string());
    for tick in 0..20 {
        assert_eq!(round(&mut vms, &good), [0], "tick {tick}");
        process.pass(500);
    }
    assert_eq!(process.generation(), Some(1));
    for vm in &mut vms {
        let stream = exchange(vm, chat("key-a", None), BODY);
        assert!(stream.upstream.complete, "{stream:?}");
    }
}

#[test]
fn another_takes_over_when_the_holder_is_gone() {
    let process = Process::new();
    let mut vms = gateways(&process, 3);
    let good = CallAnswer::ok(sample().to_string());
    assert_eq!(round(&mut vms, &good), [0]);
    drop(vms.remove(0));
    process.pass(500);
    assert_eq!(
        round(&mut vms, &good),
        [] as [usize; 0],
        "the lease still runs"
    );
    wait_for_a_holder(&mut vms, &process, &good);
    let generation = process.generation().unwrap();
    // The new holder takes over in its own epoch, and goes on alone.
    process.pass(500);
    let fewer = CallAnswer::ok(without_key("ka").to_string());
    assert_eq!(round(&mut vms, &fewer), [0]);
    assert!(process.generation().unwrap() > generation);
    process.pass(LOOK_MS);
    for vm in &mut vms {
        assert_eq!(exchange(vm, chat("key-a", None), BODY).status(), 401);
    }
}

/// The stat must not count from when the new holder came to be, which may be days ago.
#[test]
fn a_new_holder_does_not_call_the_policy_old() {
    let process = Process::new();
    let mut vms = gateways(&process, 2);
    let good = CallAnswer::ok(sample().to_string());
    for _ in 0..100 {
        assert_eq!(round(&mut vms, &good), [0]);
        process.pass(500);
    }
    drop(vms.remove(0));
    wait_for_a_holder(&mut vms, &process, &good);
    let age = process.metric("trilane_config_age_seconds").unwrap();
    assert!(age < 10, "{age} s");
}

/// A VM that slept while another took over must not publish what it fetched before.
#[test]
fn a_late_answer_of_a_former_holder_counts_for_nothing() {
    let process = Process::new();
    let mut vms = gateways(&process, 2);
    let late = vms[0].tick_and_call();
    wait_until_it_asks(&mut vms[1], &process);
    let current = vms[1].calls().remove(0);
    let revoked = CallAnswer::ok(without_key("ka").to_string());
    vms[1].answer(current.token, revoked).unwrap();
    let generation = process.generation();
    let stale = CallAnswer::ok(sample().to_string());
    vms[0].answer(late.token, stale).unwrap();
    assert_eq!(process.generation(), generation);
    assert_eq!(
        exchange(&mut vms[0], chat("key-a", None), BODY).status(),
        401
    );
}

/// A VM that slept through another's whole reign knows nothing of what that one published.
#[test]
fn a_former_holder_that_comes_back_begins_anew() {
    let process = Process::new();
    let mut vms = gateways(&process, 2);
    let good = CallAnswer::ok(sample().to_string());
    let first = vms[0].tick_and_call();
    vms[0].answer(first.token, good.clone()).unwrap();
    wait_until_it_asks(&mut vms[1], &process);
    let second = vms[1].calls().remove(0);
    let revoked = CallAnswer::ok(without_key("ka").to_string());
    vms[1].answer(second.token, revoked).unwrap();
    drop(vms.remove(1));
    let generation = process.generation().unwrap();
    // The source has gone back to what the first one saw last.
    wait_for_a_holder(&mut vms, &process, &good);
    assert!(process.generation().unwrap() > generation);
    process.pass(LOOK_MS);
    let stream = exchange(&mut vms[0], chat("key-a", None), BODY);
    assert!(stream.upstream.complete, "{stream:?}");
}

#[test]
fn a_singleton_comes_first() {
    let process = Process::new();
    let mut filters = gateways(&process, 2);
    let good = CallAnswer::ok(sample().to_string());
    assert_eq!(round(&mut filters, &good), [0]);
    let mut singleton = Vm::configured(&process, "config-loader", LOADER);
    for tick in 0..10 {
        singleton.load(good.clone());
        assert_eq!(round(&mut filters, &good), [] as [usize; 0], "tick {tick}");
        process.pass(500);
    }
}

#[test]
fn an_inline_document_of_a_filter_is_there_for_the_first_request() {
    let process = Process::new();
    let configuration = format!(r#"{{"inline": {}}}"#, sample());
    // The canary, the main thread's instance, two workers.
    let mut vms: Vec<Vm> = (0..4)
        .map(|_| Vm::configured(&process, "gateway", &configuration))
        .collect();
    assert_eq!(process.generation(), Some(1), "published once");
    let stream = exchange(&mut vms[3], chat("key-a", None), BODY);
    assert!(stream.upstream.complete, "{stream:?}");
}
