//! Branches of parallel forms wait for their tools side by side, and come to what they would come to one
//! after the other.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a program that does not run is the test's failure"
)]

mod support;

use support::{inputs, same, shown};
use windlass_kit_ptclisp::{
    Limits, LispSession, Program, RecordedCall, RunEnd, RunOutcome, RunStep, SIDE_BY_SIDE,
    ToolAnswer, ToolCall,
};

/// A program's steps, each with its calls, and what it came to.
struct RunTranscript {
    steps: Vec<Vec<ToolCall>>,
    outcome: RunOutcome,
}

impl RunTranscript {
    /// The argument `n` of the calls of each step.
    fn numbers(&self) -> Vec<Vec<i64>> {
        let number = |call: &ToolCall| call.args["n"].as_i64().unwrap_or(-1);
        let of_step = |calls: &Vec<ToolCall>| calls.iter().map(number).collect();
        self.steps.iter().map(of_step).collect()
    }

    fn sizes(&self) -> Vec<usize> {
        self.steps.iter().map(Vec::len).collect()
    }
}

fn prepared(source: &str, limits: &Limits) -> Program {
    let session = LispSession::default();
    Program::prepare(source, &inputs(&["same", "bad"]), &session, limits).expect("prepares")
}

/// `same` gives its argument, `bad` fails.
fn answered(call: &ToolCall) -> ToolAnswer {
    match &*call.name {
        "same" => same(call),
        _ => ToolAnswer::Error(format!("no {}", call.args["n"])),
    }
}

fn run_within(source: &str, limits: &Limits) -> RunTranscript {
    let mut run = prepared(source, limits).start(&LispSession::default());
    let mut step = run.begin().expect("goes");
    let mut steps = Vec::new();
    loop {
        match step {
            RunStep::Done(outcome) => {
                let outcome = *outcome;
                return RunTranscript { steps, outcome };
            }
            RunStep::Calls(calls) => {
                step = run.resume(calls.iter().map(answered).collect()).expect("resumes");
                steps.push(calls);
            }
        }
    }
}

fn run(source: &str) -> RunTranscript {
    run_within(source, &Limits::default())
}

#[test]
fn the_calls_of_all_branches_that_wait_are_one_step() {
    for (source, steps, gives) in [
        ("(pmap #(tool/same {:n %}) [1 2 3])", vec![vec![1, 2, 3]], "[1 2 3]"),
        ("(pcalls #(tool/same {:n 1}) #(inc 1) #(tool/same {:n 3}))", vec![vec![1, 3]], "[1 2 3]"),
        // Each goes on as far as it can, and results are in order.
        (
            "(pmap (fn [n] (reduce + 0 (map #(tool/same {:n (+ (* 10 n) %)}) (range n)))) [1 3 0 2])",
            vec![vec![10, 30, 20], vec![31, 21], vec![32]],
            "[10 93 0 41]",
        ),
        // What is in a branch is a branch too.
        (
            "(pmap (fn [a] (pmap #(tool/same {:n (+ a %)}) [1 2])) [10 20])",
            vec![vec![11, 12, 21, 22]],
            "[[11 12] [21 22]]",
        ),
        (
            "(pcalls #(tool/same {:n 1}) (fn [] (pcalls #(tool/same {:n 2}) #(do (tool/same {:n 3}) (tool/same {:n 4})))) #(tool/same {:n 5}))",
            vec![vec![1, 2, 3, 5], vec![4]],
            "[1 [2 4] 5]",
        ),
        // After the form all is as before it.
        (
            "(let [x 7 v (pmap #(tool/same {:n (+ x %)}) [1 2])] (conj v (tool/same {:n x})))",
            vec![vec![8, 9], vec![7]],
            "[8 9 7]",
        ),
        ("(pmap tool/same [{:n 1} {:n 2}])", vec![vec![1, 2]], "[1 2]"),
        ("(pmap (fn [a b] (tool/same {:n (* a b)})) [1 2 3] [4 5])", vec![vec![4, 10]], "[4 10]"),
        (
            "(map (fn [a] (pmap #(tool/same {:n (+ a %)}) [1 2])) [10 20])",
            vec![vec![11, 12], vec![21, 22]],
            "[[11 12] [21 22]]",
        ),
        ("(sort-by - (pmap #(tool/same {:n %}) [1 2]))", vec![vec![1, 2]], "[2 1]"),
        ("(pmap #(tool/same {:n %}) [])", vec![], "[]"),
        ("(pcalls)", vec![], "[]"),
    ] {
        let told = run(source);
        assert_eq!(told.numbers(), steps, "{source}");
        assert_eq!(shown(&told.outcome), gives, "{source}");
        let indices: Vec<u32> = told.steps.iter().flatten().map(|call| call.index).collect();
        let count = u32::try_from(indices.len()).expect("few");
        assert_eq!(indices, (0..count).collect::<Vec<_>>(), "{source}");
    }
}

