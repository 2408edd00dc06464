//! Programs that try to take more than they are given each end with a typed fault, at the same step every
//! time, and with little memory.

#![allow(clippy::print_stderr, reason = "what is not checked is said")]

mod support;

use std::fmt::Write;

use support::{fault, run, run_within, with_tools};
use windlass_kit_ptclisp::{FaultClass, Limits, RunEnd, ToolAnswer};

/// The bytes that are resident, where the system says.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}

/// Runs it, expects the class, and that the process has not grown beyond what the limit allows.
fn ends(source: &str, class: FaultClass) {
    ends_with(source, &[class]);
}

/// As `ends`, where steps and memory run out at about the same time.
fn spends(source: &str) {
    ends_with(source, &[FaultClass::Fuel, FaultClass::Memory]);
}

fn ends_with(source: &str, classes: &[FaultClass]) {
    let before = resident();
    let limits = Limits { steps: 1_000_000, memory_bytes: 32 << 20, ..Limits::default() };
    let found = fault(source, &limits);
    let shown: String = source.chars().take(80).collect();
    assert!(classes.contains(&found.class), "{shown}: {found}");
    match (before, resident()) {
        (Some(before), Some(after)) => {
            let grown = after.saturating_sub(before);
            assert!(grown < 3 * limits.memory_bytes, "{shown}: grew by {grown} bytes");
        }
        _ => eprintln!("resident memory is not checked: the system does not say it"),
    }
}

#[test]
fn endless_loops() {
    ends("(loop [i 0] (recur (inc i)))", FaultClass::LoopLimit);
    ends("((fn [] (recur)))", FaultClass::LoopLimit);
    ends("(defn f [] (f)) (f)", FaultClass::Depth);
    ends("(def f (fn [g] (g g))) (f f)", FaultClass::Depth);
    ends("(defn f [n] (+ 1 (f n))) (f 1)", FaultClass::Depth);
    ends("(prewalk #(vector %) 1)", FaultClass::Depth);
    spends("(tree-seq identity (fn [x] [x x]) 1)");
    ends("(tree-seq identity (fn [x] [[x x] [x x]]) 1)", FaultClass::Depth);
    ends("(doseq [a (range 1000) b (range 1000) c (range 1000)] (inc a))", FaultClass::Fuel);
    ends(
        "(reduce (fn [a x] (reduce (fn [b y] (+ y b)) a (range 10000))) 0 (range 100000))",
        FaultClass::Fuel,
    );
}

#[test]
fn memory_bombs() {
    ends("(range 1000000000000)", FaultClass::Memory);
    ends("(repeat 1000000000 1)", FaultClass::Memory);
    spends("(reduce (fn [s _] (str s s)) \"aaaaaaaa\" (range 60))");
    spends("(reduce (fn [v _] (into v v)) [1] (range 60))");
    spends("(reduce (fn [v _] (concat v v)) [1] (range 60))");
    ends("(bit-shift-left 1 1000000000000)", FaultClass::Memory);
    ends("(bit-flip 1 99999999999999999999)", FaultClass::Memory);
    spends("(replace (apply str (repeat 100000 \"a\")) \"a\" (apply str (repeat 100000 \"b\")))");
    spends("(map (fn [i] (apply str (repeat 1000 \"abcdefghij\"))) (range 1000000))");
    ends(
        "(doseq [i (range 100000)] (println (apply str (repeat 100 \"x\"))))",
        FaultClass::PrintLimit,
    );
}

#[test]
fn numbers_that_grow() {
    spends("(reduce (fn [n _] (* n n)) 3 (range 60))");
    spends("(reduce * (range 1 1000000))");
}

#[test]
fn values_that_share_their_parts_are_priced_as_they_would_be_written() {
    let bomb = "(def x (reduce (fn [v _] [v v]) [1] (range 100)))";
    ends(&format!("{bomb} (= x (reduce (fn [v _] [v v]) [1] (range 100)))"), FaultClass::Fuel);
    ends(&format!("{bomb} (str x)"), FaultClass::Fuel);
    ends(&format!("{bomb} (println x)"), FaultClass::Fuel);
    ends(&format!("{bomb} (get {{x 1}} x)"), FaultClass::Fuel);
    ends(&format!("{bomb} (flatten x)"), FaultClass::Fuel);
    ends(&format!("{bomb} (json/generate-string x)"), FaultClass::Fuel);
    ends(&format!("{bomb} (sort [x x])"), FaultClass::Fuel);
    ends(&format!("{bomb} x"), FaultClass::Fuel);
    ends(&format!("{bomb} (return x)"), FaultClass::Fuel);
    ends(&format!("{bomb} (x 1)"), FaultClass::NotCallable);
    ends(&format!("{bomb} (range x)"), FaultClass::Type);
    ends(bomb, FaultClass::Memory);
}

