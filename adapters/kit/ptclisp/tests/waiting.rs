//! A program waits at each tool call wherever it stands, and goes on with the answer.

#![allow(clippy::expect_used, reason = "a program that does not run is the test's failure")]

mod support;

use serde_json::json;
use support::{inputs, run, same, shown, with_tools};
use windlass_kit_ptclisp::{
    FaultClass, Limits, LispSession, MisuseError, Program, RecordedCall, ReplayDivergence, RunStep,
    ToolAnswer,
};

fn prepared(source: &str) -> Program {
    let session = LispSession::default();
    let program = Program::prepare(source, &inputs(&["same"]), &session, &Limits::default());
    program.expect("prepares")
}

/// Each program calls the tool for 1, 2 and 3 in order; what it gives is beside it.
const EVERYWHERE: &[(&str, &str)] = &[
    ("(map #(tool/same {:n %}) [1 2 3])", "[1 2 3]"),
    ("(mapv (fn [n] (tool/same {:n n})) #{3 2 1})", "[1 2 3]"),
    ("(pmap #(tool/same {:n %}) [1 2 3])", "[1 2 3]"),
    ("(pcalls #(tool/same {:n 1}) #(tool/same {:n 2}) #(tool/same {:n 3}))", "[1 2 3]"),
    ("(filter #(odd? (tool/same {:n %})) [1 2 3])", "[1 3]"),
    ("(remove #(odd? (tool/same {:n %})) [1 2 3])", "[2]"),
    ("(reduce (fn [a n] (+ a (tool/same {:n n}))) 0 [1 2 3])", "6"),
    ("(reduce-kv (fn [a _ n] (+ a (tool/same {:n n}))) 0 {:a 1 :b 2 :c 3})", "6"),
    ("(for [n [1 2 3]] (* 2 (tool/same {:n n})))", "[2 4 6]"),
    ("(doseq [n [1 2 3]] (tool/same {:n n}))", "nil"),
    (
        "(loop [n 1 all []] (if (> n 3) all (recur (inc n) (conj all (tool/same {:n n})))))",
        "[1 2 3]",
    ),
    ("(let [f (fn f [n] (if (> n 3) [] (cons (tool/same {:n n}) (f (inc n)))))] (f 1))", "[1 2 3]"),
    ("(sort-by #(- (tool/same {:n %})) [1 2 3])", "[3 2 1]"),
    ("(group-by #(odd? (tool/same {:n %})) [1 2 3])", "{false [2] true [1 3]}"),
    ("(update-vals {:a 1 :b 2 :c 3} #(tool/same {:n %}))", "{:a 1 :b 2 :c 3}"),
    ("((comp #(tool/same {:n (inc %)}) #(tool/same {:n (inc %)}) #(tool/same {:n %})) 1)", "3"),
    (
        "((juxt #(tool/same {:n %}) #(tool/same {:n (inc %)}) #(tool/same {:n (+ 2 %)})) 1)",
        "[1 2 3]",
    ),
    ("(some #(= 3 (tool/same {:n %})) [1 2 3])", "true"),
    ("(every? #(pos? (tool/same {:n %})) [1 2 3])", "true"),
    ("(take-while #(tool/same {:n %}) [1 2 3])", "[1 2 3]"),
    ("(postwalk #(if (number? %) (tool/same {:n %}) %) [1 [2 [3]]])", "[1 [2 [3]]]"),
    (
        "(-> {:n 1} tool/same (as-> x (tool/same {:n (inc x)})) (as-> x (tool/same {:n (inc x)})))",
        "3",
    ),
    ("[(tool/same {:n 1}) {:a (tool/same {:n 2})} #{(tool/same {:n 3})}]", "[1 {:a 2} #{3}]"),
    ("(map tool/same [{:n 1} {:n 2} {:n 3}])", "[1 2 3]"),
    ("(cond (= 9 (tool/same {:n 1})) 1 (= 2 (tool/same {:n 2})) (tool/same {:n 3}))", "3"),
    ("(sum-by #(tool/same {:n %}) [1 2 3])", "6"),
    ("(mapcat (fn [n] [(tool/same {:n n})]) [1 2 3])", "[1 2 3]"),
];

#[test]
fn a_tool_may_be_called_anywhere_and_its_answers_come_in_order() {
    for (source, expected) in EVERYWHERE {
        let (outcome, calls) = with_tools(source, &["same"], same);
        assert_eq!(shown(&outcome), *expected, "{source}");
        let asked: Vec<_> = calls.iter().map(|call| call.args["n"].clone()).collect();
        assert_eq!(asked, [json!(1), json!(2), json!(3)], "{source}");
        let order: Vec<u32> = calls.iter().map(|call| call.index).collect();
        assert_eq!(order, [0, 1, 2], "{source}");
    }
}

#[test]
fn calls_are_counted_wherever_they_stand() {
    for (source, _) in EVERYWHERE {
        let limits = Limits { tool_calls: 2, ..Limits::default() };
        let session = LispSession::default();
        let program = Program::prepare(source, &inputs(&["same"]), &session, &limits);
        let mut run = program.expect("prepares").start(&session);
        let mut step = run.begin().expect("goes");
        let mut calls = 0;
        while let RunStep::Calls(made) = &step {
            calls += made.len();
            let answers = made.iter().map(same).collect();
            step = run.resume(answers).expect("resumes");
        }
        let RunStep::Done(outcome) = step else { unreachable!() };
        assert_eq!(calls, 2, "{source}");
        assert!(shown(&outcome).contains(FaultClass::CallLimit.name()), "{source}");
    }
}

