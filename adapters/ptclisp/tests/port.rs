//! The suite of program runtimes over PTC-Lisp.

#![allow(clippy::unwrap_used, reason = "a sample that is no JSON is the test's failure")]

use std::sync::Arc;

use serde_json::Value as Json;
use windlass_kit_ptclisp::{from_json, readable};
use windlass_ports::ProgramRuntime;
use windlass_ptclisp::PtcLisp;
use windlass_testkit::programs::suite::{ProgramFixture, Sample};

struct Lisp;

/// A JSON text as it is written in a program.
fn lisp(json: &str) -> String {
    let json: Json = serde_json::from_str(json).unwrap();
    readable(&from_json(&json).unwrap())
}

fn call((tool, arguments): (&str, &str)) -> String {
    format!("(tool/{tool} {})", lisp(arguments))
}

impl ProgramFixture for Lisp {
    fn runtime(&self) -> Arc<dyn ProgramRuntime> {
        Arc::new(PtcLisp)
    }

    fn write(&self, sample: &Sample<'_>) -> Option<String> {
        let numbered = |tool| format!("(tool/{tool} {{:n n}})");
        Some(match *sample {
            Sample::Value(value) => lisp(value),
            Sample::Return(value) => format!("(return {})", lisp(value)),
            Sample::Fail(value) => format!("(fail {})", lisp(value)),
            Sample::Broken => "(def n 1) (+ n nil)".to_owned(),
            Sample::Call(tool, arguments) => format!("(return {})", call((tool, arguments))),
            Sample::NeverCalled(tool) => format!("(return (if false (tool/{tool} {{}}) 1))"),
            Sample::Both([one, other]) => {
                format!("(return (pcalls #{} #{}))", call(one), call(other))
            }
            Sample::Parallel(tool, count) => {
                format!("(return (pmap (fn [n] {}) (range {count})))", numbered(tool))
            }
            Sample::Loop(tool, count) => {
                format!("(return (for [n (range {count})] {}))", numbered(tool))
            }
            Sample::Mapped(tool, count) => {
                format!("(return (mapv (fn [n] {}) (range {count})))", numbered(tool))
            }
            Sample::Recovered(tool, arguments) => format!(
                "(return (try {} (catch Exception e \"recovered\")))",
                call((tool, arguments))
            ),
            Sample::Unheeded(tool) => format!("(tool/{tool} {{}}) (return 1)"),
            Sample::Rounds(rounds) => {
                format!("(loop [n 0] (if (< n {rounds}) (recur (inc n)) n))")
            }
            // It has no clock and no randomness.
            // Definitions are replaced, and none is removed.
            Sample::Now | Sample::Random | Sample::Remove(_) => return None,
            Sample::UnknownName => "(return (if false nowhere 1))".to_owned(),
            Sample::Data(name) => format!("(return data/{name})"),
            Sample::Keep(name, value) => format!("(def {name} {}) 1", lisp(value)),
            Sample::Kept(name) => format!("(return {name})"),
            Sample::KeepAndFail(name, value) => {
                format!("(def {name} {}) (fail \"no\")", lisp(value))
            }
            Sample::KeepMuch(letters) => {
                format!("(def much (apply str (repeat {letters} \"x\"))) 1")
            }
            Sample::Print(lines) => {
                let prints = lines.iter().map(|line| format!("(println {line:?})"));
                prints.collect::<String>() + " 1"
            }
            Sample::PrintMuch(count) => {
                format!("(doseq [_ (range {count})] (println \"0123456789\"))")
            }
            Sample::ReturnMuch(letters) => {
                format!("(return (apply str (repeat {letters} \"x\")))")
            }
            Sample::Endless => "(loop [n 0] (recur (inc n)))".to_owned(),
            Sample::CallThenEndless(tool) => {
                format!("(tool/{tool} {{}}) (loop [n 0] (recur (inc n)))")
            }
            Sample::MemoryBomb => {
                "(loop [all []] (recur (conj all (vec (range 1000)))))".to_owned()
            }
            Sample::Recursion => "(defn f [n] (inc (f n))) (f 1)".to_owned(),
            Sample::NestedSource(depth) => {
                format!("(return {}{})", "[".repeat(depth), "]".repeat(depth))
            }
            Sample::NestedValue => "(return (reduce (fn [v _] [v]) [] (range 1000000)))".to_owned(),
            Sample::Catastrophic => {
                "(re-find #\"(a+)+$\" (str (apply str (repeat 3000 \"a\")) \"b\"))".to_owned()
            }
            Sample::EndlessCalls(tool) => format!("(loop [] (tool/{tool} {{}}) (recur))"),
            Sample::MillionCalls(tool) => {
                format!("(pmap (fn [n] {}) (range 1000000))", numbered(tool))
            }
        })
    }

    fn whole_memory(&self, name: &str, value: &str) -> Option<String> {
        // The last results of an earlier version are in it, too.
        Some(format!(
            "{{\"ptclisp\":1,\"code\":[],\"made\":[],\"defs\":[[\"{name}\",{value}]],\"last\":[[1],[2],[3]]}}"
        ))
    }

    fn answer(&self, source: &str) -> String {
        format!("I will do it so:\n\n```clojure\n{source}\n```\n\nThat is all.")
    }

    fn malformed(&self) -> Vec<String> {
        let sources = [
            "(",
            "(inc 1",
            "[1 2",
            "{:a}",
            "\"text",
            ")",
            "(let [a] a)",
            "(if)",
            "(fn)",
            "(recur 1)",
            "(inc 1] 2",
            "#\"(a\"",
            "#\"(?=a)\"",
            "(Math/abs 1)",
            "(.length \"a\")",
            "#(#(inc %) 1)",
            "{:a 1 :a 2}",
            "@x",
            "`x",
            "1x(",
        ];
        sources.map(str::to_owned).to_vec()
    }

    fn hostile(&self) -> Vec<(&'static str, String)> {
        let long = "(def s (apply str (repeat 30000 \"a\")))";
        let programs = [
            ("counted expression", format!("{long} (re-find #\"(?:a{{1,50}}){{1,50}}b\" s)")),
            ("thousands of states", format!("{long} (re-find #\"(?:a?){{3000}}b\" s)")),
            ("exponential automaton", format!("{long} (re-seq #\"[ab]*a[ab]{{14}}c|a\" s)")),
            ("searches to the end", format!("{long} (re-seq #\"a*b|a\" (str s s s s))")),
            (
                "compiled anew",
                "(loop [n 0] (re-find (re-pattern (str \"\\\\w{20}a\" n)) \"a\") (recur (inc n)))"
                    .into(),
            ),
            ("large shifts", "(loop [n 1] (recur (bit-shift-left n 100000)))".into()),
            (
                "long numbers",
                format!("{long} (loop [] (parse-double (str s \"1\")) (parse-long s) (recur))"),
            ),
            (
                "surplus parentheses",
                format!("{} {})) nowhere", "(def a 1)".repeat(3000), "(let [b 1] b)".repeat(1500)),
            ),
            (
                "functions kept for ever",
                "(loop [f inc n 0] (def g f) (recur (fn [x] (f x)) (inc n)))".into(),
            ),
        ];
        programs.into()
    }
}

windlass_testkit::program_suite!(Lisp);
