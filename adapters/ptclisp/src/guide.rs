//! Guide to the language for models. Tests run its examples and look up its functions.

use windlass_ports::{GuideSyntax, ProgramGuide};

use crate::schema;

/// Text before the rules of all languages.
const INTRODUCTION: &str = "# Programs in PTC-Lisp

PTC-Lisp is a small Clojure. There is no Java, no file, no clock, no randomness, no macro and no atom. Only \
iterate, cycle, repeat and repeatedly give lazy sequences. A program with an unknown name, \
input or tool is refused as a whole, before anything of it runs.

";

/// Expressions that the rules of all languages quote.
const SYNTAX: GuideSyntax<'_> = GuideSyntax {
    fence: "clojure",
    result: "(return value)",
    failure: "(fail reason)",
    print: "(println x)",
    handler: "(try (tool/name {}) (catch Exception e (:message e)))",
    retained: "(def name value) keeps a value, (defn name [args] body) a function. *1, *2 and *3 are the values \
            of the last three programs that did not return, *1 the latest.",
    input: |name| format!("data/{name}"),
};

/// Text before the list of functions.
const LANGUAGE: &str = r#"
## The language

Forms: def defn fn #(+ % %2) let if if-not when when-not if-let when-let if-some when-some cond condp case and or do loop recur for doseq dotimes letfn try comment quote -> ->> as-> some-> some->> cond-> cond->>
Literals: 42 1.5 "text" :keyword true false nil [1 2] {:a 1} #{1 2} #"regex" \c
Taking apart, in let, fn, defn, loop, for: [a b & rest] and {:keys [a b] :or {b 0} :as all} and {:strs [a b]} and {x :key}
Keywords are functions: (:a m). In a map :a and "a" are one key, for reading and for changing: (:a m), (get m "a"), (update m :a inc) and (dissoc m :a) work on JSON objects too, which have texts as keys. In a tool's arguments the - of a keyword becomes _.
Tools: (tool/name {:arg value}). A tool gives data where all of its answer is JSON, else text; one that is marked -> text gives text, of which (json/parse-string s) makes data. Tools can be called anywhere, also in map, for and your own functions. Those that the branches of pmap and pcalls call run at the same time.
Failure before: data/fail is {:reason :message :details} of the program before, if it failed in this turn, else nil.

Functions used most (Clojure's, and there are more; (doc f) prints how one is called and what it gives, (apropos "text") lists names):
"#;

/// The functions that are named, a line a kind.
const FUNCTIONS: &[(&str, &str)] = &[
    (
        "collections",
        "map mapv mapcat filter remove reduce reduced run! some every? first rest last nth take drop take-while count empty? conj concat into vec distinct reverse sort sort-by group-by frequencies partition range flatten interleave zipmap iterate transduce pmap pcalls",
    ),
    (
        "maps",
        "get get-in assoc assoc-in update update-in dissoc merge select-keys keys vals contains? update-vals",
    ),
    ("tables", "max-by min-by sum-by avg-by distinct-by describe"),
    (
        "texts",
        "str subs join split split-lines replace trim upper-case lower-case includes? starts-with? index-of parse-long parse-double format",
    ),
    (
        "regular expressions",
        "re-find re-matches re-seq (linear time: no backreference, no look-around)",
    ),
    ("numbers", "+ - * / quot mod inc dec max min abs round < > = not="),
    (
        "others",
        "throw ex-info ex-message nil? some? not identity comp partial juxt type json/parse-string json/generate-string println return fail",
    ),
];

/// Programs that are shown, with what they give.
const EXAMPLES: &[(&str, &str)] = &[
    ("(->> [{:n 3} {:n 1}] (map :n) (filter odd?) (reduce +))", "4"),
    ("(let [{:keys [a b] :or {b 2}} {:a 1}] [a b])", "[1 2]"),
    ("(loop [i 0 acc []] (if (< i 3) (recur (inc i) (conj acc i)) acc))", "[0 1 2]"),
    ("(for [x [1 2 3] :when (odd? x)] (* x x))", "[1 9]"),
    ("(re-find #\"(\\d+)-(\\d+)\" \"10-20\")", "[\"10-20\" \"10\" \"20\"]"),
];

/// Returns the guide: the rules, the language and the tools.
pub(crate) fn guide(guide: &ProgramGuide) -> String {
    let mut out = format!("{INTRODUCTION}{}{LANGUAGE}", guide.rules(&SYNTAX));
    for (kind, names) in FUNCTIONS {
        out.push_str(&format!("- {kind}: {names}\n"));
    }
    out.push_str("\nExamples:\n");
    for (program, gives) in EXAMPLES {
        out.push_str(&format!("{program}  ; => {gives}\n"));
    }
    if guide.tools.is_empty() {
        out.push_str("\n## Tools\n\nThere are no tools.\n");
        return out;
    }
    out.push_str("\n## Tools\n\nA ? marks an argument that may be missing.\n\n");
    for tool in &guide.tools {
        out.push_str(&schema::line(tool));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass_kit_ptclisp::{
        Inputs, Limits, LispSession, Program, RunEnd, RunStep, Value, from_json, is_function,
        readable,
    };

    use super::*;

    #[test]
    fn the_functions_that_are_named_are_there() {
        let mut count = 0;
        for (_, names) in FUNCTIONS {
            for name in names.split(" (").next().into_iter().flat_map(str::split_whitespace) {
                assert!(is_function(name), "{name}");
                count += 1;
            }
        }
        assert!(count > 51, "{count}");
    }

    #[test]
    fn the_examples_give_what_they_say() {
        for (program, gives) in EXAMPLES {
            let (inputs, session) = (Inputs::default(), LispSession::default());
            let program = Program::prepare(program, &inputs, &session, &Limits::default());
            let Ok(RunStep::Done(outcome)) = program.expect("prepares").start(&session).begin()
            else {
                panic!("{gives}")
            };
            let RunEnd::Value(value) = outcome.end else { panic!("{gives}: {:?}", outcome.end) };
            assert_eq!(readable(&value), *gives);
        }
    }

    #[test]
    fn the_forms_that_are_named_are_forms() {
        let line = LANGUAGE.lines().find(|line| line.starts_with("Forms: "));
        let forms = line.expect("there").replace("Forms: ", "").replace("#(+ % %2) ", "");
        for form in forms.split_whitespace() {
            // A form is no function, and no unknown name either: it is refused for its shape or taken.
            assert!(!is_function(form), "{form}");
            let (inputs, session) = (Inputs::default(), LispSession::default());
            let source = format!("({form})");
            if let Err(fault) = Program::prepare(&source, &inputs, &session, &Limits::default()) {
                assert_ne!(fault.class.name(), "unbound_var", "{form}");
            }
        }
    }

    #[test]
    fn json_objects_are_read_by_text_and_by_keyword() {
        let data = from_json(&serde_json::json!({"m": {"a": 1}})).expect("flat");
        let Value::Map(entries) = data else { panic!("an object is a map") };
        let entries = entries.iter().map(|(_, m)| (Arc::from("m"), m.clone()));
        let inputs = Inputs { data: Arc::new(entries.collect()), ..Inputs::default() };
        let session = LispSession::default();
        let source = "[(get data/m \"a\") (:a data/m)]";
        let program = Program::prepare(source, &inputs, &session, &Limits::default());
        let Ok(RunStep::Done(outcome)) = program.expect("prepares").start(&session).begin() else {
            panic!("it calls nothing")
        };
        assert!(matches!(outcome.end, RunEnd::Value(value) if readable(&value) == "[1 1]"));
    }
}
