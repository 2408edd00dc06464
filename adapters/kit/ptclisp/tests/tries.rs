//! Faults that a program catches, and what it throws.

mod support;

use support::{fault, inputs, same, shown, value, with_tools};
use windlass_kit_ptclisp::{FaultClass, Limits, LispSession, Program, RunStep, ToolAnswer};

fn give(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(value(source), *expected, "{source}");
    }
}

#[test]
fn a_fault_is_caught_as_a_map() {
    give(&[
        ("(try (+ 1 nil) (catch Exception e (:type e)))", ":type_error"),
        ("(try (/ 1 0) (catch ArithmeticException e (ex-message e)))", "\"division by zero\""),
        ("(try (/ 1 0) (catch :arithmetic-error e (.getMessage e)))", "\"division by zero\""),
        (
            "(try (throw (ex-info \"no\" {:n 1})) (catch ExceptionInfo e [(ex-message e) (ex-data e)]))",
            "[\"no\" {:n 1}]",
        ),
        ("(try (throw \"word\") (catch Exception e e))", "{:message \"word\" :type :thrown}"),
        ("(try (throw {:code 4}) (catch Exception e (:code (ex-data e))))", "4"),
        ("(try (throw (Exception. \"plain\")) (catch Throwable e (ex-message e)))", "\"plain\""),
        ("(try 1 2)", "2"),
        ("(try (inc 1) (catch Exception e 0))", "2"),
        ("(try)", "nil"),
        ("(+ 1 (try (throw \"a\") (catch Exception e 2)) 3)", "6"),
        (
            "[1 (try [2 (try (throw :inner) (catch :tool_error e 3))] (catch :default e (:message e))) 4]",
            "[1 \":inner\" 4]",
        ),
        (
            "(try (try (throw \"a\") (catch Exception e (throw (str (:message e) \"b\")))) (catch Exception e (:message e)))",
            "\"ab\"",
        ),
        ("(try (map (fn [x] (/ 1 x)) [1 0]) (catch Exception e :in-map))", ":in-map"),
        (
            "(defn f [n] (if (zero? n) (throw \"deep\") (inc (f (dec n))))) (try (f 50) (catch Exception e (:message e)))",
            "\"deep\"",
        ),
        (
            "(try (try (/ 1 0) (catch Exception e (throw e))) (catch :arithmetic_error e (:type e)))",
            ":arithmetic_error",
        ),
        ("(try (pmap (fn [x] (/ 1 x)) [1 0]) (catch Exception e (:type e)))", ":pmap_error"),
        (
            "(try (pmap (fn [x] (/ 1 x)) [1 0]) (catch ArithmeticException e (:cause e)))",
            ":arithmetic_error",
        ),
        (
            "(try (pmap (fn [x] (/ 1 x)) [1 0]) (catch :type_error e 1) (catch :pmap_error e 2))",
            "2",
        ),
        (
            "(try (pcalls (fn [] (throw (ex-info \"no\" {:n 1})))) (catch ExceptionInfo e (ex-data e)))",
            "{:n 1}",
        ),
        (
            "(try (try (pmap (fn [x] (/ 1 x)) [0]) (catch Exception e (throw e))) (catch :arithmetic_error e :again))",
            ":again",
        ),
        ("(pmap (fn [x] (try (/ 1 x) (catch Exception e :none))) [1 0 2])", "[1.0 :none 0.5]"),
        (
            "(try (throw {:type :custom :message \"m\" :id 5}) (catch Exception e [(:type e) (:message e) (:id (ex-data e))]))",
            "[:thrown \"m\" 5]",
        ),
        (
            "(try (throw {:message \"m\" :id 5}) (catch Exception e (ex-data e)))",
            "{:id 5 :message \"m\"}",
        ),
        (
            "(try (throw {:type :tool_error :message \"m\" :data 5}) (catch :tool_error e e))",
            "{:data 5 :message \"m\" :type :tool_error}",
        ),
        (
            "(try (throw (IllegalArgumentException. \"a\")) (catch ArithmeticException e 1) (catch IllegalArgumentException e (ex-message e)))",
            "\"a\"",
        ),
        (
            "(map (fn [x] (try (/ 6 x) (catch Exception e (str \"no \" x)))) [2 0])",
            "[3.0 \"no 0\"]",
        ),
    ]);
}

