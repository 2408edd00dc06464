//! The edges of the language: what functions make of nil, of nothing and of values that they do not
//! take, and the class of each fault.

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
fn forms_that_are_not_whole_have_classes_of_their_own() {
    refuse(FaultClass::InvalidCond, &["(cond (pos? 1) :a :else)"]);
    refuse(
        FaultClass::InvalidThread,
        &["(->>)", "(some->>)", "(cond->> [1] true)", "(as-> [1])", "(as-> [1] [x] x)"],
    );
    refuse(FaultClass::InvalidPlaceholder, &["%", "(filter (pos? %) [1])", "[%3]", "(fn [x] %&)"]);
    refuse(
        FaultClass::InvalidForm,
        &[
            "(let {a 1} a)",
            "(loop (i 0) i)",
            "(fn inc 1)",
            "(defn half \"of a number\")",
            "(case)",
            "(case 2 () :none :other)",
            "(condp = 2 :other)",
            "(if-some [n] 1 2)",
            "(for [] :x)",
            "(doseq [] :x)",
            "(let [{:keys n} {:n 1}] n)",
            "(let [[a & more :as all] [1 2]] all)",
            "[1 ()]",
            "(. \"a\" length)",
        ],
    );
    refuse(
        FaultClass::InvalidArity,
        &[
            "(fn)",
            "(defn half)",
            "(if-let [n 1] n)",
            "(for [n [1]])",
            "(doseq [n [1]])",
            "(for n n)",
            "(return)",
            "(fail :a :b)",
            "(apply max)",
        ],
    );
    refuse(FaultClass::InvalidKeywordCall, &["(:n)", "(:n {} 1 2)"]);
    refuse(FaultClass::InvalidMapCall, &["({:n 1})", "({} :n 1 2)"]);
    refuse(FaultClass::Arity, &["(#{:n})", "(#{:n} :n 1)"]);
    refuse(FaultClass::Destructure, &["((fn [& {:keys [n]}] n) :n 1 :m)"]);
}

#[test]
fn the_members_of_a_set_have_no_order() {
    for call in [
        "(first #{7})",
        "(last #{7})",
        "(rest #{7})",
        "(next #{7})",
        "(nth #{7} 0)",
        "(butlast #{7})",
        "(take 2 #{7})",
        "(drop 2 #{7})",
        "(take-last 2 #{7})",
        "(drop-last #{7})",
        "(reverse #{7})",
        "(distinct #{7})",
        "(sort #{7})",
        "(sort > #{7})",
    ] {
        refuse(FaultClass::Type, &[call]);
    }
    give(&[
        ("(sort (vec #{9 7 8}))", "[7 8 9]"),
        ("(sort-by - #{9 7 8})", "[9 8 7]"),
        ("(filter odd? #{9 7 8})", "[7 9]"),
        ("(split-at 1 #{7 8})", "[[7] [8]]"),
        ("(nthrest #{7 8 9} 2)", "[9]"),
        ("(nthnext {:x 1 :y 2} 1)", "[[:y 2]]"),
    ]);
}

#[test]
fn nothing_is_taken_as_nothing() {
    give(&[
        ("(reduce max [])", "nil"),
        ("(reduce max nil)", "nil"),
        ("(reduce max 4 [])", "4"),
        ("(vec nil)", "nil"),
        ("(empty :name)", "{}"),
        ("(merge 7)", "7"),
        ("(mapcat :tags [{} {:tags [:a]} {:tags :b}])", "[:a :b]"),
        ("(merge nil nil)", "{}"),
        ("(split \"\" #\"-\")", "[\"\"]"),
        ("(sum nil)", "0"),
        ("(avg [nil nil])", "nil"),
        ("(json/parse-string :none)", "nil"),
    ]);
    refuse(
        FaultClass::Type,
        &[
            "(join nil)",
            "(join \"-\" nil)",
            "(join nil [\"a\"])",
            "(set nil)",
            "(update {:n 1} :n)",
            "(update-in {:n 1} [:n])",
            "(dissoc)",
            "(max-key)",
        ],
    );
    refuse(
        FaultClass::Runtime,
        &[
            "(assoc)",
            "(partial)",
            "(format)",
            "(max-by count)",
            "(min-key count)",
            "(mapcat identity [nil])",
            "(conj {:n 1} nil)",
        ],
    );
}

