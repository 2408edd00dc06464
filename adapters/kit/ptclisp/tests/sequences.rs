//! Sequences without an end, transducers, what ends a `reduce`, and forms that repeat.

mod support;

use support::{fault, same, shown, value, with_tools};
use windlass_kit_ptclisp::{FaultClass, Limits, LispSession, Program, RunStep};

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
fn a_transducer_goes_over_each_item_once() {
    give(&[
        ("(into [] (map inc) [1 2])", "[2 3]"),
        ("(into [] (comp (filter odd?) (map #(* % %)) (take 2)) [1 2 3 4 5])", "[1 9]"),
        ("(into #{} (remove nil?) [1 nil 1])", "#{1}"),
        ("(into {} (map (fn [[k v]] [k (inc v)])) {:a 1})", "{:a 2}"),
        ("(sequence (comp (drop 1) (map-indexed vector)) [:a :b :c])", "[[0 :b] [1 :c]]"),
        ("(transduce (map inc) + [1 2])", "5"),
        ("(transduce (map inc) + 10 [1 2])", "15"),
        ("(transduce (comp (mapcat :xs) (distinct)) conj [] [{:xs [1 2]} {:xs [2 3]}])", "[1 2 3]"),
        ("(into [] cat [[1] nil [2 3]])", "[1 2 3]"),
        (
            "(into [] (comp (take-while pos?) (keep #(when (odd? %) (str %)))) [1 2 3 -1 5])",
            "[\"1\" \"3\"]",
        ),
        ("(into [] (comp (drop-while neg?) (dedupe)) [-1 2 2 -3])", "[2 -3]"),
        ("(into [] (take 0) [1])", "[]"),
        ("(into [] (comp) [1])", "[1]"),
        ("(def xf (map inc)) (into [] xf [1])", "[2]"),
        ("(eduction (filter even?) (range 5))", "[0 2 4]"),
    ]);
    let (outcome, calls) = with_tools(
        "(into [] (comp (map (fn [n] (tool/same {:n n}))) (filter odd?) (take 2)) (range 10))",
        &["same"],
        same,
    );
    assert_eq!((shown(&outcome).as_str(), calls.len()), ("[1 3]", 4));
    // Nothing is called for items that come after the last one.
    for (source, expected, count) in [
        (
            "(into [] (comp (mapcat identity) (map (fn [n] (tool/same {:n n}))) (take 1)) [[1 2 3] [4]])",
            "[1]",
            1,
        ),
        (
            "(into [] (comp (mapcat identity) (map (fn [n] (tool/same {:n n}))) (take-while #(< % 2))) [[1 2 3]])",
            "[1]",
            2,
        ),
        (
            "(into [] (comp cat (take 1) (mapcat (fn [n] [n n])) (map (fn [n] (tool/same {:n n})))) [[1 2]])",
            "[1 1]",
            2,
        ),
        (
            "(first (map (fn [n] (tool/same {:n n})) (mapcat (fn [n] [n n]) (iterate inc 1))))",
            "1",
            1,
        ),
    ] {
        let (outcome, calls) = with_tools(source, &["same"], same);
        assert_eq!((shown(&outcome).as_str(), calls.len()), (expected, count), "{source}");
    }
    refuse(
        FaultClass::Type,
        &[
            "(into [] inc [1])",
            "(transduce + + [1])",
            "(map inc)",
            "(cat [1])",
            "(into nil (map inc) [1])",
        ],
    );
    refuse(FaultClass::NotCallable, &["((map inc) [1])"]);
}

