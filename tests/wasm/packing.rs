//! A held body takes up little more memory than it is long, and to keep it so costs little, whatever its chunks are.

use serde_json::json;

use crate::documents::{LOADER, sample};
use crate::host::{CallAnswer, Process, Vm};
use crate::stream::{Stream, chat};

/// The length of the held body, in bytes: the usual window.
const WINDOW: usize = 256 * 1024;
/// The memory that may be free in a body of any length: eight units, and the one that is being filled.
const FREE: usize = 9 * 16 * 1024;
/// The maximum number of bytes that packing copies, as a multiple of the body's length.
const COPIES: usize = 32;

/// A gateway that holds [`WINDOW`] bytes.
fn gateway(process: &Process) -> Vm {
    let mut document = sample();
    document["inspect_window"] = json!(WINDOW);
    let mut loader = Vm::configured(process, "config-loader", LOADER);
    loader.load(CallAnswer::ok(document.to_string()));
    Vm::configured(process, "gateway", "{}")
}

#[test]
fn whatever_the_chunks_are() {
    // The lengths of the chunks, again and again, and how many bytes of them: those of one byte are many.
    let cases: [(&str, &[usize], usize); 9] = [
        ("one byte", &[1], 12_000),
        ("the longest that are joined", &[511], WINDOW),
        ("the shortest that are not joined", &[512], WINDOW),
        ("one of each", &[512, 1], WINDOW),
        ("700 bytes", &[700], WINDOW),
        ("a page", &[4096], WINDOW),
        ("a unit but for a byte", &[16_383], WINDOW),
        ("a unit and a byte", &[16_385], WINDOW),
        (
            "few long ones, many short ones",
            &[70_000, 600, 600, 600],
            WINDOW,
        ),
    ];
    let process = Process::new();
    let mut vm = gateway(&process);
    for (case, lengths, bytes) in cases {
        let mut stream = Stream::new(&mut vm, chat("key-a", None));
        stream.head(&mut vm, false).unwrap();
        let start = br#"{"messages": ""#;
        stream.body(&mut vm, start, false).unwrap();
        let mut held = start.len();
        (vm.host().layout.read, vm.host().layout.written) = (0, 0);
        for length in lengths.iter().cycle() {
            if held + length >= bytes {
                break;
            }
            stream.body(&mut vm, &vec![b'x'; *length], false).unwrap();
            held += length;
            let layout = &vm.host().layout;
            assert_eq!(layout.length(), held, "{case}: all of it is held");
            let memory = layout.memory();
            assert!(memory <= 2 * held + FREE, "{case}: {memory} for {held}");
        }
        let layout = &vm.host().layout;
        let (read, written) = (layout.read, layout.written);
        assert!(written <= COPIES * held, "{case}: {written} of {held}");
        // Once by the scanner, besides.
        assert!(read <= written + held, "{case}: {read} of {held}");
        stream
            .body(&mut vm, br#"", "model": "gpt-x"}"#, true)
            .unwrap();
        assert!(stream.upstream.complete, "{case}: {stream:?}");
        let text = String::from_utf8(stream.upstream.body).unwrap();
        let want = format!(
            r#"{{"messages": "{}", "model": "gpt-x"}}"#,
            "x".repeat(held - start.len())
        );
        assert_eq!(text, want, "{case}");
    }
}
