//! Host calls of proxy-wasm (ABI 0.2.1) and WASI that the filter makes without the SDK.
//!
//! The SDK gives a header block as a list of strings, two allocations and two copies a header, and panics on a name that
//! is not UTF-8 and on a status that it does not know. Here it stays in the one buffer that the host wrote.
//!
//! This is the only place with `unsafe` in it. Outside WebAssembly it is empty, so that building the whole workspace
//! needs no host.
#![cfg(target_arch = "wasm32")]

use core::ptr::null_mut;

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
    let mut data = null_mut();
    let mut size = 0;
    // SAFETY: both places live through the call, and the host writes into them alone.
    let status = unsafe { proxy_get_header_map_pairs(block as u32, &mut data, &mut size) };
    if status != OK || data.is_null() {
        return None;
    }
    // SAFETY: the host had this memory of `proxy_on_memory_allocate`, by which the SDK gives it the buffer of a `Vec`
    // whose capacity is `size`, filled all of it, and keeps no pointer to it.
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
/// WASI's name for that clock.
const MONOTONIC: u32 = 1;

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_get_header_map_pairs(block: u32, data: *mut *mut u8, size: *mut usize) -> u32;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn clock_time_get(clock: u32, precision: u64, time: *mut u64) -> u32;
}