#[test]
fn an_endless_sequence_makes_what_is_taken() {
    give(&[
        ("(take 4 (iterate #(* 2 %) 1))", "[1 2 4 8]"),
        ("(take 3 (repeat :x))", "[:x :x :x]"),
        ("(take 5 (cycle [1 2]))", "[1 2 1 2 1]"),
        ("(cycle [])", "[]"),
        ("(repeatedly 2 (fn [] 7))", "[7 7]"),
        ("(take 2 (repeatedly (fn [] 7)))", "[7 7]"),
        ("(take-while #(< % 20) (iterate #(* 3 %) 1))", "[1 3 9]"),
        ("(->> (iterate inc 1) (filter even?) (map #(* % %)) (drop 1) (take 2))", "[16 36]"),
        ("(first (drop-while #(< % 1000) (iterate #(* 2 %) 1)))", "1024"),
        ("(nth (iterate inc 0) 100)", "100"),
        (
            "[(first (iterate inc 5)) (second (iterate inc 5)) (nth (cycle [1 2]) -1 :none)]",
            "[5 6 :none]",
        ),
        ("(some #(when (> % 10) %) (iterate #(* 2 %) 1))", "16"),
        ("(reduce (fn [a x] (if (> a 20) (reduced a) (+ a x))) 0 (iterate inc 1))", "21"),
        ("(into [] (take 2) (iterate inc 1))", "[1 2]"),
        ("(map vector [:a :b] (cycle [1]))", "[[:a 1] [:b 1]]"),
        ("(zipmap [:a :b] (repeat 0))", "{:a 0 :b 0}"),
        ("(interleave [1 2] (repeat :x))", "[1 :x 2 :x]"),
        ("(pmap vector [:a :b] (repeat 1))", "[[:a 1] [:b 1]]"),
        ("(mapv + [1 2] (cycle [10 20]))", "[11 22]"),
        ("(transduce (take 3) + (iterate inc 1))", "6"),
        ("(sequence (take 2) (drop 3 (iterate inc 1)))", "[4 5]"),
        ("(into [] (keep-indexed (fn [i x] (when (odd? i) x))) [:a :b])", "[:b]"),
        (
            "(let [s (repeat 1)] [(str s) (= s s) (= s [1]) (count (conj [] s))])",
            "[\"#seq[...]\" true false 1]",
        ),
        ("(def powers (iterate #(* 2 %) 1)) (take 2 powers)", "[1 2]"),
        ("(take 2 (mapcat (fn [n] [n n]) (iterate inc 1)))", "[1 1]"),
    ]);
    let (outcome, calls) =
        with_tools("(take 3 (iterate (fn [n] (tool/same {:n (inc n)})) 0))", &["same"], same);
    assert_eq!((shown(&outcome).as_str(), calls.len()), ("[0 1 2]", 2));
    refuse(
        FaultClass::Type,
        &[
            "(iterate inc 1)",
            "(count (iterate inc 1))",
            "(doall (iterate inc 1))",
            "(vec (cycle [1]))",
            "(map vector (cycle [1]) (repeat 2))",
            "(sort (repeat 1))",
            "(map + [1 2] (iterate inc 1))",
            "(into [] (iterate inc 1))",
        ],
    );
    for (source, message, hint) in [
        ("(count (iterate inc 1))", "count: the sequence has no end", "(take n xs)"),
        ("(for [x (iterate inc 1)] x)", "the binding 'x': the sequence has no end", "(take n xs)"),
        ("(apply + (repeat 1))", "apply: the sequence has no end", "(take n xs)"),
        ("(merge {} (repeat 1))", "merge: the sequence has no end", "(take n xs)"),
        ("(let [[a b] (iterate inc 1)] a)", "expected list or nil, got #seq[...]", "(take n xs)"),
        (
            "(map vector (iterate inc 1) [:a :b])",
            "map: arg 2 is an endless sequence",
            "(map-indexed f xs)",
        ),
        ("(take 3 (range))", "range expects 1 to 3 argument(s), got 0", "(iterate inc 0)"),
        (
            "(map (iterate inc 1) [1])",
            "map: arg 1 expected keyfn, got endless sequence",
            "(type x)",
        ),
    ] {
        let fault = fault(source, &Limits::default());
        assert!(fault.message.contains(message), "{source}: {fault}");
        assert!(
            fault.hint.as_ref().is_some_and(|advice| advice.contains(hint)),
            "{source}: {fault}"
        );
    }
    let tight = Limits { steps: 10_000, ..Limits::default() };
    assert_eq!(fault("(some neg? (iterate inc 1))", &tight).class, FaultClass::Fuel);
    let tight = Limits { memory_bytes: 100_000, ..Limits::default() };
    assert_eq!(fault("(take-while pos? (iterate inc 1))", &tight).class, FaultClass::Memory);
}

#[test]
fn what_only_functions_make_something_of_is_no_data() {
    refuse(
        FaultClass::Type,
        &[
            "(map inc)",
            "(return {:names (map :name)})",
            "[1 #{(take 5)}]",
            "{(repeat 1) 1}",
            "(fail [(iterate inc 1)])",
            "((fn [] {:a (reduced 1)}))",
        ],
    );
    give(&[
        ("(count [(map :name) (repeat 1)])", "2"),
        ("[inc (comp str inc)]", "[#<builtin> #fn[...]]"),
    ]);
    let told = fault("(def a 1)\n  (map inc)", &Limits::default());
    assert_eq!(told.position.map(|at| (at.line, at.column)), Some((2, 3)));
    let (outcome, calls) = with_tools("(tool/same {:n [(take 5)]})", &["same"], same);
    assert!(shown(&outcome).contains("type_error: the value has a part of the kind transducer"));
    assert_eq!(calls.len(), 0);
    let (_, calls) = with_tools("(tool/same {:n inc})", &["same"], same);
    assert_eq!(calls[0].args["n"], "#<builtin>");
}