#[test]
fn no_more_wait_at_the_same_time_than_may() {
    let limits = Limits { tool_calls: 20_000, ..Limits::default() };
    let told = run_within("(reduce + (pmap #(tool/same {:n %}) (range 10000)))", &limits);
    assert_eq!(shown(&told.outcome), "49995000");
    let full = 10_000 / SIDE_BY_SIDE;
    assert_eq!(told.sizes()[..full], vec![SIDE_BY_SIDE; full]);
    assert_eq!(told.sizes().iter().sum::<usize>(), 10_000);
    // As some end, others begin: those that take longer hold up none.
    let told = run_within(
        "(pmap #(if (zero? %) (doseq [n (range 20)] (tool/same {:n n})) (tool/same {:n %})) (range 1000))",
        &limits,
    );
    assert_eq!(told.sizes()[..15], [SIDE_BY_SIDE; 15]);
    // Those of nested forms are counted together, and those that come first in order go first.
    let nested = "(pmap (fn [a] (pmap #(tool/same {:n (+ (* 100 a) %)}) (range 100))) (range 100))";
    let told = run_within(nested, &limits);
    assert_eq!(told.sizes()[..156], [SIDE_BY_SIDE; 156]);
    let order: Vec<i64> = told.numbers().concat();
    assert_eq!(order, (0..10_000).collect::<Vec<_>>());
    // However deep, also where the outermost take all places.
    let deep = "(defn f [d] (if (zero? d) (tool/same {:n 1}) (reduce + (pmap f [(dec d) (dec d)])))) (f 12)";
    let told = run_within(deep, &limits);
    assert_eq!(shown(&told.outcome), "4096");
    assert!(told.sizes().iter().all(|size| *size <= SIDE_BY_SIDE));
    let all_fork = "(pmap (fn [a] (tool/same {:n a}) (pmap (fn [b] (tool/same {:n b}) (reduce + (pmap #(tool/same {:n %}) [a b]))) (range 3))) (range 200))";
    let told = run_within(all_fork, &limits);
    assert!(told.sizes().iter().all(|size| *size <= SIDE_BY_SIDE));
    assert!(shown(&told.outcome).ends_with(" [198 199 200] [199 200 201]]"));
}

#[test]
fn the_first_failure_in_order_is_told_and_the_calls_that_were_made_stay() {
    for (source, steps, ends) in [
        // Those after it are not gone on with, those before it are.
        (
            "(pmap (fn [n] (tool/same {:n n}) (if (= n 2) (tool/bad {:n n}) (tool/same {:n (+ 10 n)})) (tool/same {:n (+ 20 n)})) [1 2 3])",
            vec![vec![1, 2, 3], vec![11, 2, 13], vec![21]],
            "pmap_error: Tool 'bad' failed: no 2",
        ),
        // The first in order is told, though another failed earlier.
        (
            "(pcalls #(do (tool/same {:n 1}) (tool/bad {:n 9})) #(tool/bad {:n 2}) #(tool/same {:n 3}))",
            vec![vec![1, 2, 3], vec![9]],
            "pcalls_error: Tool 'bad' failed: no 9",
        ),
        // One that fails at once: those after it do not begin.
        (
            "(pcalls #(tool/same {:n 1}) #(/ 1 0) #(tool/same {:n 3}))",
            vec![vec![1]],
            "pcalls_error: ",
        ),
        ("(pmap #(/ 1 %) (range 1000))", vec![], "pmap_error: "),
        // Within each other.
        (
            "(pcalls #(tool/same {:n 1}) (fn [] (pcalls #(tool/same {:n 2}) #(tool/bad {:n 3}) #(tool/same {:n 4}))) #(do (tool/same {:n 5}) (tool/same {:n 6})))",
            vec![vec![1, 2, 3, 4, 5]],
            "pcalls_error: Tool 'bad' failed: no 3",
        ),
        (
            "(pcalls #(tool/bad {:n 1}) (fn [] (pmap #(do (tool/same {:n %}) (tool/same {:n (inc %)})) [2 4])))",
            vec![vec![1, 2, 4]],
            "pcalls_error: Tool 'bad' failed: no 1",
        ),
        // To return and to give up are told in the same order.
        (
            "(pmap #(do (tool/same {:n %}) (if (= % 2) (return %) (tool/same {:n (+ 10 %)}))) [1 2 3])",
            vec![vec![1, 2, 3], vec![11]],
            "return 2",
        ),
        ("(pcalls #(do (tool/same {:n 1}) (fail :no)) #(return 2))", vec![vec![1]], "fail :no"),
        (
            "(pcalls #(tool/same {:n 1}) #(return (tool/same {:n 2})) #(tool/bad {:n 3}))",
            vec![vec![1, 2, 3]],
            "return 2",
        ),
    ] {
        let told = run(source);
        assert_eq!(told.numbers(), steps, "{source}");
        let end = shown(&told.outcome);
        assert!(end.contains(ends), "{source}: {end}");
    }
    let RunEnd::Fault(fault) =
        run("(+ 1\n  (count (pmap (fn [n]\n    (tool/bad {:n n})) [1 2])))").outcome.end
    else {
        panic!("it fails")
    };
    let at = fault.position.expect("known");
    assert_eq!((at.line, at.column), (3, 5));
}

