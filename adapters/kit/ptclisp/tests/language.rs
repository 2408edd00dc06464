//! The language in small: each program and what it gives, and the faults of programs that cannot work.

mod support;

use support::{fault, inputs, run, value};
use windlass_kit_ptclisp::{FaultClass, Limits, LispSession, Program, RunEnd, RunStep, readable};

const VALUES: &[(&str, &str)] = &[
    (
        "(let [[a & more] [1 2 3] {:keys [b] :or {b 5} :as m} {:c 1}] [a more b m])",
        "[1 [2 3] 5 {:c 1}]",
    ),
    ("(let [{n \"name\" :keys [age]} {\"name\" \"Ann\" \"age\" 31}] [n age])", "[\"Ann\" 31]"),
    ("(->> (range 10) (filter odd?) (map #(* % %)) (reduce +))", "165"),
    ("(-> {:a {:b 1}} (update-in [:a :b] inc) (assoc :c 2) (get-in [:a :b]))", "2"),
    ("(some-> {:a nil} :a inc)", "nil"),
    ("(cond-> [] true (conj 1) false (conj 2))", "[1]"),
    ("(as-> 1 x (+ x 1) [x x])", "[2 2]"),
    ("(loop [i 0 acc []] (if (< i 3) (recur (inc i) (conj acc i)) acc))", "[0 1 2]"),
    ("((fn fact [n] (if (zero? n) 1 (* n (fact (dec n))))) 25)", "15511210043330985984000000"),
    ("(defn f ([x] (f x 10)) ([x y] (+ x y))) [(f 1) (f 1 2)]", "[11 3]"),
    ("(let [adders (map (fn [n] (fn [x] (+ n x))) [1 2])] (map #(% 10) adders))", "[11 12]"),
    (
        "(for [x [1 2 3] :when (odd? x) :let [y (* 10 x)] z [:a :b]] [y z])",
        "[[10 :a] [10 :b] [30 :a] [30 :b]]",
    ),
    ("(for [x (range 9) :while (< x 2)] x)", "[0 1]"),
    ("(case 3 (1 2) :few 3 :three :many)", ":three"),
    ("(condp = 2 1 :one 2 :two :other)", ":two"),
    ("(group-by even? [1 2 3])", "{false [1 3] true [2]}"),
    (
        "(sort-by (juxt :a :b) [{:a 2 :b 1} {:a 1 :b 2} {:a 1 :b 1}])",
        "[{:a 1 :b 1} {:a 1 :b 2} {:a 2 :b 1}]",
    ),
    ("(sort (fn [a b] (> a b)) [2 3 1])", "[3 2 1]"),
    ("(sort-by :n > [{:n 1} {:n 2}])", "[{:n 2} {:n 1}]"),
    ("(sort-by identity (fn [a b] (compare b a)) [1 3 2])", "[3 2 1]"),
    ("(merge-with + {:a 1 :b 2} {:b 3} {:c 4})", "{:a 1 :b 5 :c 4}"),
    ("(reduce-kv (fn [m k v] (assoc m v k)) {} {:a 1 :b 2})", "{1 :a 2 :b}"),
    (
        "[(partition 2 [1 2 3]) (partition-all 2 [1 2 3]) (partition-by odd? [1 3 2])]",
        "[[[1 2]] [[1 2] [3]] [[1 3] [2]]]",
    ),
    (
        "[(set [1 1 2]) (contains? #{1} 1) (union #{1} #{2}) (difference #{1 2} #{2})]",
        "[#{1 2} true #{1 2} #{1}]",
    ),
    (
        "[(re-find #\"(\\d+)-(\\d+)\" \"a 10-20\") (re-seq #\"\\w\" \"ab\") (split \"a,b\" #\",\")]",
        "[[\"10-20\" \"10\" \"20\"] [\"a\" \"b\"] [\"a\" \"b\"]]",
    ),
    ("[(quot -7 2) (rem -7 2) (mod -7 2) (/ 7 2) (int 3.9)]", "[-3 -1 1 3.5 3]"),
    (
        "[(= 1 1.0) (= [1] '(1)) (= ##NaN ##NaN) (compare nil 1) (max 1 2.5)]",
        "[true true false -1 2.5]",
    ),
    (
        "[(str \"a\" nil :b 1.0 [\"x\"]) (pr-str \"q\\\"\") (format \"%05.1f|%-3s|%3d\" 2.25 \"a\" 7)]",
        "[\"a:b1.0[\\\"x\\\"]\" \"\\\"q\\\\\\\"\\\"\" \"002.2|a  |  7\"]",
    ),
    (
        "[(count \"e\u{301}a\") (first \"\u{1f44d}b\") (subs \"hello\" 1 3) (upper-case \"\u{e4}\")]",
        "[2 \"\u{1f44d}\" \"el\" \"\u{c4}\"]",
    ),
    ("(tree-seq vector? seq [1 [2]])", "[[1 [2]] 1 [2] 2]"),
    ("(postwalk #(if (number? %) (inc %) %) {:a [1 {:b 2}]})", "{:a [2 {:b 3}]}"),
    (
        "[((comp inc #(* 2 %)) 3) ((partial + 1 2) 3) ((juxt inc dec) 1) ((fnil inc 0) nil)]",
        "[7 6 [2 0] 1]",
    ),
    (
        "[(every? odd? []) (some #{2} [1 2]) (not-any? nil? [1]) ((every-pred pos? odd?) 3)]",
        "[true 2 true true]",
    ),
    (
        "[(first (vec #{3 1})) (map inc #{2 1}) (seq {:b 1 :a 2}) (vals {:b 1 :a 2})]",
        "[1 [2 3] [[:a 2] [:b 1]] [2 1]]",
    ),
    (
        "(json/generate-string (json/parse-string \"{\\\"a\\\": [1, 2.5, null]}\"))",
        "\"{\\\"a\\\":[1,2.5,null]}\"",
    ),
    ("(do (def x 1) (def y (+ x 1)) [x y #'x])", "[1 2 1]"),
    ("(return 1) 2", "return 1"),
    ("(map (fn [x] (if (= x 2) (fail {:at x}) x)) [1 2 3])", "fail {:at 2}"),
    ("[:a; a comment\n #_(left out) :b]", "[:a :b]"),
    ("(let [if 1 fn inc] (fn if))", "2"),
    ("(or missing-name 3)", "3"),
    ("((fn [& {:keys [a]}] a) :a 1)", "1"),
    ("#(+ %1 %2)", "#fn[p1 p2]"),
];

