//! Host calls of proxy-wasm (ABI 0.2.1) and WASI that the filter makes without the SDK, and all that the judge needs of it
//! (`response_filter`).
//!
//! The SDK gives a header block as a list of strings, two allocations and two copies a header, and panics on a name that
//! is not UTF-8 and on a status that it does not know. Here it stays in the one buffer that the host wrote. And the SDK
//! exports every callback there is, each of which the host then makes.
//!
//! This is the only place with `unsafe` in it. Outside WebAssembly it is empty, so that building the whole workspace
//! needs no host.
#![cfg(target_arch = "wasm32")]

mod response_filter;

use core::ptr::null_mut;
use core::time::Duration;

pub use response_filter::{Action, ResponseFilter, allocate};

/// The header block to read, by its map type in the ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum HeaderBlock {
    /// The request's.
    Request = 0,
    /// The answer's.
    Response = 2,
    /// The trailers behind the answer.
    ResponseTrailers = 3,
}

/// A whole header block as the host hands it over: the number of fields, the lengths of each one's name and value (all
/// of them 32 bits, little endian), and then names and values themselves, a zero byte behind each.
///
/// `None` where the host has no such block at this moment.
pub fn header_block(block: HeaderBlock) -> Option<Vec<u8>> {
    // SAFETY: the host writes into both places, and they live through the call.
    written(|data, size| unsafe { proxy_get_header_map_pairs(block as u32, data, size) })
}

/// The first value of a header; `None` where there is none, or the host has no such block at this moment.
pub fn header_value(block: HeaderBlock, name: &str) -> Option<Vec<u8>> {
    written(|data, size| {
        // SAFETY: the host reads the name and writes into both places, and all of them live through the call.
        unsafe { proxy_get_header_map_value(block as u32, name.as_ptr(), name.len(), data, size) }
    })
}

/// Sets a header, in place of all of that name. Nothing happens where the host has no such block at this moment.
pub fn set_header(block: HeaderBlock, name: &str, value: &[u8]) {
    // SAFETY: the host reads both texts, and they live through the call.
    unsafe {
        proxy_replace_header_map_value(
            block as u32,
            name.as_ptr(),
            name.len(),
            value.as_ptr(),
            value.len(),
        );
    }
}

/// The first bytes of the response's body that are there now, at most `size`; `None` where there are none.
pub fn response_body(size: usize) -> Option<Vec<u8>> {
    if size == 0 {
        return None;
    }
    // SAFETY: the host writes into both places, and they live through the call.
    written(|data, got| unsafe { proxy_get_buffer_bytes(RESPONSE_BODY, 0, size, data, got) })
}

/// Calls [`ResponseFilter::on_tick`] in this period, in whole milliseconds; never again where it is zero.
pub fn tick_every(period: Duration) {
    let milliseconds = u32::try_from(period.as_millis()).unwrap_or(u32::MAX);
    // SAFETY: the call takes a number.
    unsafe {
        proxy_set_tick_period_milliseconds(milliseconds);
    }
}

/// Makes another context of this VM the one that calls are of, until the callback returns; whether there is such a context.
pub fn become_context(id: u32) -> bool {
    // SAFETY: the call takes a number.
    unsafe { proxy_set_effective_context(id) == OK }
}

/// Lets the response of the context go on.
pub fn resume_response() {
    // SAFETY: the call takes a number.
    unsafe {
        proxy_continue_stream(RESPONSE_STREAM);
    }
}

/// The bytes that a call had written: where they are, and how many.
fn written(call: impl FnOnce(*mut *mut u8, *mut usize) -> u32) -> Option<Vec<u8>> {
    let mut data = null_mut();
    let mut size = 0;
    let status = call(&raw mut data, &raw mut size);
    if status != OK || data.is_null() {
        return None;
    }
    // SAFETY: the host had this memory of `proxy_on_memory_allocate`, which gives it what a `Vec` with the capacity `size`
    // would have, filled all of it, and keeps no pointer to it.
    Some(unsafe { Vec::from_raw_parts(data, size, size) })
}

/// Nanoseconds of a clock that only ever goes forward, at its own pace: since the same moment for all VMs of a process.
///
/// The SDK has the wall clock alone, and what the standard library makes of this one tells no number that two VMs could
/// compare. `None` where the host has no such clock.
pub fn steady_nanoseconds() -> Option<u64> {
    let mut nanoseconds = 0;
    // SAFETY: the place lives through the call, and the host writes into it alone.
    let status = unsafe { clock_time_get(MONOTONIC, 1, &mut nanoseconds) };
    (status == OK).then_some(nanoseconds)
}

/// The host did what it was asked to.
const OK: u32 = 0;
/// The ABI's number of the body of a response, and of the half of a stream that is its response.
const RESPONSE_BODY: u32 = 1;
const RESPONSE_STREAM: u32 = 1;
/// WASI's name for that clock.
const MONOTONIC: u32 = 1;

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_get_header_map_pairs(block: u32, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_get_header_map_value(
        block: u32,
        name: *const u8,
        name_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    fn proxy_replace_header_map_value(
        block: u32,
        name: *const u8,
        name_size: usize,
        value: *const u8,
        value_size: usize,
    ) -> u32;
    fn proxy_get_buffer_bytes(
        buffer: u32,
        start: usize,
        most: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    fn proxy_set_tick_period_milliseconds(period: u32) -> u32;
    fn proxy_set_effective_context(id: u32) -> u32;
    fn proxy_continue_stream(half: u32) -> u32;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn clock_time_get(clock: u32, precision: u64, time: *mut u64) -> u32;
}