#[test]
fn reduced_ends_what_calls_the_function() {
    give(&[
        ("(reduce (fn [a x] (if (= x 3) (reduced :three) (+ a x))) 0 [1 2 3 4])", ":three"),
        ("(reduce (fn [a x] (reduced a)) [1 2])", "1"),
        ("(reduce-kv (fn [a k v] (if (= v 2) (reduced k) a)) nil {:a 1 :b 2 :c 3})", ":b"),
        ("(reductions (fn [a x] (if (> a 2) (reduced :end) (+ a x))) [1 2 3 4])", "[1 3 :end]"),
        ("(transduce (map inc) (fn ([] 0) ([a x] (if (> x 2) (reduced a) (+ a x)))) [1 2 3])", "2"),
    ]);
    give(&[
        ("(reduce (comp reduced +) 0 [1 2])", "1"),
        ("(let [end reduced] (reduce (fn [a x] (end x)) 0 [1 2]))", "1"),
    ]);
    refuse(FaultClass::UnboundVar, &["(map inc (reduced [1]))"]);
    let told = fault("(reduced 1)", &Limits::default());
    assert_eq!(told.class, FaultClass::UnboundVar);
    assert!(told.hint.is_some_and(|hint| hint.contains("reduce calls")));
    refuse(FaultClass::Type, &["((fn [] (reduced 1)))"]);
}

#[test]
fn forms_that_repeat_and_functions_that_call_each_other() {
    assert_eq!(support::run("(dotimes [i 3] (println i))").prints, ["0", "1", "2"]);
    assert_eq!(support::run("(dotimes [i 2.5] (println i))").prints, ["0", "1"]);
    give(&[
        ("(dotimes [i 3] i)", "nil"),
        ("(dotimes [i 0] (fail 1))", "nil"),
        ("(dotimes [i 2])", "nil"),
        ("(run! (fn [x] (def seen x)) [1 2]) seen", "2"),
        ("(run! println [])", "nil"),
        ("[(doall (map inc [1])) (dorun [1]) (doall 1 [1])]", "[[2] nil [1]]"),
        ("(letfn [(f [x] (* 2 x))] (f 4))", "8"),
        (
            "(letfn [(even [n] (if (zero? n) true (odd (dec n)))) (odd [n] (if (zero? n) false (even (dec n))))] [(even 10) (odd 7) (even 3)])",
            "[true true false]",
        ),
        ("(letfn [(f ([x] (f x 1)) ([x y] (+ x (g y)))) (g [f] (inc f))] (f 1))", "3"),
        (
            "(letfn [(count-to [n acc] (if (= n 0) acc (recur (dec n) (conj acc n))))] (count-to 3 []))",
            "[3 2 1]",
        ),
        ("(let [y 5] (letfn [(f [] (g)) (g [] y)] (map (fn [_] (f)) [1 2])))", "[5 5]"),
        ("(letfn [] 1)", "1"),
        ("(letfn [(f [{:keys [g] :or {g 1}}] g) (g [] 2)] [(f {}) (g)])", "[1 2]"),
        ("(letfn [(f [{:keys [a] :or {a 1}}] (+ a (g))) (g [] 2)] (f {}))", "3"),
    ]);
    let told =
        fault("(letfn [(f [{:keys [a] :or {a (g)}}] a) (g [] 5)] (f {}))", &Limits::default());
    assert_eq!(told.message, "the default of a parameter in letfn cannot name g");
    refuse(
        FaultClass::InvalidArity,
        &["(letfn)", "(letfn [f] 1)", "(letfn [(f)] 1)", "(dotimes [] 1)"],
    );
    refuse(FaultClass::InvalidForm, &["(letfn (f [x] x) 1)", "(dotimes i 1)"]);
    refuse(FaultClass::Type, &["(dotimes [i :a] 1)", "(dotimes [i nil] 1)"]);
}