#[test]
fn a_transducer_that_a_composition_shares_costs_a_step_at_each_place() {
    let doubled =
        |xform: &str| format!("(loop [c {xform} n 0] (if (< n 40) (recur (comp c c) (inc n)) c))");
    spends(&format!("(into [] {} [])", doubled("(map inc)")));
    ends(&format!("(transduce {} + [])", doubled("identity")), FaultClass::Fuel);
    spends(&format!("(sequence {} [1])", doubled("cat")));
}

#[test]
fn work_that_repeats_over_large_values_takes_few_steps_and_little_memory() {
    let cycled = |rounds: u32| {
        let source = format!(
            "(let [c (cycle (range 100000))] (reduce (fn [a x] (+ a (first c))) 0 (range {rounds})))"
        );
        let outcome = run(&source);
        assert!(matches!(outcome.end, RunEnd::Value(_)), "{:?}", outcome.end);
        outcome
    };
    // A round takes the first of the cycle and copies none of it.
    let (few, many) = (cycled(1_000), cycled(10_000));
    let steps = (many.steps - few.steps) / 9_000;
    assert!(steps < 20, "{steps} steps a round");
    let bytes = (many.memory_bytes - few.memory_bytes) / 9_000;
    assert!(bytes < 1_000, "{bytes} bytes a round");
}

#[test]
fn of_many_unknown_names_the_first_ones_alone_are_looked_up() {
    // Each unknown name is near no definition but the last two, which no hint is about.
    let defs: String = (0..1700).map(|n| format!("(def value-{n} 1)")).collect();
    let names: String = (0..2500).map(|n| format!("unknown-{n} ")).collect();
    let unknown = fault(&format!("{defs} (def total 1) [{names} totl totla]"), &Limits::default());
    assert_eq!(unknown.class, FaultClass::UnboundVar);
    assert!(unknown.message.ends_with("unknown-19, and 2482 more"), "{}", unknown.message);
    let hint = unknown.hint.unwrap_or_default();
    assert!(!hint.contains("total"), "{hint}");
    let near = fault("(def total 1) [unknown-1 totl]", &Limits::default());
    assert!(near.hint.is_some_and(|hint| hint.contains("total")));
}

#[test]
fn deep_nesting() {
    ends(&format!("{}1{}", "(inc ".repeat(6000), ")".repeat(6000)), FaultClass::Depth);
    ends(&format!("{}1{}", "[".repeat(30_000), "]".repeat(30_000)), FaultClass::Depth);
    ends(&"#(".repeat(20_000), FaultClass::Depth);
    ends("(reduce (fn [v _] [v]) [] (range 100000))", FaultClass::Depth);
    ends("(reduce (fn [v _] {:a v}) {} (range 100000))", FaultClass::Depth);
    ends("(reduce (fn [f _] (fn [] f)) nil (range 100000))", FaultClass::Depth);
    ends("(reduce comp (map (fn [_] inc) (range 100000)))", FaultClass::Depth);
    let deep = format!("{}1{}", "[".repeat(127), "]".repeat(127));
    ends(
        &format!("(reduce (fn [v _] [v]) (json/parse-string \"{deep}\") (range 300))"),
        FaultClass::Depth,
    );
    let steps = "inc ".repeat(10_000);
    let outcome = run(&format!("(-> 1 {steps})"));
    assert!(matches!(outcome.end, RunEnd::Value(value) if value == 10_001_i64.into()));
    let mut wide = String::from("(cond ");
    for index in 0..3000 {
        let _ = write!(wide, "false {index} ");
    }
    let outcome = run(&format!("{wide} :else :end)"));
    assert!(matches!(outcome.end, RunEnd::Value(_)));
}