#[test]
fn what_was_done_before_a_fault_stays_done() {
    give(&[
        ("(try (def a 1) (throw \"x\") (catch Exception e (def b 2))) [a b]", "[1 2]"),
        (
            "(let [a 1 b (try (let [a 2] (throw (str a))) (catch Exception e (:message e)))] [a b])",
            "[1 \"2\"]",
        ),
        (
            "(let [xs [1 2]] (try (count (conj xs 3)) (throw \"x\") (catch Exception e xs)))",
            "[1 2]",
        ),
        (
            "(loop [n 0] (let [r (try (if (< n 3) (throw \"again\") :done) (catch Exception e nil))] (or r (recur (inc n)))))",
            ":done",
        ),
        ("(for [x [1 0 2]] (try (/ 2 x) (catch Exception e x)))", "[2.0 0 1.0]"),
        (
            "(def g (fn [x] (try (/ 1 x) (catch Exception e [x (:type e)])))) (g 0)",
            "[0 :arithmetic_error]",
        ),
    ]);
}

#[test]
fn the_last_part_runs_in_any_case() {
    let run = |source: &str| {
        let outcome = support::run(source);
        (shown(&outcome), outcome.prints)
    };
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let (end, prints) = run("(try (println 1) :v (finally (println 2) :ignored))");
    assert_eq!((end.as_str(), prints), (":v", lines(&["1", "2"])));
    let (end, prints) = run(
        "(try (throw \"a\") (catch Exception e (println (:message e)) :c) (finally (println 2)))",
    );
    assert_eq!((end.as_str(), prints), (":c", lines(&["a", "2"])));
    let (end, prints) = run("(try (/ 1 0) (finally (println 2)))");
    assert!(end.contains("arithmetic_error: division by zero"), "{end}");
    assert!(end.contains("line 1, column 6"), "{end}");
    assert_eq!(prints, lines(&["2"]));
    let (end, _) = run(
        "(try (try (/ 1 0) (catch Exception e (throw \"b\")) (finally (def seen 1))) (catch Exception e [seen (:message e)]))",
    );
    assert_eq!(end, "[1 \"b\"]");
}

#[test]
fn a_last_part_may_hold_another_and_throw_itself() {
    give(&[
        (
            "(defn f [n] (if (zero? n) (throw \"deep\") (try (f (dec n)) (finally (try n (finally nil))))))
             (try (f 3) (catch Exception e (:message e)))",
            "\"deep\"",
        ),
        ("(try (try 1 (finally (throw \"last\"))) (catch Exception e (:message e)))", "\"last\""),
        (
            "(try (try (throw \"first\") (finally (throw \"last\"))) (catch Exception e (:message e)))",
            "\"last\"",
        ),
        ("[1 (try 2 (finally (let [a 3 b 4] (+ a b)))) (let [a 5] a)]", "[1 2 5]"),
        ("(for [x [1 2]] (try (let [y x] y) (finally (def z x))))", "[1 2]"),
        ("(try 1 (finally (return 2)))", "return 2"),
        ("(try (throw \"a\") (finally (return 2)))", "return 2"),
    ]);
    // A program that ends within a `try` ends there.
    let run = |source: &str| {
        let outcome = support::run(source);
        (shown(&outcome), outcome.prints.len())
    };
    assert_eq!(run("(try (return 1) (finally (println 2)))"), ("return 1".into(), 0));
    assert_eq!(run("(try (fail 1) (finally (println 2)))"), ("fail 1".into(), 0));
    assert_eq!(
        run("(try (/ 1 0) (catch Exception e (return 3)) (finally (println 2)))"),
        ("return 3".into(), 0)
    );
}

