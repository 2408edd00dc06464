//! Running programs in tests.

#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a program that does not run is the test's failure"
)]

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;
use windlass_kit_ptclisp::{
    Fault, Inputs, Limits, LispSession, Program, RunEnd, RunOutcome, RunStep, ToolAnswer, ToolCall,
    readable,
};

pub(crate) fn inputs(tools: &[&str]) -> Inputs {
    let tools: BTreeSet<Arc<str>> = tools.iter().map(|tool| Arc::from(*tool)).collect();
    Inputs { tools: Arc::new(tools), ..Inputs::default() }
}

/// Runs a program without tools to its end.
pub(crate) fn run(source: &str) -> RunOutcome {
    run_within(source, &Limits::default()).expect("prepares")
}

pub(crate) fn run_within(source: &str, limits: &Limits) -> Result<RunOutcome, Fault> {
    let session = LispSession::default();
    let program = Program::prepare(source, &inputs(&[]), &session, limits)?;
    match program.start(&session).begin().expect("goes") {
        RunStep::Done(outcome) => Ok(*outcome),
        RunStep::Calls(calls) => panic!("no tool is there, but {calls:?} are called"),
    }
}

/// What a program gives, as it is read.
pub(crate) fn value(source: &str) -> String {
    shown(&run(source))
}

pub(crate) fn shown(outcome: &RunOutcome) -> String {
    match &outcome.end {
        RunEnd::Value(value) => readable(value),
        RunEnd::Return(value) => format!("return {}", readable(value)),
        RunEnd::Fail(value) => format!("fail {}", readable(value)),
        RunEnd::Fault(fault) => format!("{fault}"),
    }
}

/// The fault that a program ends with, before it runs or while it does.
pub(crate) fn fault(source: &str, limits: &Limits) -> Fault {
    match run_within(source, limits) {
        Err(fault) => fault,
        Ok(outcome) => match outcome.end {
            RunEnd::Fault(fault) => fault,
            other @ (RunEnd::Value(_) | RunEnd::Return(_) | RunEnd::Fail(_)) => {
                panic!("{source} ended with {other:?}")
            }
        },
    }
}

/// Runs a program with a tool that is answered by a function; gives the calls too.
pub(crate) fn with_tools(
    source: &str,
    tools: &[&str],
    answer: impl FnMut(&ToolCall) -> ToolAnswer,
) -> (RunOutcome, Vec<ToolCall>) {
    with_tools_within(source, tools, &Limits::default(), answer)
}

/// The same within limits.
pub(crate) fn with_tools_within(
    source: &str,
    tools: &[&str],
    limits: &Limits,
    mut answer: impl FnMut(&ToolCall) -> ToolAnswer,
) -> (RunOutcome, Vec<ToolCall>) {
    let session = LispSession::default();
    let program = Program::prepare(source, &inputs(tools), &session, limits);
    let mut run = program.expect("prepares").start(&session);
    let mut calls = Vec::new();
    let mut step = run.begin().expect("goes");
    loop {
        match step {
            RunStep::Done(outcome) => return (*outcome, calls),
            RunStep::Calls(made) => {
                let answers = made.iter().map(&mut answer);
                step = run.resume(answers.collect()).expect("resumes");
                calls.extend(made);
            }
        }
    }
}

/// A tool that gives its argument `n` back.
pub(crate) fn same(call: &ToolCall) -> ToolAnswer {
    ToolAnswer::Value(call.args.get("n").cloned().unwrap_or(Json::Null))
}
