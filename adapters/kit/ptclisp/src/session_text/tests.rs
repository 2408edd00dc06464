//! What is kept comes back as it was, values and functions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use num_bigint::BigInt;
use proptest::prelude::*;

use crate::context::Context;
use crate::library;
use crate::limits::Limits;
use crate::pattern::Pattern;
use crate::program::{Inputs, Program, RunEnd, RunStep, ToolAnswer, ToolCall};
use crate::session::LispSession;
use crate::show::readable;
use crate::value::Value;

const MOST: usize = 1 << 20;

fn text(session: &LispSession) -> String {
    session.to_text(MOST).expect("fits")
}

fn again(session: &LispSession) -> LispSession {
    LispSession::from_text(&text(session)).unwrap_or_else(|why| panic!("{why}: {}", text(session)))
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (any::<i128>(), 0_usize..200).prop_map(|(n, bits)| Value::integer(BigInt::from(n) << bits)),
        any::<f64>().prop_map(Value::Float),
        prop_oneof![
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(-0.0),
            Just(f64::MIN_POSITIVE / 3.0),
            Just(f64::MAX),
        ]
        .prop_map(Value::Float),
        any::<String>().prop_map(|text| Value::text(&text)),
        "[a-z?!/.-]{1,8}".prop_map(|name| Value::keyword(&name)),
        any::<String>().prop_map(|name| Value::Sym(name.into())),
        any::<String>().prop_map(|name| Value::Var(name.into())),
        any::<String>().prop_map(|name| Value::Tool(name.into())),
        "[a-z]{0,3}[+*]?|[(]a[|]\"?[)]".prop_filter_map("no expression", |source| {
            let pattern = Pattern::new(&source).ok()?;
            Some(Value::Regex(Arc::new(pattern)))
        }),
        (0_usize..1000).prop_map(|at| {
            let count = library::names().count();
            let name = library::names().nth(at % count);
            Value::Native(library::find(name.expect("there")).expect("there"))
        }),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 60, 6, |inner| {
        let items = prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            items.clone().prop_map(|items| made(|ctx| ctx.vec(items))),
            items
                .clone()
                .prop_map(|items| made(|ctx| ctx.set(items.into_iter().collect::<BTreeSet<_>>()))),
            prop::collection::vec((inner.clone(), inner), 0..6).prop_map(|pairs| made(|ctx| {
                ctx.map(pairs.into_iter().collect::<BTreeMap<_, _>>())
            })),
        ]
    })
}

fn made(make: impl FnOnce(&mut Context) -> Result<Value, crate::fault::Halt>) -> Value {
    make(&mut Context::new(Limits::default())).expect("small")
}

