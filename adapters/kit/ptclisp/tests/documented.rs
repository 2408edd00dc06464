//! What the language's documents promise of single functions and forms, and what is refused with a way out.

mod support;

use support::{fault, value};
use windlass_kit_ptclisp::{FaultClass, Limits};

fn give(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(value(source), *expected, "{source}");
    }
}

fn refuse(class: FaultClass, sources: &[&str]) {
    for source in sources {
        let fault = fault(source, &Limits::default());
        assert_eq!(fault.class, class, "{source}: {fault}");
    }
}

#[test]
fn a_group_is_extracted_by_its_number() {
    give(&[
        ("(extract #\"n=(\\d+)\" \"n=42\")", "\"42\""),
        ("(extract \"n=(\\d+)\" \"n=42\" 0)", "\"n=42\""),
        ("(extract #\"(\\w)(\\d)\" \"a1\" 2)", "\"1\""),
        ("(extract #\"(\\d)\" \"1\" 2)", "nil"),
        ("(extract #\"(\\d)\" \"1\" -1)", "nil"),
        ("(extract #\"\\d\" \"1\")", "nil"),
        ("(extract #\"\\d\" \"1\" 0)", "\"1\""),
        ("(extract #\"(\\d)\" \"x\" 0)", "nil"),
        ("(extract #\"(a)|(b)\" \"b\")", "\"\""),
        ("(extract #\"(a)|(b)\" \"a\" 2)", "nil"),
    ]);
    refuse(
        FaultClass::Type,
        &["(extract #\"a\" nil)", "(extract #\"(a)\" \"a\" \"1\")", "(extract 1 \"a\" 0)"],
    );
    refuse(FaultClass::Arity, &["(extract #\"a\")", "(extract #\"a\" \"a\" 0 nil)"]);
}

#[test]
fn the_third_argument_of_extract_int_is_the_group_and_the_fourth_the_default() {
    give(&[
        ("(extract-int #\"n=(\\d+)\" \"n=42\")", "42"),
        ("(extract-int #\"n=(\\d+)\" \"n=42\" 1)", "42"),
        ("(extract-int #\"(\\d+)-(\\d+)\" \"10-20\" 2)", "20"),
        ("(extract-int #\"-\\d+\" \"a-7\" 0)", "-7"),
        ("(extract-int #\"n=(\\d+)\" \"none\" 1)", "nil"),
        ("(extract-int #\"n=(\\d+)\" \"none\" 1 7)", "7"),
        ("(extract-int #\"n=(\\w+)\" \"n=x\" 1 :none)", ":none"),
        ("(extract-int #\"\\d+\" \"1\" 1 0)", "0"),
    ]);
    refuse(FaultClass::Arity, &["(extract-int #\"a\")", "(extract-int #\"a\" \"a\" 0 1 2)"]);
}

#[test]
fn a_direction_sorts() {
    give(&[
        ("(sort :desc [1 3 2])", "[3 2 1]"),
        ("(sort :asc [1 3 2])", "[1 2 3]"),
        ("(sort :desc [\"b\" nil \"c\"])", "[\"c\" \"b\" nil]"),
        ("(->> [1 3 2] (sort :desc) first)", "3"),
        ("(sort-by :p :desc [{:p 1} {:p 3} {:p 2}])", "[{:p 3} {:p 2} {:p 1}]"),
        ("(sort-by :p :asc [{:p 2} {:p 1}])", "[{:p 1} {:p 2}]"),
        ("(sort-by first :desc [[1 :a] [2 :b] [1 :c]])", "[[2 :b] [1 :a] [1 :c]]"),
    ]);
    refuse(
        FaultClass::Type,
        &["(sort-by :p :down [{:p 1}])", "(sort-by :p [{:p 1}] :desc)", "(sort :desc #{1 2})"],
    );
    let swapped = fault("(sort-by :p [{:p 1}] :desc)", &Limits::default());
    let hint = "Try: (sort-by :p :desc collection).";
    assert_eq!(swapped.hint.as_deref(), Some(hint));
}

#[test]
fn combinations_are_all_choices_in_order() {
    give(&[
        ("(combinations [1 2 3] 2)", "[[1 2] [1 3] [2 3]]"),
        ("(combinations [1 2 3 4] 3)", "[[1 2 3] [1 2 4] [1 3 4] [2 3 4]]"),
        ("(combinations [1 1] 2)", "[[1 1]]"),
        ("(combinations \"ab\" 1)", "[[\"a\"] [\"b\"]]"),
        ("(combinations {:a 1 :b 2} 2)", "[[[:a 1] [:b 2]]]"),
        ("(combinations [1 2] 0)", "[[]]"),
        ("(combinations nil 0)", "[[]]"),
        ("(combinations [1 2] 3)", "[]"),
        ("(combinations [1 2] -1)", "[]"),
        ("(count (combinations (range 10) 4))", "210"),
    ]);
    refuse(FaultClass::Type, &["(combinations [1] nil)", "(combinations 1 1)"]);
    // Known to be too many before the first is made.
    refuse(FaultClass::Memory, &["(combinations (range 200) 100)", "(combinations (range 60) 30)"]);
    let tight = Limits { steps: 500, ..Limits::default() };
    let source = "(combinations (range 20) 3)";
    assert_eq!(fault(source, &tight).class, FaultClass::Fuel);
}

