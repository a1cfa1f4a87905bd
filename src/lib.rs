//! trilane
#![forbid(unsafe_code)]