#[test]
fn what_is_kept_works_in_the_next_program() {
    let kept = support::run(
        "(def xf (comp (map inc) (take 2))) (def nats (filter odd? (iterate inc 1)))
         (def e (letfn [(even [n] (if (zero? n) true (odd (dec n)))) (odd [n] (if (zero? n) false (even (dec n))))] even))",
    );
    let mut session = LispSession::default();
    session.commit(&kept);
    let text = session.to_text(10_000).unwrap_or_default();
    let Ok(session) = LispSession::from_text(&text) else { unreachable!("{text}") };
    assert_eq!(session.to_text(10_000).unwrap_or_default(), text);
    let source = "[(into [] xf nats) (e 4) (e 5)]";
    let program = Program::prepare(source, &support::inputs(&[]), &session, &Limits::default());
    let Ok(RunStep::Done(done)) =
        program.map(|program| program.start(&session).begin().unwrap_or_else(|_| unreachable!()))
    else {
        unreachable!("it calls nothing")
    };
    assert_eq!(shown(&done), "[[2 4] true false]");
}

#[test]
fn a_replacement_has_the_groups_of_its_match() {
    give(&[
        ("(str/replace \"a1 b2\" #\"(\\w)(\\d)\" \"$2$1\")", "\"1a 2b\""),
        ("(replace \"5 EUR\" #\"EUR\" \"$\")", "\"5 $\""),
        ("(replace \"x\" #\"x\" \"\\\\$1\")", "\"$1\""),
        ("(replace \"ab\" #\"(a)\" \"$11\")", "\"a1b\""),
        ("(replace \"ab\" #\"a|(b)\" \"<$1>\")", "\"<><b>\""),
        ("(replace \"ab\" #\"\\w\" \"[$0]\")", "\"[a][b]\""),
        ("(replace \"none\" #\"\\d\" \"$1\")", "\"none\""),
        ("(replace \"a$1\" \"$1\" \"$2\")", "\"a$2\""),
    ]);
    refuse(FaultClass::Runtime, &["(replace \"a\" #\"a\" \"$1\")"]);
    give(&[("(str/split \"\" #\",\")", "[\"\"]"), ("(str/split \"a,b\" #\",\")", "[\"a\" \"b\"]")]);
}

#[test]
fn apropos_finds_names_by_their_letters_and_then_by_their_meaning() {
    assert_eq!(value("(apropos \"upper-\")"), "[\"upper-case\"]");
    assert_eq!(value("(apropos \"Square root\")"), "[\"sqrt\"]");
    assert_eq!(value("(= (take 1 (apropos \"round\")) [\"round\"])"), "true");
    assert_eq!(value("(some #{\"floor\"} (apropos \"round\"))"), "\"floor\"");
    assert_eq!(value("[(apropos \"shout\") (apropos \"  \")]"), "[[] []]");
}

#[test]
fn an_endless_argument_of_a_function_of_texts_is_told_how_to_become_a_text() {
    let fault = fault("(upper-case (repeat \"a\"))", &Limits::default());
    let hint = fault.hint.clone().unwrap_or_default();
    assert!(fault.message.contains("the sequence has no end"), "{fault}");
    assert!(hint.contains("(join (take n xs))"), "{fault}");
}

#[test]
fn the_default_of_a_parameter_in_letfn_may_name_a_parameter_before_it() {
    let shadowed = "(letfn [(f [] 1) (g [f {:keys [a] :or {a f}}] a)] (g 7 {}))";
    assert_eq!(value(shadowed), "7");
    let named = "(letfn [(f [] 1) (g [{:keys [a] :or {a (f)}}] a)] (g {}))";
    let fault = fault(named, &Limits::default());
    assert!(fault.message.contains("cannot name f"), "{fault}");
}

#[test]
fn doc_says_what_a_name_does() {
    let prints = support::run("(doc map) (doc \"try\") (doc 'update) (doc nothing)").prints;
    assert_eq!(prints[0], "(map f coll)\n(map f c1 c2 ...)\n  Apply f to each element in coll");
    assert!(prints[1].starts_with("(try body ..."));
    assert!(prints[2].contains("Sets an entry"));
    assert_eq!(prints[3], "No documentation found for \"nothing\".");
    let prints =
        support::run("(doc join) (doc str/join) (doc clojure.string/join) (doc \"core/join\")")
            .prints;
    assert!(prints[0].starts_with("(join"));
    assert!(prints.iter().all(|text| *text == prints[0]), "{prints:?}");
    let prints =
        support::run("(doc json/parse-string) (doc \"str/map\") (doc \"json/map\")").prints;
    assert!(prints[0].starts_with("(json/parse-string"), "{prints:?}");
    assert!(prints[1..].iter().all(|text| text.starts_with("No documentation")), "{prints:?}");
}