/// Whether two values are the same to the bit.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => {
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
        }
        (Value::Vec(a), Value::Vec(b)) => {
            a.shape == b.shape
                && a.items.len() == b.items.len()
                && a.items.iter().zip(&b.items).all(|(a, b)| same(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            let (left, right) = (a.entries.iter(), b.entries.iter());
            a.shape == b.shape
                && a.entries.len() == b.entries.len()
                && left.zip(right).all(|(a, b)| same(a.0, b.0) && same(a.1, b.1))
        }
        (Value::Set(a), Value::Set(b)) => {
            a.shape == b.shape
                && a.members.len() == b.members.len()
                && a.members.iter().zip(b.members.iter()).all(|(a, b)| same(a, b))
        }
        _ => a == b && readable(a) == readable(b),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_session_of_any_values_comes_back(
        definitions in prop::collection::btree_map(any::<String>(), value(), 0..4),
        history in prop::collection::vec(value(), 0..=3),
    ) {
        let definitions: BTreeMap<Arc<str>, Value> =
            definitions.into_iter().map(|(name, value)| (name.into(), value)).collect();
        let session = LispSession { definitions, history, ids: 0 };
        let back = again(&session);
        prop_assert_eq!(back.definitions.len(), session.definitions.len());
        for ((a, x), (b, y)) in back.definitions.iter().zip(&session.definitions) {
            prop_assert!(a == b && same(x, y), "{:?} {:?}", x, y);
        }
        prop_assert_eq!(back.history.len(), session.history.len());
        for (x, y) in back.history.iter().zip(&session.history) {
            prop_assert!(same(x, y), "{:?} {:?}", x, y);
        }
        prop_assert_eq!(text(&back), text(&session));
    }

    #[test]
    fn no_text_is_more_than_refused(noise in any::<String>(), at in any::<prop::sample::Index>()) {
        let mut session = LispSession::default();
        run(&mut session, "(def f (let [n 1] (fn [x] (+ n x)))) (def m {:a [1 #{2.5}]}) [f m]");
        let mut text = text(&session);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = places[at.index(places.len())];
        text.insert_str(at, &noise);
        // Whatever comes back can be run and written.
        if let Ok(mut session) = LispSession::from_text(&text) {
            run(&mut session, "(or f 1)");
            let _ = session.to_text(MOST);
        }
    }
}

/// Runs a program with the tool `twice`; gives what it came to and its steps.
fn run(session: &mut LispSession, source: &str) -> (String, u64) {
    let inputs = Inputs { tools: Arc::new(["twice".into()].into()), ..Inputs::default() };
    let program = match Program::prepare(source, &inputs, session, &Limits::default()) {
        Ok(program) => program,
        Err(fault) => return (fault.to_string(), 0),
    };
    let mut run = program.start(session);
    let mut step = run.begin().expect("goes");
    loop {
        match step {
            RunStep::Calls(calls) => {
                let twice = |call: &ToolCall| {
                    let n = call.args["n"].as_i64().unwrap_or(0);
                    ToolAnswer::Value((2 * n).into())
                };
                step = run.resume(calls.iter().map(twice).collect()).expect("resumes");
            }
            RunStep::Done(outcome) => {
                session.commit(&outcome);
                let shown = match &outcome.end {
                    RunEnd::Value(value) => readable(value),
                    RunEnd::Return(value) => format!("return {}", readable(value)),
                    RunEnd::Fail(value) => format!("fail {}", readable(value)),
                    RunEnd::Fault(fault) => format!("{}: {}", fault.class.name(), fault.message),
                };
                return (shown, outcome.steps);
            }
        }
    }
}

/// Programs that leave functions, and programs that use them with what they give.
const KEPT: &[(&str, &str, &str)] = &[
    ("(defn f [x] (* 2 x))", "(f 4)", "8"),
    (
        "(def f (fn ([] 0) ([x] x) ([x & more] [x more])))",
        "[(f) (f 1) (f 1 2 3)]",
        "[0 1 [1 [2 3]]]",
    ),
    ("(def f #(+ % %2 (count %&)))", "(f 1 2 3 4)", "5"),
    (
        "(defn adder [n] (fn [x] (+ x n))) (def f (adder 3)) (def g (adder 4))",
        "[(f 1) (g 1)]",
        "[4 5]",
    ),
    (
        "(def f (let [a {:k [1 2.5]} re #\"(\\d+)\"] (fn [s] [(:k a) (re-find re s)])))",
        "(f \"x12\")",
        "[[1 2.5] [\"12\" \"12\"]]",
    ),
    ("(def f (fn fact [n] (if (< n 2) 1 (* n (fact (dec n))))))", "(f 5)", "120"),
    ("(defn fact [n] (if (< n 2) 1 (* n (fact (dec n)))))", "(fact 5)", "120"),
    (
        "(defn even [n] (if (= n 0) true (odd (dec n)))) (defn odd [n] (if (= n 0) false (even (dec n))))",
        "(even 10)",
        "true",
    ),
    ("(def f (fn outer [n] (fn [] (if (pos? n) ((outer (dec n))) :end))))", "((f 3))", ":end"),
    ("(def f ((fn outer [n] (fn [m] (if (pos? m) ((outer n) (dec m)) n))) 7))", "(f 3)", "7"),
    ("(def f (comp inc (partial * 2) #(- % 1)))", "(f 4)", "7"),
    (
        "(def f (juxt :a (complement :b) (constantly 1) (fnil inc 5) (every-pred map?) (some-fn :z :a)))",
        "(f {:a 1})",
        "type_error: ",
    ),
    (
        "(def f [(fnil + 1) (every-pred odd? pos?) (some-fn :z :a) (constantly [1])])",
        "[((nth f 0) nil 2) ((nth f 1) 3) ((nth f 2) {:a 4}) ((nth f 3))]",
        "[3 true 4 [1]]",
    ),
    (
        "(def f (fn [{:keys [a b] :or {b 9} :as all} [c & d]] [a b c d all]))",
        "(f {:a 1} [2 3])",
        "[1 9 2 [3] {:a 1}]",
    ),
    ("(def f (let [x 5] (fn [y] (-> y (+ x) (as-> z [z x]) (conj :q)))))", "(f 1)", "[6 5 :q]"),
    ("(def f (->> 5 (fn [y])))", "(f 1)", "5"),
    ("(def f (->> 5 (fn [{:keys [a] :or {a (-> 1 inc (* 10))}}])))", "(f {})", "5"),
    ("(def f (some->> (-> 7 inc) (fn [y]) (fn [z])))", "((f 1) 2)", "8"),
    ("(def f (fn [n] (tool/twice {:n n})))", "(f 21)", "42"),
    ("(def f tool/twice)", "(f {:n 4})", "8"),
    ("(def n 1) (defn f [] n)", "(do (def n 2) (f))", "2"),
    ("(defn f [] (inc 1))", "(do (def inc dec) (f))", "2"),
    ("(def inc dec) (defn f [] (inc 1))", "(f)", "0"),
    ("(defn f [] (def later 1) later)", "[(f) later]", "unbound_var: "),
    ("(def f (fn [] (or later 3)))", "(f)", "3"),
    (
        "(def f (let [g (fn [] 1)] [g g (fn [] 1)]))",
        "[(= (nth f 0) (nth f 1)) (= (nth f 0) (nth f 2)) (= (nth f 0) (fn [] 1))]",
        "[true false false]",
    ),
    (
        "(def s #{(fn [] 1) inc (partial + 1)}) (def g (first (vec s)))",
        "[(count s) (contains? s g) (count (conj s g (fn [] 1)))]",
        "[3 true 4]",
    ),
    ("(def f (sort-by identity [3 1])) (fn [] f)", "(*1)", "[1 3]"),
    ("(def f (map (fn [n] (fn [] (* n n))) (range 5)))", "(map (fn [g] (g)) f)", "[0 1 4 9 16]"),
    (
        "(def f (fn [n] (loop [i 0 all []] (if (= i n) all (recur (inc i) (conj all #{i}))))))",
        "(f 2)",
        "[#{0} #{1}]",
    ),
    (
        "(def f (fn [c] (case c :a \"\\\"\\n\" (:b \\x) 'sym nil)))",
        "[(f :a) (f :b) (f :c)]",
        "[\"\\\"\\n\" 'sym nil]",
    ),
    ("(def f (fn [] (for [a [1 2] :let [b (* a a)] :when (odd? b)] {:a a})))", "(f)", "[{:a 1}]"),
    ("(let [if 5] (def f (fn [] if)))", "(f)", "5"),
    ("(def f (fn [x] (x)))", "(f 1)", "not_callable: "),
];

#[test]
fn a_function_works_the_same_in_another_process() {
    for (define, call, expected) in KEPT {
        let mut here = LispSession::default();
        let (first, _) = run(&mut here, define);
        assert!(!first.contains("_error") || expected.contains(": "), "{define}: {first}");
        let mut there = again(&here);
        assert_eq!(text(&there), text(&here), "{define}");
        for _ in 0..2 {
            let came = run(&mut there, call);
            assert_eq!(came, run(&mut here, call), "{define} {call}");
            if expected.ends_with(": ") {
                continue;
            }
            there = again(&there);
        }
        let mut fresh = again(&LispSession::from_text(&text(&after(define))).expect("reads"));
        let (shown, _) = run(&mut fresh, call);
        assert!(
            shown == *expected || (expected.ends_with(": ") && shown.contains(expected)),
            "{define} {call}: {shown}"
        );
    }
}

fn after(define: &str) -> LispSession {
    let mut session = LispSession::default();
    run(&mut session, define);
    session
}

#[test]
fn a_fault_in_a_kept_function_is_placed_where_this_program_calls_it() {
    let mut session = after("\n\n\n(defn f [x] (+ 1 x))");
    session = again(&session);
    let source = "\n(f nil)";
    let program = Program::prepare(source, &Inputs::default(), &session, &Limits::default());
    let step = program.expect("prepares").start(&session).begin();
    let Ok(RunStep::Done(outcome)) = step else { panic!("it calls no tool") };
    let RunEnd::Fault(fault) = outcome.end else { panic!("nil is no number") };
    let at = fault.position.expect("placed");
    assert_eq!((at.line, at.column), (2, 1));
}

#[test]
fn a_function_of_an_earlier_program_calls_no_tool_that_is_not_there() {
    let session = again(&after("(defn f [] (tool/twice {:n 1}))"));
    let program = Program::prepare("(f)", &Inputs::default(), &session, &Limits::default());
    let step = program.expect("prepares").start(&session).begin();
    let Ok(RunStep::Done(outcome)) = step else { panic!("the tool is not there") };
    let RunEnd::Fault(fault) = outcome.end else { panic!("the tool is not there") };
    assert_eq!(fault.class.name(), "unknown_tool");
}

#[test]
fn a_session_that_is_too_long_is_not_written() {
    let mut session = after("(def f (fn [x] [x x])) (def s \"long enough\")");
    let whole = text(&session);
    assert_eq!(session.to_text(whole.len()).as_ref(), Ok(&whole));
    assert!(session.to_text(whole.len() - 1).is_err());
    // What is shared is written each time: the text would be far longer than the value is large.
    run(&mut session, "(def x (reduce (fn [v _] [v v]) [1] (range 20))) 1");
    assert!(session.to_text(MOST).is_err());
}

#[test]
fn a_text_of_another_form_is_refused_in_words() {
    for (text, why) in [
        ("", "EOF"),
        ("{}", "missing field"),
        (r#"{"ptclisp":2,"code":[],"made":[],"defs":[],"last":[]}"#, "version 2"),
        (r#"{"ptclisp":1,"code":[],"made":[],"defs":[["a"]],"last":[]}"#, "ends early"),
        (r#"{"ptclisp":1,"code":[],"made":[],"defs":[["a",1,2]],"last":[]}"#, "after a value"),
        (r#"{"ptclisp":1,"code":[],"made":[],"defs":[["a",1],["a",1]],"last":[]}"#, "twice"),
        (r#"{"ptclisp":1,"code":[],"made":[],"defs":[["a",{"c":0}]],"last":[]}"#, "stands where"),
        (
            r#"{"ptclisp":1,"code":[],"made":[["partial",1,{"c":0}]],"defs":[],"last":[]}"#,
            "stands where",
        ),
        (r#"{"ptclisp":1,"code":[],"made":[["partial",0]],"defs":[],"last":[]}"#, "parts"),
        (r#"{"ptclisp":1,"code":[],"made":[],"defs":[["a",{"e":2},1,1]],"last":[]}"#, "twice"),
        (
            r#"{"ptclisp":1,"code":[{"fn":"(fn [] nowhere)","names":[],"globals":[]}],"made":[],"defs":[],"last":[]}"#,
            "nowhere",
        ),
        (
            r#"{"ptclisp":1,"code":[{"fn":"(fn [])) 1","names":[],"globals":[]}],"made":[],"defs":[],"last":[]}"#,
            "bracket",
        ),
        (
            r#"{"ptclisp":1,"code":[{"fn":"(inc 1)","names":[],"globals":[]}],"made":[],"defs":[],"last":[]}"#,
            "function",
        ),
        (r#"{"ptclisp":1,"code":[],"made":[],"defs":[],"last":[[1],[2],[3],[4]]}"#, "too many"),
    ] {
        let found = LispSession::from_text(text).map(|_| ()).expect_err(text);
        assert!(found.to_string().contains(why), "{text}: {found}");
    }
}
