//! `trilane serve`: the document, and connections of all kinds.

mod document;
mod http;
mod life;
mod queries;
mod running;
mod slow;
