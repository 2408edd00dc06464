//! The key rule: a keyword and a text of one name address the same entry, whatever reads or changes it, and
//! are one name in JSON. Random programs are compared with a model that knows names only.

#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::expect_used,
    clippy::panic,
    reason = "a program that does not run is the test's failure"
)]

mod support;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use support::{fault, same, shown, value, with_tools};
use windlass_kit_ptclisp::{
    FaultClass, Inputs, Limits, LispSession, Program, RunEnd, RunStep, ToolAnswer, from_json,
    json_text, to_json,
};

const USER: &str = r#"{"age": 41, "password": "p", "first_name": "Ann", "home": {"city": "Rome"}}"#;

/// What a program returns of a tool's object, as JSON.
fn returned(source: &str) -> String {
    let source = format!("(let [u (tool/user)] {source})");
    let answer = |_: &_| ToolAnswer::Output(USER.into());
    let (outcome, _) = with_tools(&source, &["user"], answer);
    match &outcome.end {
        RunEnd::Value(value) => json_text(value, 10_000).expect("one key a name").expect("fits"),
        _ => shown(&outcome),
    }
}

#[test]
fn what_changes_an_entry_finds_what_reads_it() {
    for (source, expected) in [
        (
            "(dissoc (update u :age inc) :password)",
            r#"{"age":42,"first_name":"Ann","home":{"city":"Rome"}}"#,
        ),
        ("(select-keys (assoc u :age 1) [\"age\"])", r#"{"age":1}"#),
        ("(select-keys u [:age \"age\" :none])", r#"{"age":41}"#),
        ("(:home (update-in u [:home :city] str \"!\"))", r#"{"city":"Rome!"}"#),
        ("(:home (assoc-in u [:home :zip] 7))", r#"{"city":"Rome","zip":7}"#),
        ("(:age (merge u {:age 1}))", "1"),
        ("(count (merge {:age 0 :home nil} u))", "4"),
        ("(:age (merge-with + u {:age 1}))", "42"),
        ("(:age (into u [[:age 5]]))", "5"),
        ("(count (conj u [:age 5]))", "4"),
        ("(count (reduce (fn [m k] (assoc m k 0)) u [:age :password]))", "4"),
        (
            "(select-keys (update u :first-name str \"!\") [:first-name])",
            r#"{"first_name":"Ann!"}"#,
        ),
        ("(contains? (dissoc u :first-name) \"first_name\")", "false"),
        (
            "(let [{:keys [age first-name] {:strs [city]} :home} u] [age first-name city])",
            r#"[41,"Ann","Rome"]"#,
        ),
        (
            "[(get-in u [\"home\" :city]) (contains? u :age) (second (find u :age))]",
            r#"["Rome",true,41]"#,
        ),
    ] {
        assert_eq!(returned(source), expected, "{source}");
    }
}

#[test]
fn a_new_key_stays_as_it_was_given() {
    for (source, expected) in [
        ("(assoc {\"a\" 1} :b 2)", "{:b 2 \"a\" 1}"),
        ("(assoc {:a 1} \"a\" 2)", "{:a 2}"),
        ("(assoc {:a 1 \"a\" 2} \"a\" 3)", "{:a 1 \"a\" 3}"),
        ("(dissoc {:a 1 \"a\" 2} :a)", "{\"a\" 2}"),
        ("(assoc {\"a-b\" 1} \"a_b\" 2)", "{\"a-b\" 1 \"a_b\" 2}"),
        ("(assoc {\"a_b\" 1} \"a-b\" 2)", "{\"a-b\" 2 \"a_b\" 1}"),
        ("(frequencies [:a \"a\"])", "{:a 1 \"a\" 1}"),
        ("(hash-map :a 1 \"a\" 2)", "{:a 1 \"a\" 2}"),
    ] {
        assert_eq!(value(source), expected, "{source}");
    }
}

#[test]
fn two_keys_of_one_name_have_no_json() {
    for source in [
        "(tool/same {:n {:a 1 \"a\" 2}})",
        "(tool/same {:n [{:deep {:a-b 1 \"a_b\" 2}}]})",
        "(tool/same {:n 1 \"n\" 2})",
        "(tool/same :n 1 :n 2)",
        "(tool/same {:n {1 2 \"1\" 3}})",
    ] {
        let (outcome, calls) = with_tools(source, &["same"], same);
        let RunEnd::Fault(told) = &outcome.end else { panic!("{source}: {}", shown(&outcome)) };
        assert_eq!(told.class, FaultClass::DuplicateKey, "{source}");
        assert!(told.position.is_some() && calls.is_empty(), "{source}");
    }
    let twins = from_json(&json!(["a"])).expect("flat");
    assert!(to_json(&twins).is_ok());
    let RunEnd::Value(twins) = support::run("[{:a {:b 1 \"b\" 1}}]").end else { panic!("a value") };
    let told = json_text(&twins, 1_000).expect_err("two keys");
    assert_eq!(told.class, FaultClass::DuplicateKey);
    assert!(told.message.contains(":b and \"b\""), "{told}");
    let strict = fault("(json/generate-string [{:n 1 \"n\" 2}])", &Limits::default());
    assert_eq!(strict.class, FaultClass::DuplicateKey);
    assert!(
        strict.message.contains("a map with two keys \"n\" as a JSON value at [0]"),
        "{strict}"
    );
    assert!(strict.hint.is_some_and(|hint| hint.contains("dissoc")));
    // A map has both forms of a name if one of these makes it so, and a set has no such rule.
    for (source, expected) in [
        ("(update-keys {\"a\" 1 \"b\" 2} (fn [k] (if (= k \"a\") :b k)))", "{:b 1 \"b\" 2}"),
        ("((fn [& {:keys [a] :as all}] [a (count all)]) :a 1 \"a\" 2)", "[1 2]"),
        ("(#{\"a\"} :a)", "nil"),
    ] {
        assert_eq!(value(source), expected, "{source}");
    }
    let (outcome, _) = with_tools("(tool/same {:n {:a-b 1 :a_b 2}})", &["same"], same);
    assert!(shown(&outcome).contains("duplicate_key"), "{}", shown(&outcome));
}

#[test]
fn arguments_have_underscores_for_hyphens_of_keywords_at_any_depth() {
    let source = "(tool/same {:n {:a-b [{:c-d 1}] \"e-f\" :g-h}})";
    let (outcome, calls) = with_tools(source, &["same"], same);
    assert_eq!(calls[0].args["n"], json!({"a_b": [{"c_d": 1}], "e-f": "g-h"}));
    assert_eq!(shown(&outcome), "{\"a_b\" [{\"c_d\" 1}] \"e-f\" \"g-h\"}");
}

/// A key as a program writes it.
#[derive(Clone, Debug)]
struct Key {
    name: String,
    keyword: bool,
}

impl Key {
    fn text(&self) -> String {
        if self.keyword { format!(":{}", self.name) } else { format!("{:?}", self.name) }
    }

    /// The name that it addresses in an object.
    fn of(&self, object: &Map<String, Json>) -> String {
        let lowered = self.name.replace('-', "_");
        if !object.contains_key(&self.name) && self.keyword && object.contains_key(&lowered) {
            return lowered;
        }
        self.name.clone()
    }
}

#[derive(Clone, Debug)]
enum Change {
    Assoc(Vec<Key>, i64),
    Update(Vec<Key>),
    Dissoc(Vec<Key>),
    Merge(Vec<(Key, i64)>),
    Into(Vec<(Key, i64)>),
    Select(Vec<Key>),
    ThroughTool,
}

/// Finds the last object of a path, and the key in it; objects are made on the way. A path ends early at a
/// value that has no entries.
fn walk<'a>(object: &'a mut Map<String, Json>, path: &[Key]) -> (&'a mut Map<String, Json>, usize) {
    let mut object = object;
    for (at, key) in path.iter().enumerate() {
        let name = key.of(object);
        let inner = object.get(&name);
        if at + 1 == path.len()
            || matches!(inner, Some(other) if !other.is_object() && !other.is_null())
        {
            return (object, at);
        }
        let inner = object.entry(name).or_insert(Json::Null);
        if inner.is_null() {
            *inner = json!({});
        }
        object = match inner {
            Json::Object(object) => object,
            _ => unreachable!("it was made an object"),
        };
    }
    (object, path.len())
}

impl Change {
    /// Changes the model, and says what changes the program's value in the same way.
    fn make(&self, model: &mut Map<String, Json>) -> String {
        match self {
            Change::Assoc(path, new) => {
                let (object, at) = walk(model, path);
                let name = path[at].of(object);
                object.insert(name, json!(new));
                match &path[..=at] {
                    [key] => format!("(assoc v {} {new})", key.text()),
                    keys => format!("(assoc-in v [{}] {new})", texts(keys)),
                }
            }
            Change::Update(path) => {
                let (object, at) = walk(model, path);
                let name = path[at].of(object);
                let old = object.get(&name).cloned().unwrap_or(Json::Null);
                object.insert(name, json!([old]));
                match &path[..=at] {
                    [key] => format!("(update v {} vector)", key.text()),
                    keys => format!("(update-in v [{}] vector)", texts(keys)),
                }
            }
            Change::Dissoc(path) => {
                let (object, at) = walk(model, path);
                let name = path[at].of(object);
                object.remove(&name);
                match &path[..=at] {
                    [key] => format!("(dissoc v {})", key.text()),
                    [around @ .., key] => format!(
                        "(update-in v [{}] (fn [m] (dissoc (or m {{}}) {})))",
                        texts(around),
                        key.text()
                    ),
                    [] => "v".to_owned(),
                }
            }
            Change::Merge(new) | Change::Into(new) => {
                for (key, value) in new {
                    let name = key.of(model);
                    model.insert(name, json!(value));
                }
                let pairs = new.iter().map(|(key, value)| format!("[{} {value}]", key.text()));
                let pairs = pairs.collect::<Vec<_>>().join(" ");
                match self {
                    Change::Into(_) => format!("(into v [{pairs}])"),
                    _ => format!("(reduce merge v (map (fn [p] (into {{}} [p])) [{pairs}]))"),
                }
            }
            Change::Select(keys) => {
                let kept = keys.iter().map(|key| key.of(model)).collect::<Vec<_>>();
                model.retain(|name, _| kept.contains(name));
                format!("(select-keys v [{}])", texts(keys))
            }
            Change::ThroughTool => {
                // A keyword's hyphen is an underscore there, so only a value without one goes through.
                "(if (re-find #\"[a-z]-[a-z]\" (pr-str v)) v (:n (tool/same {:n {:n v}})))"
                    .to_owned()
            }
        }
    }
}

fn texts(keys: &[Key]) -> String {
    keys.iter().map(Key::text).collect::<Vec<_>>().join(" ")
}

fn keys() -> impl Strategy<Value = Key> {
    let name = prop_oneof!["[ab]", Just("c_d".to_owned()), Just("c-d".to_owned())];
    (name, any::<bool>()).prop_map(|(name, keyword)| Key { name, keyword })
}

fn paths() -> impl Strategy<Value = Vec<Key>> {
    prop::collection::vec(keys(), 1..4)
}

fn objects() -> impl Strategy<Value = Map<String, Json>> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-9..9_i64).prop_map(Json::from)
    ];
    let value = leaf.prop_recursive(3, 20, 3, |inner| {
        let name = prop_oneof!["[ab]", Just("c_d".to_owned()), Just("c-d".to_owned())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::btree_map(name, inner, 0..4)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[ab]|c_d", value, 0..4)
        .prop_map(|entries| entries.into_iter().collect())
}

fn changes() -> impl Strategy<Value = Change> {
    let pairs = || prop::collection::vec((keys(), -9..9_i64), 0..3);
    prop_oneof![
        (paths(), -9..9_i64).prop_map(|(path, new)| Change::Assoc(path, new)),
        paths().prop_map(Change::Update),
        paths().prop_map(Change::Dissoc),
        pairs().prop_map(Change::Merge),
        pairs().prop_map(Change::Into),
        prop::collection::vec(keys(), 1..4).prop_map(Change::Select),
        Just(Change::ThroughTool),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn programs_change_json_as_a_model_of_names_does(
        first in objects(),
        changes in prop::collection::vec(changes(), 0..8),
        asked in paths(),
    ) {
        let mut model = first.clone();
        let steps: Vec<String> = changes.iter().map(|change| change.make(&mut model)).collect();
        let bindings: String = steps.iter().map(|step| format!(" v {step}\n")).collect();
        let path = texts(&asked);
        let key = asked[0].text();
        let name = &asked[0].name;
        let (taken, word) = match asked[0].keyword {
            true => (format!("{{:keys [{name}]}}"), format!("({key} v)")),
            false => (format!("{{:strs [{name}]}}"), format!("(v {key})")),
        };
        let source = format!(
            "(let [v data/m\n{bindings}] [v (get-in v [{path}]) (get v {key}) {word} \
             (contains? v {key}) (let [{taken} v] {name}) (nth (find v {key}) 1)])"
        );
        let expected = {
            let deep = asked.iter().try_fold(Json::Object(model.clone()), |at, key| {
                let object = at.as_object()?;
                object.get(&key.of(object)).cloned()
            });
            let own = asked[0].of(&model);
            let one = model.get(&own).cloned().unwrap_or(Json::Null);
            let there = model.contains_key(&own);
            json!([model, deep, one, one, there, one, one])
        };
        prop_assert_eq!(run_on(&source, &Json::Object(first)), expected, "{}", source);
    }
}

/// Runs a program on an object, and gives its value as JSON.
fn run_on(source: &str, input: &Json) -> Json {
    let data = [(Arc::from("m"), from_json(input).expect("flat"))];
    let inputs = Inputs { data: Arc::new(data.into()), ..support::inputs(&["same"]) };
    let session = LispSession::default();
    let program = Program::prepare(source, &inputs, &session, &Limits::default());
    let mut run = program.unwrap_or_else(|fault| panic!("{fault}\n{source}")).start(&session);
    let mut step = run.begin().expect("goes");
    loop {
        match step {
            RunStep::Calls(calls) => {
                let answers =
                    calls.iter().map(|call| ToolAnswer::Output(call.args["n"].to_string().into()));
                step = run.resume(answers.collect()).expect("resumes");
            }
            RunStep::Done(outcome) => match &outcome.end {
                RunEnd::Value(value) => return to_json(value).expect("one key a name"),
                _ => panic!("{}\n{source}", shown(&outcome)),
            },
        }
    }
}
