//! A filter that looks at responses only: the functions by which Envoy calls it, without the SDK.
//!
//! Envoy makes no call for which there is no function, so requests cost such a filter nothing in the VM.

use core::ptr::null_mut;
use std::alloc::{Layout, alloc};

/// The next thing that happens to a part of a response, by its number in the ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Action {
    /// It goes on, with all of it that was kept.
    Continue = 0,
    /// It is kept.
    Pause = 1,
}

/// A filter of responses. A stream is known by the id of its context.
pub trait ResponseFilter {
    /// The headers have come; `end` says that nothing follows.
    fn on_headers(stream: u32, end: bool) -> Action;
    /// More of the body has come: `size` bytes are there. `end` says that no more follow.
    fn on_body(stream: u32, size: usize, end: bool) -> Action;
    /// The trailers have come.
    fn on_trailers(stream: u32) -> Action;
    /// The stream is over.
    fn on_done(stream: u32);
    /// The timer has run down.
    fn on_tick();
}

/// Memory for the host to write into; null where there is none.
#[must_use]
pub fn allocate(size: usize) -> *mut u8 {
    match Layout::array::<u8>(size) {
        // SAFETY: the layout is not empty.
        Ok(layout) if size > 0 => unsafe { alloc(layout) },
        _ => null_mut(),
    }
}

/// Makes a [`ResponseFilter`] the filter that a module has.
#[macro_export]
macro_rules! response_filter {
    ($filter:ty) => {
        /// The functions that Envoy calls.
        mod exports {
            use super::*;
            use $crate::ResponseFilter as Filter;

            unsafe extern "C" {
                fn __wasm_call_ctors();
            }

            #[unsafe(no_mangle)]
            extern "C" fn _initialize() {
                // SAFETY: the host calls this first, and once.
                unsafe { __wasm_call_ctors() }
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_abi_version_0_2_1() {}

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_memory_allocate(size: usize) -> *mut u8 {
                $crate::allocate(size)
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_response_headers(stream: u32, _count: u32, end: u32) -> u32 {
                <$filter as Filter>::on_headers(stream, end != 0) as u32
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_response_body(stream: u32, size: usize, end: u32) -> u32 {
                <$filter as Filter>::on_body(stream, size, end != 0) as u32
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_response_trailers(stream: u32, _count: u32) -> u32 {
                <$filter as Filter>::on_trailers(stream) as u32
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_done(stream: u32) -> u32 {
                <$filter as Filter>::on_done(stream);
                1
            }

            #[unsafe(no_mangle)]
            extern "C" fn proxy_on_tick(_root: u32) {
                <$filter as Filter>::on_tick();
            }
        }
    };
}
