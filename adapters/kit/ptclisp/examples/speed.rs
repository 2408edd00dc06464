//! Prints how long a loop of 900 rounds takes, and some other programs, each as the best of many runs. It exits
//! with 1 where one took longer than it may in a build for release; another build is not held to that.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use windlass_kit_ptclisp::{Fault, Inputs, Limits, LispSession, MisuseError, Program, RunStep};

/// The programs by name, and how long each may take, in milliseconds.
const PROGRAMS: &[(&str, u64, &str)] = &[
    ("loop of 900", 1, "(loop [i 0 sum 0] (if (< i 900) (recur (inc i) (+ sum i)) sum))"),
    ("reduce of 900", 1_000, "(reduce + (map #(* % %) (filter odd? (range 900))))"),
    ("conj of 10000", 1_000, "(count (reduce conj [] (range 10000)))"),
    ("assoc of 10000", 1_000, "(count (reduce (fn [m x] (assoc m x (str x))) {} (range 10000)))"),
];

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut slow = false;
    for (name, most_ms, source) in PROGRAMS {
        let mut best = Duration::MAX;
        let mut steps = 0;
        for _ in 0..50 {
            let start = Instant::now();
            steps = run(source)??;
            best = best.min(start.elapsed());
        }
        println!("{name:<16} {:>9.3} ms {steps:>9} steps", best.as_secs_f64() * 1e3);
        if best > Duration::from_millis(*most_ms) {
            eprintln!("{name}: more than {most_ms} ms");
            slow = true;
        }
    }
    if cfg!(debug_assertions) {
        eprintln!("this is no build for release, so nothing is held to its bound");
        return Ok(ExitCode::SUCCESS);
    }
    Ok(match slow {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// Prepares and runs a program; gives its steps.
fn run(source: &str) -> Result<Result<u64, MisuseError>, Fault> {
    let session = LispSession::default();
    let program = Program::prepare(source, &Inputs::default(), &session, &Limits::default())?;
    Ok(program.start(&session).begin().map(|step| match step {
        RunStep::Done(outcome) => outcome.steps,
        RunStep::Calls(_) => 0,
    }))
}