#[test]
fn limits_and_ends_are_not_caught() {
    let tight = Limits { steps: 2_000, ..Limits::default() };
    let endless = "(try (loop [] (recur)) (catch Exception e 1))";
    assert_eq!(fault(endless, &tight).class, FaultClass::LoopLimit);
    let steps = "(try (reduce + (range 100000)) (catch Exception e 1) (finally 2))";
    assert_eq!(fault(steps, &tight).class, FaultClass::Fuel);
    let deep = Limits { calls_deep: 9, ..Limits::default() };
    let source = "(defn f [] (inc (f))) (try (f) (catch Exception e 1))";
    assert_eq!(fault(source, &deep).class, FaultClass::Depth);
    give(&[
        ("(try (return 1) (catch Exception e 2))", "return 1"),
        ("(try (fail 1) (catch Exception e 2))", "fail 1"),
    ]);
}

#[test]
fn what_is_thrown_and_not_caught_ends_the_program() {
    let told = fault("(do\n  (throw (ex-info \"too few\" {:n 1})))", &Limits::default());
    assert_eq!((told.class, told.message.as_str()), (FaultClass::Thrown, "too few {:n 1}"));
    assert_eq!(told.position.map(|at| at.line), Some(2));
}

#[test]
fn a_try_that_is_not_whole_is_refused() {
    for (source, class) in [
        ("(try 1 (catch e 2))", FaultClass::InvalidArity),
        ("(try 1 (catch Exception))", FaultClass::InvalidArity),
        ("(try 1 (catch Exception \"e\" 2))", FaultClass::InvalidArity),
        ("(try 1 (finally 2) (catch Exception e 3))", FaultClass::InvalidArity),
        ("(try 1 (catch Exception e 3) 4)", FaultClass::InvalidArity),
        ("(try 1 (catch IOException e 3))", FaultClass::InvalidForm),
        ("(try 1 (catch :fuel_exceeded e 3))", FaultClass::InvalidForm),
        ("(try 1 (catch :nothing e 3))", FaultClass::InvalidForm),
        ("(catch Exception e 3)", FaultClass::InvalidForm),
        ("(loop [] (try (recur) (catch Exception e 3)))", FaultClass::InvalidForm),
    ] {
        assert_eq!(fault(source, &Limits::default()).class, class, "{source}");
    }
}

#[test]
fn a_tool_that_fails_is_caught_and_the_run_is_made_again_from_its_record() {
    let source = "(let [a (try (tool/bad {:n 1}) (catch Exception e (ex-message e)))]
                    [a (tool/same {:n 2})
                     (pmap (fn [n] (try (tool/bad {:n n}) (catch :tool_error e (tool/same {:n n})))) [3 4])])";
    let answer = |call: &windlass_kit_ptclisp::ToolCall| match &*call.name {
        "same" => same(call),
        _ => ToolAnswer::Error("gone".into()),
    };
    let (outcome, calls) = with_tools(source, &["same", "bad"], answer);
    assert_eq!(shown(&outcome), "[\"Tool 'bad' failed: gone\" 2 [3 4]]");
    assert_eq!(calls.len(), 6);
    let recorded: Vec<_> = calls
        .iter()
        .map(|call| windlass_kit_ptclisp::RecordedCall { call: call.clone(), answer: answer(call) })
        .collect();
    let session = LispSession::default();
    let program = Program::prepare(source, &inputs(&["same", "bad"]), &session, &Limits::default());
    let replayed = program.and_then(|program| {
        program
            .replay(&session, &recorded)
            .map_err(|why| windlass_kit_ptclisp::Fault::new(FaultClass::World, why.to_string()))
    });
    let Ok((_, RunStep::Done(again))) = replayed else { unreachable!("all calls are on record") };
    assert_eq!((shown(&again), again.steps), (shown(&outcome), outcome.steps));
}

#[test]
fn a_kept_function_catches_in_the_next_program() {
    let kept =
        support::run("(defn safe [x] (try (/ 1 x) (catch Exception e :none) (finally nil)))");
    let mut session = LispSession::default();
    session.commit(&kept);
    let text = session.to_text(10_000).unwrap_or_default();
    let Ok(session) = LispSession::from_text(&text) else { unreachable!("{text}") };
    let program =
        Program::prepare("[(safe 0) (safe 4)]", &inputs(&[]), &session, &Limits::default());
    let Ok(RunStep::Done(done)) =
        program.map(|program| program.start(&session).begin().unwrap_or_else(|_| unreachable!()))
    else {
        unreachable!("it calls nothing")
    };
    assert_eq!(shown(&done), "[:none 0.25]");
}