#[test]
fn programs_give_their_values() {
    for (source, expected) in VALUES {
        assert_eq!(value(source), *expected, "{source}");
    }
}

const FAULTS: &[(&str, FaultClass, u32)] = &[
    ("(+ 1", FaultClass::Parse, 1),
    ("(inc nowhere)", FaultClass::UnboundVar, 6),
    ("(tool/none {})", FaultClass::UnknownTool, 2),
    ("(if)", FaultClass::InvalidArity, 1),
    ("(let [x] x)", FaultClass::InvalidForm, 6),
    ("(loop [x 1] (recur x) x)", FaultClass::InvalidForm, 13),
    ("{:a 1 :a 2}", FaultClass::DuplicateKey, 7),
    ("(let [[a :as b] [1]] a)", FaultClass::UnsupportedPattern, 10),
    ("(let [[a] 1] a)", FaultClass::Destructure, 7),
    ("(inc \"1\")", FaultClass::Type, 1),
    ("(get {:a 1})", FaultClass::Arity, 1),
    ("((fn [a] a))", FaultClass::Arity, 1),
    ("(do\n (1 2))", FaultClass::NotCallable, 2),
    ("(/ 1 0)", FaultClass::Arithmetic, 1),
    ("(keyword \"\")", FaultClass::Runtime, 1),
    ("(pmap inc [nil])", FaultClass::Pmap, 1),
    ("(pcalls #(/ 1 0))", FaultClass::Pcalls, 9),
    ("(.length \"a\")", FaultClass::JavaMethod, 2),
    ("(Math/abs 1)", FaultClass::JavaMember, 2),
    ("(loop [i 0] (recur i))", FaultClass::LoopLimit, 13),
];

