//! Prints how long a loop of 900 rounds takes, and some other programs, each as the best of many runs.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::time::{Duration, Instant};

use windlass_ptclisp::{Fault, Inputs, Limits, Misuse, Program, Session, Step};

const PROGRAMS: &[(&str, &str)] = &[
    (
        "loop of 900",
        "(loop [i 0 sum 0] (if (< i 900) (recur (inc i) (+ sum i)) sum))",
    ),
    (
        "reduce of 900",
        "(reduce + (map #(* % %) (filter odd? (range 900))))",
    ),
    ("conj of 10000", "(count (reduce conj [] (range 10000)))"),
    (
        "assoc of 10000",
        "(count (reduce (fn [m x] (assoc m x (str x))) {} (range 10000)))",
    ),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, source) in PROGRAMS {
        let mut best = Duration::MAX;
        let mut steps = 0;
        for _ in 0..50 {
            let start = Instant::now();
            steps = run(source)??;
            best = best.min(start.elapsed());
        }
        println!(
            "{name:<16} {:>9.3} ms {steps:>9} steps",
            best.as_secs_f64() * 1e3
        );
    }
    Ok(())
}

/// Prepares and runs a program; gives its steps.
fn run(source: &str) -> Result<Result<u64, Misuse>, Fault> {
    let session = Session::default();
    let program = Program::prepare(source, &Inputs::default(), &session, &Limits::default())?;
    Ok(program.start(&session).go().map(|step| match step {
        Step::Done(outcome) => outcome.steps,
        Step::Calls(_) => 0,
    }))
}