#[test]
fn what_is_printed_stands_in_the_order_of_the_branches() {
    let source = "(println :a) (pmap (fn [n] (println n 1) (tool/same {:n n}) (println n 2)) [1 2 3]) (println :z)";
    let prints = [":a", "1 1", "1 2", "2 1", "2 2", "3 1", "3 2", ":z"];
    assert_eq!(run(source).outcome.prints, prints);
    let within = "(pmap (fn [a] (println a) (pmap #(do (println a %) (tool/same {:n %}) (println a % 2)) [1 2]) (println a :z)) [1 2])";
    let prints = ["1", "1 1", "1 1 2", "1 2", "1 2 2", "1 :z"];
    let told = run(within).outcome.prints;
    assert_eq!(told[..6], prints);
    assert_eq!(told.len(), 12);
    // Also what was printed before it failed, or ran out of steps.
    let fails = "(pmap (fn [n] (println n 1) (tool/bad {:n n}) (println n 2)) [1 2])";
    assert_eq!(run(fails).outcome.prints, ["1 1", "2 1"]);
    let ends = "(println 0) (pcalls (fn [] (println 1) (tool/same {:n 1}) (println 2)) (fn [] (pmap (fn [n] (println n) (tool/same {:n n}) (loop [] (recur))) [3 4])))";
    let limits = Limits { loop_rounds: 0, steps: 10_000, ..Limits::default() };
    let told = run_within(ends, &limits).outcome;
    assert!(shown(&told).contains("fuel_exceeded"), "{}", shown(&told));
    assert_eq!(told.prints, ["0", "1", "2", "3", "4"]);
}

/// Programs in which much is side by side.
const BUSY: &[&str] = &[
    "(pmap (fn [a] (println a) (pmap #(do (tool/same {:n %}) (println %) (tool/same {:n (+ a %)})) [1 2 3])) [10 20 30])",
    "(defn f [d] (if (zero? d) (tool/same {:n d}) (reduce + 1 (pmap f [(dec d) 0 (dec d)])))) (f 3)",
    "(pmap (fn [n] (let [v (vec (range (* 10 n)))] (tool/same {:n n}) (count (map inc v)))) (range 70))",
    "(pcalls #(tool/same {:n 1}) #(tool/bad {:n 2}) (fn [] (pmap #(tool/same {:n %}) (range 100))))",
    "(pmap #(do (def x %) (tool/same {:n %}) x) [1 2 3])",
];

