//! A program with parallel forms comes to what it comes to with each branch after the other.

mod support;

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::json;
use support::{same, shown, with_tools};
use windlass_kit_ptclisp::{Answer, End, Outcome, ToolCall};

/// What a branch does.
#[derive(Clone, Debug)]
enum Part {
    Call(i64),
    Bad(i64),
    Print(i64),
    Zero,
    Return(Box<Part>),
    Fail(Box<Part>),
    Sum(Vec<Part>),
    Branches(Vec<Part>),
}

fn part() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        8 => (0..100_i64).prop_map(Part::Call),
        1 => (0..100_i64).prop_map(Part::Bad),
        4 => (0..100_i64).prop_map(Part::Print),
        1 => Just(Part::Zero),
    ];
    leaf.prop_recursive(5, 60, 5, |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(|part| Part::Return(part.into())),
            1 => inner.clone().prop_map(|part| Part::Fail(part.into())),
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(Part::Sum),
            12 => prop::collection::vec(inner, 1..6).prop_map(Part::Branches),
        ]
    })
}

/// It as a program, its branches side by side or one after the other.
fn written(part: &Part, beside: bool, out: &mut String) {
    let all = |parts: &[Part], out: &mut String, around: (&str, &str)| {
        for part in parts {
            out.push_str(around.0);
            written(part, beside, out);
            out.push_str(around.1);
        }
    };
    match part {
        Part::Call(n) => drop(write!(out, "(tool/same {{:n {n}}})")),
        Part::Bad(n) => drop(write!(out, "(tool/bad {{:n {n}}})")),
        Part::Print(n) => drop(write!(out, "(do (println {n}) {n})")),
        Part::Zero => out.push_str("(/ 1 0)"),
        Part::Return(part) => {
            out.push_str("(return ");
            written(part, beside, out);
            out.push(')');
        }
        Part::Fail(part) => {
            out.push_str("(fail ");
            written(part, beside, out);
            out.push(')');
        }
        Part::Sum(parts) => {
            out.push_str("(reduce + (flatten [");
            all(parts, out, ("", " "));
            out.push_str("]))");
        }
        Part::Branches(parts) if beside => {
            out.push_str("(pcalls");
            all(parts, out, (" (fn [] ", ")"));
            out.push(')');
        }
        Part::Branches(parts) => {
            out.push('[');
            all(parts, out, ("((fn [] ", ")) "));
            out.push(']');
        }
    }
}

/// How it ended, without the names that faults take on.
fn end(outcome: &Outcome) -> String {
    match &outcome.end {
        End::Fault(fault) => fault.message.clone(),
        End::Value(_) | End::Return(_) | End::Fail(_) => shown(outcome),
    }
}

/// What a program comes to, and its calls in any order.
fn run(part: &Part, beside: bool) -> (Outcome, Vec<String>) {
    let mut source = String::new();
    written(part, beside, &mut source);
    let (outcome, calls) = with_tools(&source, &["same", "bad"], |call| match &*call.name {
        "same" => same(call),
        _ => Answer::Error(format!("no {}", call.args["n"])),
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
        if matches!(beside.end, End::Value(_)) {
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
