//! `trilane serve`: what is answered, and that a reader who follows the protocol ends with exactly the keys there are.

mod document;
mod file;
mod http;
mod life;
mod limits;
mod listing;
mod model;
mod owner;
mod queries;
mod reader;
mod running;
mod slow;
mod sqlite;
mod statements;