#[test]
fn replace_takes_any_collection() {
    give(&[
        ("(replace {:a 1} nil)", "[]"),
        ("(replace {\"a\" 1} \"ab\")", "[1 \"b\"]"),
        ("(replace {:a 1} #{:a})", "[1]"),
        ("(replace {[:a 1] :x} {:a 1 :b 2})", "[:x [:b 2]]"),
        ("(replace [:x :y] nil)", "[]"),
        ("(replace [:x :y] #{0 5})", "[:x 5]"),
    ]);
    refuse(FaultClass::Type, &["(replace {:a 1} 5)", "(replace nil [1])"]);
}

#[test]
fn at_most_three_collections_go_side_by_side() {
    give(&[("(map vector [1] [2] [3])", "[[1 2 3]]"), ("(mapv + [1] [2] [3])", "[6]")]);
    refuse(FaultClass::Arity, &["(map vector [1] [2] [3] [4])", "(mapv vector [1] [2] [3] [4])"]);
}

#[test]
fn nothing_has_no_lines_of_json() {
    give(&[("(json/parse-lines nil)", "nil"), ("(json/parse-lines \"\")", "[]")]);
    refuse(FaultClass::Type, &["(json/parse-lines 1)"]);
}

#[test]
fn a_step_that_would_take_the_value_for_a_name_is_refused() {
    for (source, instead) in [
        ("(-> 5 (fn [x] x))", "((fn [x] ...))"),
        ("(->> 5 (fn [x] x))", "((fn [x] ...))"),
        ("(some-> 5 (fn [x] x))", "((fn [x] ...))"),
        ("(cond-> 5 true (fn [x] x))", "((fn [x] ...))"),
        ("(-> 5 (core/fn [x] x))", "((fn [x] ...))"),
        ("(-> 5 fn)", "((fn [x] ...))"),
        ("(-> 5 quote)", "Leave it out"),
        ("(->> 5 (quote))", "Leave it out"),
        ("(-> 5 (def x))", "(def name (-> ...))"),
        ("(-> [n] (defn f))", "(def name (-> ...))"),
    ] {
        let fault = fault(source, &Limits::default());
        assert_eq!(fault.class, FaultClass::InvalidThread, "{source}: {fault}");
        let hint = fault.hint.unwrap_or_default();
        assert!(hint.contains(instead), "{source}: {hint}");
    }
    give(&[
        ("(-> 5 ((fn [x] (inc x))))", "6"),
        ("(-> 5 #(inc %))", "6"),
        ("(-> 5 (#(inc %)))", "6"),
        ("(->> 5 (def five)) five", "5"),
        ("((->> 5 (fn [x])) 1)", "5"),
        ("(let [fn inc] (-> 5 fn (fn)))", "7"),
        ("(as-> 5 x ((fn [y] (+ x y)) x))", "10"),
    ]);
}

#[test]
fn data_is_described_by_its_fields() {
    give(&[
        (
            "(describe {:a 1 \"b\" \"x\"})",
            "{:count 2 :key_types {\"keyword\" 1 \"string\" 1} :keys {\":a\" {:distinct_count 1 \
             :examples [1] :range {:max 1 :min 1} :types {\"integer\" 1}} \"b\" {:distinct_count 1 \
             :examples [\"x\"] :non_empty 1 :types {\"string\" 1}}} :type \"map\"}",
        ),
        (
            "(describe [{\"n\" 1} {\"n\" \"\"} {\"n\" \"2.5\"} 7])",
            "{:count 4 :item_types {\"integer\" 1 \"map\" 3} :key_types {\"string\" 3} :keys {\"n\" \
             {:distinct_count 3 :examples [\"2.5\" \"\" 1] :non_empty 1 :pct 75.0 :present 3 \
             :range {:max 2.5 :min 1} :types {\"integer\" 1 \"string\" 2}}} :scanned 4 :type \"vector\"}",
        ),
        (
            "(describe [1 2 2])",
            "{:count 3 :item_types {\"integer\" 3} :scanned 3 :type \"vector\"}",
        ),
        (
            "(describe #{1 :a})",
            "{:count 2 :item_types {\"integer\" 1 \"keyword\" 1} :scanned 2 :type \"set\"}",
        ),
        (
            "(describe ##-Inf)",
            "{:examples [##-Inf] :sample ##-Inf :type \"infinity\" :types {\"infinity\" 1}}",
        ),
        ("(:type (describe ##NaN))", "\"nan\""),
        (
            "(describe \"42\")",
            "{:distinct_count 1 :examples [\"42\"] :non_empty 1 :range {:max 42.0 :min 42.0} \
             :sample \"42\" :type \"string\" :types {\"string\" 1}}",
        ),
        ("(get-in (describe [{:a [1 {:b 2}]}]) [:keys \":a\" :examples])", "[\"[1 {:b 2}]\"]"),
        ("(keys (:keys (describe {:a 1 \":a\" 2})))", "[\"keyword::a\" \"string::a\"]"),
        ("(get-in (describe [{:a 1} {:a 2}] {:sample 1}) [:keys \":a\" :examples])", "[2]"),
        ("(count (:sample (describe (apply str (repeat 500 \"x\")))))", "134"),
        (
            "(select-keys (get-in (describe (map (fn [n] {:n n}) (range 60))) [:keys \":n\"]) \
             [:distinct_count :distinct_capped])",
            "{:distinct_capped true :distinct_count 50}",
        ),
    ]);
    refuse(FaultClass::Type, &["(describe [] {:paths true})"]);
}