#[test]
fn every_limit_ends_a_program_at_the_same_place_each_time() {
    let fits = |change: &dyn Fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits
    };
    let twice = |source: &str, limits: &Limits| {
        let (one, other) = (run_within(source, limits), run_within(source, limits));
        assert_eq!(one.steps, other.steps, "{source}");
        assert_eq!(shown(&one.outcome), shown(&other.outcome), "{source}");
        assert_eq!(one.outcome.prints, other.outcome.prints, "{source}");
        assert_eq!(one.outcome.steps, other.outcome.steps, "{source}");
        assert_eq!(one.outcome.memory_bytes, other.outcome.memory_bytes, "{source}");
        one
    };
    for source in BUSY {
        let whole = twice(source, &Limits::default());
        let calls: usize = whole.sizes().iter().sum();
        let (steps, bytes) = (whole.outcome.steps, whole.outcome.memory_bytes);
        let told = twice(source, &fits(&|limits| limits.steps = steps));
        assert_eq!(shown(&told.outcome), shown(&whole.outcome), "{source}");
        for few in (0..steps).step_by(1 + steps as usize / 25) {
            let told = twice(source, &fits(&|limits| limits.steps = few));
            assert!(shown(&told.outcome).contains("fuel_exceeded"), "{source}");
            assert_eq!(told.outcome.steps, few, "{source}");
            // What it did was the beginning of what it does.
            assert_eq!(told.steps, whole.steps[..told.steps.len()], "{source}");
        }
        // Some functions look for room before they take it.
        let told = twice(source, &fits(&|limits| limits.memory_bytes = bytes + (64 << 10)));
        assert_eq!(shown(&told.outcome), shown(&whole.outcome), "{source}");
        for few in (0..bytes).step_by(1 + bytes as usize / 25) {
            let told = twice(source, &fits(&|limits| limits.memory_bytes = few));
            assert!(shown(&told.outcome).contains("memory_exceeded"), "{source}");
            assert_eq!(told.steps, whole.steps[..told.steps.len()], "{source}");
        }
        for few in 0..u32::try_from(calls).expect("few") {
            let told = twice(source, &fits(&|limits| limits.tool_calls = few));
            let made: usize = told.sizes().iter().sum();
            assert!(made <= few as usize, "{source}: {made} calls of {few}");
        }
    }
    // Those calls are made that may be, and the one after them is told.
    let told = run_within(
        "(pmap #(tool/same {:n %}) (range 100))",
        &fits(&|limits| limits.tool_calls = 70),
    );
    assert_eq!(told.sizes(), [64, 6]);
    assert!(shown(&told.outcome).contains("tool_call_limit_exceeded"));
    // A call that does not go out, for a branch before it has failed meanwhile, does not count.
    let source = "(pcalls #(do (tool/same {:n 1}) (tool/same {:n 4}) (tool/same {:n 5})) (fn [] (tool/same {:n 2}) (pmap #(/ % 0) [1 2])) #(do (tool/same {:n 3}) (tool/same {:n 6})))";
    let told = run_within(source, &fits(&|limits| limits.tool_calls = 5));
    assert_eq!(told.numbers(), [vec![1, 2, 3], vec![4], vec![5]]);
    assert!(shown(&told.outcome).contains("pcalls_error"));
}

#[test]
fn calls_are_nested_as_deep_in_branches_as_elsewhere() {
    let deepest = |source: &str| {
        let fits = |calls_deep: &u32| {
            let limits = Limits { calls_deep: *calls_deep, ..Limits::default() };
            !shown(&run_within(source, &limits).outcome).contains("depth_exceeded")
        };
        (1..200).find(fits)
    };
    let nested = |form: &str| {
        format!(
            "(defn f [d] (if (zero? d) (tool/same {{:n d}}) (reduce + ({form} f [(dec d) 0])))) (f 15)"
        )
    };
    let one_by_one = deepest(&nested("map"));
    assert!(one_by_one.is_some_and(|deep| deep > 15));
    assert_eq!(deepest(&nested("pmap")), one_by_one);
    let told = run("(defn f [n] (pmap f [n n])) (f 1)");
    assert!(shown(&told.outcome).contains("depth_exceeded"));
}

#[test]
fn a_run_that_was_lost_is_made_again_wherever_its_record_ends() {
    for source in BUSY {
        let whole = run(source);
        let calls: Vec<ToolCall> = whole.steps.concat();
        let record = |call: &ToolCall| RecordedCall { call: call.clone(), answer: answered(call) };
        let recorded: Vec<RecordedCall> = calls.iter().map(record).collect();
        for known in 0..=recorded.len() {
            let program = prepared(source, &Limits::default());
            let (mut run, mut step) =
                program.replay(&LispSession::default(), &recorded[..known]).expect("replays");
            let mut made = None;
            while let RunStep::Calls(now) = step {
                let from = now[0].index as usize;
                assert!(made.is_some() || (from <= known && known < from + now.len()));
                assert_eq!(now, calls[from..from + now.len()], "{source}");
                made = Some(from + now.len());
                step = run.resume(now.iter().map(answered).collect()).expect("resumes");
            }
            assert_eq!(made.unwrap_or(known), calls.len(), "{source}");
            let RunStep::Done(outcome) = step else { unreachable!() };
            assert_eq!(shown(&outcome), shown(&whole.outcome), "{source}");
            assert_eq!(
                (outcome.steps, outcome.memory_bytes, &outcome.prints),
                (whole.outcome.steps, whole.outcome.memory_bytes, &whole.outcome.prints),
                "{source}"
            );
        }
    }
}