#[test]
fn functions_refuse_what_they_do_not_take() {
    refuse(
        FaultClass::Type,
        &[
            "(ffirst \"word\")",
            "(fnext {:n 1})",
            "(zip [1] \"a\")",
            "(sum #{1 2})",
            "(avg {:n 1})",
            "(into #{} 9)",
            "(set \"word\")",
            "(apply str \"word\")",
            "(join \",\" {:n 1})",
            "(group-by count \"word\")",
            "(split \"a, b\" \", \")",
            "(re-pattern #\"\\d\")",
            "(update-vals {:n 1} #{1})",
            "(merge-with #{1} {:n 1} {:n 2})",
            "(filter {:n true} [:n])",
            "(remove {:n true} [:n])",
            "(sort-by {:n 1} [:n])",
            "(map {:n 1} [:n])",
        ],
    );
    refuse(
        FaultClass::Runtime,
        &[
            "(conj {:n 1} {:m 2})",
            "(conj {:n 1} [:m])",
            "(conj \"word\" \"s\")",
            "(disj [1 2] 1)",
            "(keyword \"2nd\")",
            "(keyword \"a.b\")",
            "(format \"%X\" 10)",
            "(format \"%d\" 0.5)",
        ],
    );
    refuse(
        FaultClass::Arithmetic,
        &["(sum [1 \"2\"])", "(avg-by :n [{:n :many}])", "(int 3000000000)", "(int ##-Inf)"],
    );
    refuse(FaultClass::Arity, &["(zip [1] [2] [3])", "(fnil + 0 0)", "(mapcat list [1] [2])"]);
    refuse(FaultClass::UnboundVar, &["(any? 1)"]);
}

#[test]
fn a_keyword_asks_items_that_may_have_entries() {
    give(&[
        ("(map :n [{:n 1} {} nil [] :word #{:n}])", "[1 nil nil nil nil :n]"),
        ("(map :n \"ab\")", "[nil nil]"),
        ("(some :n [{:n 1} 2])", "1"),
    ]);
    refuse(
        FaultClass::Type,
        &[
            "(map :n [{:n 1} 2])",
            "(filter :n [\"word\"])",
            "(group-by :n [true])",
            "(sum-by :n [1])",
            "(keep :n [inc])",
        ],
    );
    give(&[("[(:n 1) (:n \"word\") (:n nil :none)]", "[nil nil :none]")]);
}

#[test]
fn maps_and_sets_are_functions_of_one_thing() {
    give(&[
        ("(group-by {:x 1 :y 1} [:x :y :z])", "{1 [:x :y] nil [:z]}"),
        ("(partition-by #{1} [1 1 2])", "[[1 1] [2]]"),
        ("(distinct-by {1 :odd 3 :odd} [1 2 3])", "[1 2]"),
        ("(map-indexed {0 :first} [:x :y])", "[:first :y]"),
        ("(max-key {:x 1 :y 2} :x :y)", ":y"),
        ("(every? {:x 1} [:x :y])", "false"),
        ("(take-while {:x 1} [:x :y :x])", "[:x]"),
        ("(filterv {:x 1} [:x :y])", "[:x]"),
    ]);
}

#[test]
fn names_with_hyphens_find_names_with_underscores() {
    give(&[
        ("(:first-name {\"first_name\" \"Ann\"})", "\"Ann\""),
        ("(get-in {:a_b {\"c_d\" 1}} [:a-b :c-d])", "1"),
        ("(let [{:keys [a-b]} {:a_b 2}] a-b)", "2"),
        ("(contains? {\"a_b\" 1} :a-b)", "true"),
        ("(:a_b {:a-b 1})", "nil"),
        ("(:a-b {:a-b 1 :a_b 2})", "1"),
    ]);
}

#[test]
fn a_vector_is_a_key_or_else_a_path() {
    give(&[
        ("(get {:a {:b 3}} [:a :b])", "3"),
        ("(get {[:a :b] 4 :a {:b 3}} [:a :b])", "4"),
        ("(get {:a 1} [:b] :none)", ":none"),
    ]);
}

#[test]
fn of_equals_the_first_is_the_largest_and_the_smallest() {
    give(&[
        ("(max-key count \"ab\" \"cd\" \"e\")", "\"ab\""),
        ("(min-key count \"a\" \"b\" \"cd\")", "\"a\""),
        ("(max-by :n {:n 1} {:n 3} {:n 2})", "{:n 3}"),
        ("(min-by count [\"ab\" \"c\" \"d\"])", "\"c\""),
    ]);
}

#[test]
fn numbers_are_converted_where_nothing_is_lost() {
    give(&[
        ("[(even? 6.0) (odd? 7.0) (even? 6.5) (odd? ##Inf)]", "[true true false false]"),
        ("[(int \"a\") (int \\space) (int -2147483648)]", "[97 32 -2147483648]"),
        ("[(format \"%d\" 12.0) (format \"%5d|\" -3)]", "[\"12\" \"   -3|\"]"),
        ("(quot 9 ##-Inf)", "##NaN"),
        ("(json/generate-string {7 \"a\"})", "\"{\\\"7\\\":\\\"a\\\"}\""),
    ]);
}
