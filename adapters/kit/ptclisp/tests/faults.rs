//! What a fault tells: first where, then what, then what to write instead.

mod support;

use support::{fault, inputs, run};
use windlass_kit_ptclisp::{Fault, Limits, LispSession, Program, RunEnd};

fn told(source: &str) -> String {
    fault(source, &Limits::default()).to_string()
}

#[test]
fn a_fault_begins_with_its_place() {
    for (source, text) in [
        ("(+ 1\n  nil)", "line 1, column 1: type_error: +: invalid argument types: number, nil. "),
        ("(do\n  (/ 1 0))", "line 2, column 3: arithmetic_error: division by zero. "),
        ("(if", "line 1, column 1: parse_error: '(if' is not closed. Close it with ')'."),
    ] {
        assert!(told(source).starts_with(text), "{}", told(source));
    }
}

#[test]
fn forms_that_are_not_closed_are_named_with_the_place_where_they_open() {
    for (source, text) in [
        (
            "(f [1 {:a",
            "3 forms are not closed: '{:a' of line 1, column 7, '[1' of line 1, column 4, '(f' of line 1, column 1. Close them with '}])'.",
        ),
        (
            "(def a 1)\n(let [b 2]\n  (if (> a b)\n    (println a)\n(return 3)",
            "line 3, column 3: parse_error: 2 forms are not closed: '(if' of line 3, column 3, '(let' of line 2, column 1. Close them with '))', probably before line 5.",
        ),
        (
            "#{1 #(f 2",
            "'#(f' of line 1, column 5, '#{1' of line 1, column 1. Close them with ')}'.",
        ),
        ("(a (b (c (d (e (f", "6 forms are not closed: '(f' of line 1, column 16"),
        ("(a (b (c (d (e (f", " and 2 around them."),
    ] {
        assert!(told(source).contains(text), "{}", told(source));
    }
}

#[test]
fn an_unknown_name_is_told_the_nearest_one() {
    for (source, hint) in [
        ("(fliter odd? [1])", "Did you mean filter?"),
        ("(defn total [x] x) (totl 1)", "Did you mean total?"),
        (
            "(redcue + (fliter odd? [1]))",
            "redcue: did you mean reduce? fliter: did you mean filter?",
        ),
        ("(str/uper-case \"a\")", "Did you mean upper-case?"),
        ("(core/fliter odd? [1])", "Did you mean filter?"),
        ("(json/parse-strng \"1\")", "Did you mean json/parse-string?"),
        ("(coll/map inc [1])", "Did you mean map?"),
        ("(length [1])", "Write (count coll)."),
        ("(clojure.set/map-invert {:a 1})", "Write (into {} (map"),
        ("(set/rename-keys {:a 1} {:a :b})", "Write (-> m (assoc :new"),
        ("(str/substring \"abc\" 1)", "Write (subs text start end)."),
        ("(foo/rand)", "There is no randomness"),
        ("(json/len \"1\")", "Use a name that is listed"),
        ("(lazy-seq [1])", "(repeatedly f)"),
        ("(json/parse \"1\")", "Write (json/parse-string text)."),
        ("(.length \"a\")", "Write (count text)."),
        ("(Math/abs -1)", "Write (abs x)."),
        ("(swap! total inc)", "swap!: Nothing is changed in place"),
        ("(zq 1)", "Define it with def or let"),
    ] {
        let fault = fault(source, &Limits::default());
        assert!(fault.hint.as_deref().is_some_and(|told| told.contains(hint)), "{fault}");
    }
}

fn refused(source: &str) -> Fault {
    let mut inputs = inputs(&["search", "get-user"]);
    inputs.data = std::sync::Arc::new([("rows".into(), 1_i64.into())].into());
    let program = Program::prepare(source, &inputs, &LispSession::default(), &Limits::default());
    match program.and_then(|program| program.check_inputs()) {
        Err(fault) => fault,
        Ok(()) => unreachable!("{source} is refused"),
    }
}

#[test]
fn unknown_tools_and_inputs_are_told_the_nearest_one() {
    for (source, hint) in [
        ("(tool/serch {})", "Did you mean tool/search?"),
        ("(tool/get_user {})", "Did you mean tool/get-user?"),
        ("(tool/delete {})", "Call one of the available tools."),
        ("data/row", "Did you mean data/rows? There is: data/rows."),
        ("data/other", "There is: data/rows."),
    ] {
        assert_eq!(refused(source).hint.as_deref(), Some(hint), "{source}");
    }
}

#[test]
fn a_fault_within_a_function_is_at_its_place() {
    let outcome = run("(defn half [x]\n  (/ x 2))\n(map half [2 nil])");
    let RunEnd::Fault(fault) = outcome.end else { unreachable!("nil has no half") };
    assert_eq!(fault.position.map(|at| (at.line, at.column)), Some((2, 3)));
}