#[test]
fn faults_have_class_place_and_hint() {
    for (source, class, column) in FAULTS {
        let fault = fault(source, &Limits::default());
        assert_eq!(fault.class, *class, "{source}: {fault}");
        let position = fault.position.expect(source);
        assert_eq!(position.column, *column, "{source}: {fault}");
        assert!(fault.hint.is_some_and(|hint| !hint.is_empty()), "{source}");
    }
}

#[test]
fn the_parenthesis_that_closed_a_form_early_is_found() {
    let slips = [
        ("(let [a 1]\n  (println a))\n  (return a))", "return 1", vec![(2, 14)]),
        (
            "(let [a 1] (println a)) (println a)) (return [a]))",
            "return [1]",
            vec![(1, 23), (1, 35)],
        ),
        ("(defn f [x] (inc x))) (f 1)", "2", vec![(1, 21)]),
        ("(let [a 1] (inc a))))", "2", vec![(1, 20), (1, 21)]),
    ];
    for (source, expected, places) in slips {
        let session = LispSession::default();
        let program = Program::prepare(source, &inputs(&[]), &session, &Limits::default());
        let program = program.expect(source);
        let mut found: Vec<(u32, u32)> = program
            .repairs()
            .iter()
            .map(|repair| (repair.position.line, repair.position.column))
            .collect();
        found.sort_unstable();
        assert_eq!(found, places, "{source}");
        assert_eq!(value(source), expected, "{source}");
    }
    let found = fault("(let [a 1] (inc a)) (return b))", &Limits::default());
    assert_eq!(
        (found.class, found.position.map(|at| at.column)),
        (FaultClass::UnboundVar, Some(29))
    );
}

#[test]
fn a_near_name_is_offered() {
    let fault = fault("(defn my-total [x] x) (my-totl 1)", &Limits::default());
    assert_eq!(fault.hint.as_deref(), Some("Did you mean my-total?"));
}

#[test]
fn deep_forms_within_the_limit_are_analyzed_on_a_small_stack() {
    let limits = Limits { forms_deep: 200, ..Limits::default() };
    for (open, middle, close) in
        [("(inc ", "1", ")"), ("(let [x ", "1", "] x)"), ("((fn [x] ", "1", ") 1)")]
    {
        let deep = 190 / open.matches(['(', '[']).count() - 1;
        let source = format!("{}{middle}{}", open.repeat(deep), close.repeat(deep));
        let outcome = support::run_within(&source, &limits).expect(open);
        assert!(matches!(outcome.end, RunEnd::Value(_)), "{open}: {:?}", outcome.end);
    }
}

#[test]
fn a_session_keeps_what_succeeded() {
    let mut session = LispSession::default();
    let mut say = |source: &str| {
        let program = Program::prepare(source, &inputs(&[]), &session, &Limits::default());
        let program = match program {
            Ok(program) => program,
            Err(fault) => return fault.class.name().to_owned(),
        };
        let Ok(RunStep::Done(outcome)) = program.start(&session).begin() else {
            return "waits".to_owned();
        };
        session.commit(&outcome);
        match &outcome.end {
            RunEnd::Value(value) | RunEnd::Return(value) | RunEnd::Fail(value) => readable(value),
            RunEnd::Fault(fault) => fault.class.name().to_owned(),
        }
    };
    for (source, expected) in [
        ("(def x 1) 10", "10"),
        ("(def x 2) (/ 1 0)", "arithmetic_error"),
        ("(def x 3) (fail :no)", ":no"),
        ("[x *1 *2]", "[1 10 nil]"),
        ("(def x 4) (return :yes)", ":yes"),
        ("[x *1]", "[4 [1 10 nil]]"),
        ("(defn twice [n] (* x n))", "#'twice"),
        ("(def x 5) (twice 10)", "50"),
        ("(+ *1 1)", "51"),
        ("[*1 *2 *3]", "[51 50 #'twice]"),
    ] {
        assert_eq!(say(source), expected, "{source}");
    }
}

#[test]
fn printed_lines_are_kept_and_shortened() {
    let outcome =
        run("(println \"a\" 1 [\"b\"]) (println) (println (apply str (repeat 3000 \"x\")))");
    assert_eq!(outcome.prints[..2], ["a 1 [\"b\"]", ""]);
    assert!(outcome.prints[2].ends_with("x... (2000/3000 chars)"));
}
