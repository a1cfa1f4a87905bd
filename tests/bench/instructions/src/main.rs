//! `make instructions`: exchanges for callgrind to count their instructions.
//!
//! Called with a kind of exchange and a number, it runs so many. What the process needs to start and
//! to compile the policy is the same for every number, so the difference between two numbers is
//! exchanges and nothing else.

use std::hint::black_box;
use std::process::ExitCode;

use trilane_instructions::exchange::{Setting, run};
use trilane_instructions::kinds::{KINDS, kind};

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(count)) = (arguments.next(), arguments.next()) else {
        println!("usage: instructions KIND COUNT, where KIND is one of:");
        for name in KINDS {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    };
    let (Some(kind), Ok(count)) = (kind(&name), count.parse::<u32>()) else {
        eprintln!("error: no such kind, or no number: {name}");
        return ExitCode::FAILURE;
    };
    let setting = Setting::of_sample();
    for _ in 0..count {
        black_box(run(&kind, &setting).to_members());
    }
    ExitCode::SUCCESS
}
