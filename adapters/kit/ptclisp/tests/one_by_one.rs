//! A program with parallel forms comes to what it comes to with each branch after the other.

mod support;

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::json;
use support::{same, shown, with_tools};
use windlass_kit_ptclisp::{RunEnd, RunOutcome, ToolAnswer, ToolCall};

/// What a branch does.
#[derive(Clone, Debug)]
enum BranchAction {
    Call(i64),
    Bad(i64),
    Print(i64),
    Zero,
    Return(Box<BranchAction>),
    Fail(Box<BranchAction>),
    Sum(Vec<BranchAction>),
    Branches(Vec<BranchAction>),
}

fn part() -> impl Strategy<Value = BranchAction> {
    let leaf = prop_oneof![
        8 => (0..100_i64).prop_map(BranchAction::Call),
        1 => (0..100_i64).prop_map(BranchAction::Bad),
        4 => (0..100_i64).prop_map(BranchAction::Print),
        1 => Just(BranchAction::Zero),
    ];
    leaf.prop_recursive(5, 60, 5, |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(|part| BranchAction::Return(part.into())),
            1 => inner.clone().prop_map(|part| BranchAction::Fail(part.into())),
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(BranchAction::Sum),
            12 => prop::collection::vec(inner, 1..6).prop_map(BranchAction::Branches),
        ]
    })
}

/// It as a program, its branches side by side or one after the other.
fn written(part: &BranchAction, beside: bool, out: &mut String) {
    let all = |parts: &[BranchAction], out: &mut String, around: (&str, &str)| {
        for part in parts {
            out.push_str(around.0);
            written(part, beside, out);
            out.push_str(around.1);
        }
    };
    match part {
        BranchAction::Call(n) => drop(write!(out, "(tool/same {{:n {n}}})")),
        BranchAction::Bad(n) => drop(write!(out, "(tool/bad {{:n {n}}})")),
        BranchAction::Print(n) => drop(write!(out, "(do (println {n}) {n})")),
        BranchAction::Zero => out.push_str("(/ 1 0)"),
        BranchAction::Return(part) => {
            out.push_str("(return ");
            written(part, beside, out);
            out.push(')');
        }
        BranchAction::Fail(part) => {
            out.push_str("(fail ");
            written(part, beside, out);
            out.push(')');
        }
        BranchAction::Sum(parts) => {
            out.push_str("(reduce + (flatten [");
            all(parts, out, ("", " "));
            out.push_str("]))");
        }
        BranchAction::Branches(parts) if beside => {
            out.push_str("(pcalls");
            all(parts, out, (" (fn [] ", ")"));
            out.push(')');
        }
        BranchAction::Branches(parts) => {
            out.push('[');
            all(parts, out, ("((fn [] ", ")) "));
            out.push(']');
        }
    }
}

/// How it ended, without the names that faults take on.
fn end(outcome: &RunOutcome) -> String {
    match &outcome.end {
        RunEnd::Fault(fault) => fault.message.clone(),
        RunEnd::Value(_) | RunEnd::Return(_) | RunEnd::Fail(_) => shown(outcome),
    }
}

/// What a program comes to, and its calls in any order.
fn run(part: &BranchAction, beside: bool) -> (RunOutcome, Vec<String>) {
    let mut source = String::new();
    written(part, beside, &mut source);
    let (outcome, calls) = with_tools(&source, &["same", "bad"], |call| match &*call.name {
        "same" => same(call),
        _ => ToolAnswer::Error(format!("no {}", call.args["n"])),
    });
    let told = |call: &ToolCall| format!("{} {}", call.name, json!(call.args));
    let mut calls: Vec<String> = calls.iter().map(told).collect();
    calls.sort();
    (outcome, calls)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// It makes all the calls that it makes then, and prints all that it prints then.
    #[test]
    fn side_by_side_comes_to_what_one_after_the_other_does(part in part()) {
        let (beside, calls) = run(&part, true);
        let (by_one, mut needed) = run(&part, false);
        prop_assert_eq!(end(&beside), end(&by_one));
        prop_assert!(beside.prints.starts_with(&by_one.prints));
        if matches!(beside.end, RunEnd::Value(_)) {
            prop_assert_eq!(beside.prints.len(), by_one.prints.len());
            prop_assert_eq!(calls.len(), needed.len());
        }
        for call in &calls {
            if let Ok(at) = needed.binary_search(call) {
                needed.remove(at);
            }
        }
        prop_assert!(needed.is_empty(), "not made: {:?}", needed);
    }
}