#[test]
fn catastrophic_expressions_take_linear_time() {
    let text = "(def s (apply str (repeat 3000 \"a\")))";
    let outcome = run(&format!("{text} (re-find #\"(a+)+$\" (str s \"b\"))"));
    assert!(matches!(outcome.end, RunEnd::Value(_)));
    let outcome = run(&format!("{text} (re-matches #\"(a|aa)*b\" s)"));
    assert!(matches!(outcome.end, RunEnd::Value(_)));
    // Many searches that each look to the end are paid for.
    let few = Limits { steps: 100_000, ..Limits::default() };
    let found = fault(&format!("{text} (re-seq #\"a*b|a\" (str s s s s))"), &few);
    assert_eq!(found.class, FaultClass::Fuel);
    ends("(re-find #\"(a{1000}){1000}\" \"a\")", FaultClass::Runtime);
    ends("(re-find #\"(a)\\1\" \"aa\")", FaultClass::InvalidForm);
}

#[test]
fn a_million_tool_calls() {
    let source = "(doseq [i (range 1000000)] (tool/ping {:n i}))";
    let (outcome, calls) = with_tools(source, &["ping"], |_| ToolAnswer::Value(1.into()));
    let RunEnd::Fault(fault) = outcome.end else { panic!("ended with {:?}", outcome.end) };
    assert_eq!(fault.class, FaultClass::CallLimit);
    assert_eq!(calls.len(), Limits::default().tool_calls as usize);
}

#[test]
fn what_functions_and_branches_wait_with_is_counted() {
    let names: String = (0..6000).map(|n| format!("a{n} n ")).collect();
    let many = |calls: &str, then: &str| {
        format!("(defn f [n] (if (zero? n) 1 (do {calls} (if true n (let [{names}] n))))) {then}")
    };
    // Deep, such calls take memory; one after the other they take steps.
    ends(&many("(f (dec n))", "(f 1900)"), FaultClass::Memory);
    ends(&many("nil", "(reduce (fn [_ n] (f 1)) nil (range 10000))"), FaultClass::Fuel);
    // Each branch that waits has stacks of its own.
    let source =
        "(defn f [n] (if (zero? n) (tool/ping {}) (do (f (dec n)) n))) (pmap f (repeat 1000 1900))";
    let (outcome, calls) = with_tools(source, &["ping"], |_| ToolAnswer::Value(1.into()));
    let RunEnd::Fault(fault) = outcome.end else { panic!("ended with {:?}", outcome.end) };
    assert!([FaultClass::Memory, FaultClass::Fuel].contains(&fault.class), "{fault}");
    assert!(calls.len() < 1000, "{}", calls.len());
}

#[test]
fn a_large_answer_of_a_tool_is_counted() {
    let (outcome, _) = with_tools("(count (tool/much))", &["much"], |_| {
        ToolAnswer::Value(vec![1; 3_000_000].into())
    });
    let RunEnd::Fault(fault) = outcome.end else { panic!("ended with {:?}", outcome.end) };
    assert_eq!(fault.class, FaultClass::Memory);
}

#[test]
fn a_program_that_is_too_long_is_not_read() {
    ends(&" ".repeat(70_000), FaultClass::ProgramTooLarge);
}

#[test]
fn the_same_program_ends_at_the_same_step() {
    let source = "(reduce (fn [m x] (update m (mod x 7) (fnil conj []) (str x))) {} (range 2000))";
    let whole = run(source);
    let again = run(source);
    assert_eq!(whole.steps, again.steps);
    assert_eq!(whole.memory_bytes, again.memory_bytes);
    let exact =
        Limits { steps: whole.steps, memory_bytes: whole.memory_bytes, ..Limits::default() };
    let outcome = run_within(source, &exact).expect("prepares");
    assert!(matches!(outcome.end, RunEnd::Value(_)), "{:?}", outcome.end);
    let short = Limits { steps: whole.steps - 1, ..Limits::default() };
    assert_eq!(fault(source, &short).class, FaultClass::Fuel);
    for steps in [1, 10, 1_000, 20_000] {
        let limits = Limits { steps, ..Limits::default() };
        let (a, b) = (fault(source, &limits), fault(source, &limits));
        assert_eq!((a.class, &a.position), (FaultClass::Fuel, &b.position), "{steps}");
    }
}
