//! A limit of memory holds within twice its value as resident memory, whatever takes it. The only test of its
//! process, so that nothing else is resident.

#![allow(clippy::print_stderr, reason = "what is not checked is said")]

mod support;

use support::{fault, inputs};
use windlass_kit_ptclisp::{FaultClass, Limits, LispSession, Program, RunEnd, RunStep, ToolAnswer};

const LIMIT: u64 = 32 << 20;

/// The most bytes that were resident, where the system says.
fn most_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}

fn limits() -> Limits {
    Limits { memory_bytes: LIMIT, loop_rounds: 0, tool_calls: u32::MAX, ..Limits::default() }
}

/// A `try` whose `finally` holds another, and so on.
fn nested_finally(deep: usize) -> String {
    format!("{}2{}", "(try 1 (finally ".repeat(deep), "))".repeat(deep))
}

/// Keeps what a tool answers until there is no memory for it.
fn keep_answers(answer: &ToolAnswer) -> FaultClass {
    let source = "(loop [all []] (recur (conj all (tool/rows {}))))";
    let session = LispSession::default();
    let Ok(program) = Program::prepare(source, &inputs(&["rows"]), &session, &limits()) else {
        unreachable!("it is well-formed")
    };
    let mut run = program.start(&session);
    let mut step = run.begin();
    loop {
        step = match step {
            Ok(RunStep::Calls(calls)) => run.resume(vec![answer.clone(); calls.len()]),
            Ok(RunStep::Done(outcome)) => match outcome.end {
                RunEnd::Fault(fault) => return fault.class,
                RunEnd::Value(_) | RunEnd::Return(_) | RunEnd::Fail(_) => {
                    unreachable!("it is endless")
                }
            },
            Err(misuse) => unreachable!("{misuse}"),
        };
    }
}

/// Answers all calls of a program.
fn with_arguments(source: &str) -> FaultClass {
    let (outcome, _) =
        support::with_tools_within(source, &["rows"], &limits(), |_| ToolAnswer::Value(1.into()));
    match outcome.end {
        RunEnd::Fault(fault) => fault.class,
        RunEnd::Value(_) | RunEnd::Return(_) | RunEnd::Fail(_) => {
            unreachable!("it ends with a value")
        }
    }
}

#[test]
fn a_limit_of_memory_holds_within_twice_its_value() {
    let Some(before) = most_resident() else {
        eprintln!("resident memory is not checked: the system does not say it");
        return;
    };
    let check = |what: &str, class: FaultClass| {
        assert_eq!(class, FaultClass::Memory, "{what}");
        let grown = most_resident().unwrap_or_default().saturating_sub(before);
        assert!(grown <= 2 * LIMIT, "{what}: {} MiB of {} MiB", grown >> 20, LIMIT >> 20);
    };
    for source in [
        "(take-while some? (map (fn [n] {:n n :m [n]}) (iterate inc 1)))",
        "(take-while some? (map (fn [n] #{n}) (iterate inc 1)))",
        "(take-while some? (map (fn [n] {n {n {n n}}}) (iterate inc 1)))",
        "(take-while some? (map str (iterate inc 1)))",
        "(take-while some? (map (fn [n] (fn [] n)) (iterate inc 1)))",
        "(loop [m {} n 0] (recur (assoc m n [n]) (inc n)))",
        "(loop [s #{} n 0] (recur (conj s n) (inc n)))",
        "(loop [all []] (recur (conj all (vec (range 100)))))",
        "(loop [s \"a\"] (recur (str s s)))",
    ] {
        check(source, fault(source, &limits()).class);
    }
    let doubled = "(loop [c (map inc) n 0] (if (< n 23) (recur (comp c c) (inc n)) c))";
    check("shared transducers", fault(&format!("(into [] {doubled} [])"), &limits()).class);
    for source in [
        "(let [xs (vec (range 100000)) f (fn [_] xs)]
           (into [] (comp (apply comp (repeat 300 (mapcat f))) (take 1)) [1]))",
        &nested_finally(40),
    ] {
        let outcome = support::run_within(source, &limits());
        assert!(outcome.is_ok_and(|outcome| matches!(outcome.end, RunEnd::Value(_))), "{source}");
        check(source, FaultClass::Memory);
    }
    let row = r#"{"id":7,"name":"Ann","tags":["a","b"],"home":{"city":"Rome","zip":null}}"#;
    let rows = format!("[{}]", vec![row; 500].join(","));
    check("rows of data", keep_answers(&ToolAnswer::Output(rows.as_str().into())));
    let big = "(apply str (repeat 2000000 \"x\"))";
    let source =
        format!("(def big {big}) (pmap (fn [n] (tool/rows {{:n n :big big}})) (range 64))");
    check("arguments of calls", with_arguments(&source));
    check("rows of text", keep_answers(&ToolAnswer::Text(rows.into())));
}