#[test]
fn a_run_that_was_lost_is_made_again_with_the_recorded_answers() {
    let source = "(def all (for [n [1 2 3 4]] (+ (tool/same {:n n}) (count (str n))))) (println all) (reduce + all)";
    let session = LispSession::default();
    let program = prepared(source);
    let (whole, calls) = with_tools(source, &["same"], same);
    let recorded: Vec<RecordedCall> =
        calls.iter().map(|call| RecordedCall { call: call.clone(), answer: same(call) }).collect();
    for known in 0..=recorded.len() {
        let (mut run, mut step) = program.replay(&session, &recorded[..known]).expect("replays");
        let mut made = known;
        while let RunStep::Calls(now) = step {
            assert_eq!(now, calls[made..made + now.len()]);
            made += now.len();
            step = run.resume(now.iter().map(same).collect()).expect("resumes");
        }
        assert_eq!(made, calls.len());
        let RunStep::Done(outcome) = step else { unreachable!() };
        assert_eq!(shown(&outcome), shown(&whole));
        assert_eq!((outcome.steps, outcome.memory_bytes), (whole.steps, whole.memory_bytes));
    }
}

#[test]
fn a_replay_of_another_program_diverges() {
    let session = LispSession::default();
    let (_, calls) = with_tools("(tool/same {:n 1})", &["same"], same);
    let recorded = [RecordedCall { call: calls[0].clone(), answer: same(&calls[0]) }];
    let other = prepared("(tool/same {:n 2})").replay(&session, &recorded);
    assert!(
        matches!(other.err(), Some(ReplayDivergence::Other { actual: made, .. }) if made.args["n"] == 2)
    );
    let ended = prepared("(inc 1)").replay(&session, &recorded);
    assert_eq!(ended.err(), Some(ReplayDivergence::Ended(calls[0].clone())));
}

#[test]
fn a_run_may_wait_on_another_thread() {
    fn moves<T: Send + 'static>(_: &T) {}
    let program = prepared("(map #(tool/same {:n %}) [1 2])");
    let mut run = program.start(&LispSession::default());
    moves(&run);
    let first = run.begin().expect("goes");
    assert!(matches!(first, RunStep::Calls(_)));
    let step = std::thread::spawn(move || run.resume(vec![ToolAnswer::Value(json!(1))]));
    assert!(matches!(step.join(), Ok(Ok(RunStep::Calls(calls))) if calls[0].index == 1));
}

#[test]
fn nothing_runs_where_a_tool_or_a_name_is_unknown() {
    let session = LispSession::default();
    for (source, class) in [
        ("(do (tool/same {:n 1}) (tool/other {}))", FaultClass::UnknownTool),
        ("(do (tool/same {:n 1}) nowhere)", FaultClass::UnboundVar),
        ("(do (tool/same {:n 1}) (if))", FaultClass::InvalidArity),
    ] {
        let prepared = Program::prepare(source, &inputs(&["same"]), &session, &Limits::default());
        let Err(fault) = prepared else { panic!("{source} was prepared") };
        assert_eq!(fault.class, class, "{source}");
        assert!(fault.position.is_some() && fault.hint.is_some(), "{fault:?}");
    }
}

#[test]
fn a_tool_that_fails_ends_the_program_where_it_was_called() {
    let source = "(println 1)\n(map (fn [n]\n  (tool/same {:n n})) [1 2])";
    let (outcome, calls) = with_tools(source, &["same"], |_| ToolAnswer::Error("no".to_owned()));
    assert_eq!(calls.len(), 1);
    assert_eq!(outcome.prints, ["1"]);
    let told = shown(&outcome);
    assert!(told.starts_with("line 3, column 3: tool_error: Tool 'same' failed: no"), "{told}");
}

#[test]
fn a_run_says_when_it_is_misused() {
    let session = LispSession::default();
    let program =
        Program::prepare("(tool/same {})", &inputs(&["same"]), &session, &Limits::default());
    let mut run = program.expect("prepares").start(&session);
    let one = || vec![ToolAnswer::Value(json!(1))];
    assert_eq!(run.resume(one()).err(), Some(MisuseError::NotWaiting));
    assert!(matches!(run.begin(), Ok(RunStep::Calls(_))));
    assert_eq!(run.begin().err(), Some(MisuseError::WaitingForAnswers));
    assert_eq!(run.resume(Vec::new()).err(), Some(MisuseError::WrongAnswerCount));
    assert!(matches!(run.resume(one()), Ok(RunStep::Done(_))));
    assert_eq!(run.resume(one()).err(), Some(MisuseError::Ended));
    assert_eq!(run.begin().err(), Some(MisuseError::Ended));
}

#[test]
fn what_is_built_up_in_a_loop_is_changed_in_place() {
    let small = run("(reduce (fn [v x] (conj v x)) [] (range 1000))").memory_bytes;
    let large = run("(reduce (fn [v x] (conj v x)) [] (range 10000))").memory_bytes;
    assert!(large < 12 * small, "{small} bytes became {large}");
    let map = run("(reduce (fn [m x] (assoc m x x)) {} (range 10000))");
    assert!(map.memory_bytes < 16 << 20, "{}", map.memory_bytes);
}
