//! Strict forms of schemas as schemars makes them, and arguments that come back.

use std::sync::Arc;

use proptest::prelude::*;
use schemars::JsonSchema;
use serde_json::{Value, json};
use windlass_core::StreamEvent;

use super::{StrictCalls, strict_form};

/// A place.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Place {
    /// Name of the place.
    name: String,
    /// Height above the sea.
    height: Option<f64>,
    #[serde(default)]
    parts: Vec<Part>,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    limit: u32,
    /// Where it belongs.
    #[serde(default)]
    within: Option<Box<Place>>,
    /// Its first part.
    #[serde(default)]
    first: Part,
    way: Way,
}

#[derive(JsonSchema, Default)]
#[expect(dead_code, reason = "only its schema is used")]
struct Part {
    id: u8,
    #[serde(default)]
    note: String,
}

#[derive(JsonSchema, Default)]
#[expect(dead_code, reason = "only its schema is used")]
enum Kind {
    #[default]
    Town,
    River,
}

#[derive(JsonSchema)]
#[serde(tag = "by")]
#[expect(dead_code, reason = "only its schema is used")]
enum Way {
    Road {
        #[serde(default)]
        lanes: u8,
    },
    Water {
        lanes: Option<u8>,
    },
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Free {
    headers: std::collections::BTreeMap<String, String>,
}

fn schema<T: JsonSchema>() -> String {
    serde_json::to_string(&schemars::schema_for!(T)).unwrap()
}

fn strict(schema: &str) -> Value {
    serde_json::from_str(&strict_form(schema).unwrap()).unwrap()
}

/// Holds a form to the rules of the guide.
fn hold(schema: &Value) {
    match schema {
        Value::Object(keys) => {
            if let Some(Value::Object(properties)) = keys.get("properties") {
                assert_eq!(keys["additionalProperties"], false, "{schema:#}");
                let mut required: Vec<&str> =
                    keys["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                required.sort_unstable();
                let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
                names.sort_unstable();
                assert_eq!(required, names);
                properties.values().for_each(hold);
            }
            for barred in ["default", "oneOf", "allOf", "title", "minLength", "$schema"] {
                assert!(!keys.contains_key(barred), "{barred} in {schema:#}");
            }
            assert!(!keys.contains_key("$ref") || keys.len() == 1, "{schema:#}");
            keys.iter().filter(|(key, _)| *key != "properties").for_each(|(_, part)| hold(part));
        }
        Value::Array(items) => items.iter().for_each(hold),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_strict_form_requires_all_and_lets_what_was_optional_be_null() {
    let form = strict(&schema::<Place>());
    hold(&form);
    let properties = &form["properties"];
    assert_eq!(properties["name"]["type"], "string");
    assert_eq!(properties["name"]["description"], "Name of the place.");
    assert_eq!(properties["height"]["type"], json!(["number", "null"]));
    assert_eq!(properties["limit"]["type"], json!(["integer", "null"]));
    assert_eq!(properties["parts"]["anyOf"][1], json!({ "type": "null" }));
    assert_eq!(properties["kind"]["anyOf"][1], json!({ "type": "null" }));
    assert_eq!(properties["within"]["anyOf"], json!([{ "$ref": "#" }, { "type": "null" }]));
    assert_eq!(properties["within"]["description"], "Where it belongs.");
    let first = json!([{ "$ref": "#/$defs/Part" }, { "type": "null" }]);
    assert_eq!(properties["first"]["anyOf"], first);
    assert_eq!(form["$defs"]["Part"]["properties"]["note"]["type"], json!(["string", "null"]));
    assert_eq!(form["$defs"]["Way"]["anyOf"].as_array().unwrap().len(), 2);
}

#[test]
fn a_schema_without_a_strict_form_has_none() {
    assert_eq!(strict_form(&schema::<Free>()), None, "any other properties");
    assert_eq!(strict_form(&schema::<Vec<u8>>()), None, "no object");
    for schema in [
        "",
        "true",
        "[]",
        r#"{"type":"object"}"#,
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":true}}"#,
        r#"{"type":"object","properties":{"a":{"enum":["x"]}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"object"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"array"}}}"#,
        r#"{"type":"object","properties":{},"required":["a"]}"#,
        r#"{"type":"object","properties":{},"additionalProperties":true}"#,
        r#"{"type":"object","properties":{},"additionalProperties":{"type":"string"}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"}},"allOf":[]}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[]}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","format2":"x"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=x)"}}}"#,
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/B"}}}"##,
        r#"{"type":"object","properties":{"a":{"$ref":"https://x.example/b"}}}"#,
    ] {
        assert_eq!(strict_form(schema), None, "{schema}");
    }
    let deep = (0..11).fold(r#"{"type":"string"}"#.to_owned(), |inner, _| {
        format!(r#"{{"type":"object","properties":{{"a":{inner}}}}}"#)
    });
    assert_eq!(strict_form(&deep), None, "too deep");
    let bottomless = format!(r#"{{"type":"object","properties":{}"#, r#"{"a":"#.repeat(10_000));
    assert_eq!(strict_form(&bottomless), None);
    let values: Vec<String> = (0..251).map(|value| value.to_string()).collect();
    let values =
        json!({ "type": "object", "properties": { "a": { "type": "string", "enum": values } } });
    assert_eq!(strict_form(&values.to_string()), None, "too many values");
}

#[test]
fn the_order_of_properties_and_numbers_stay_as_they_are_written() {
    let schema = concat!(
        r#"{"type":"object","properties":{"b":{"type":"number","minimum":1.0e1},"#,
        r#""a":{"type":"string","maxLength":3,"format":"uri"}},"required":["b","a"]}"#
    );
    assert_eq!(
        strict_form(schema).unwrap(),
        concat!(
            r#"{"type":"object","properties":{"b":{"type":"number","minimum":1.0e1},"#,
            r#""a":{"type":"string"}},"required":["b","a"],"additionalProperties":false}"#
        )
    );
}

fn calls(schema: &str) -> StrictCalls {
    let tools = vec![windlass_testkit::tool_spec("go", "Goes.", schema)];
    StrictCalls::new(Arc::new(windlass_testkit::settings().with(|it| it.tools = tools)))
}

/// The pieces and the end of a call of `tool`, whose arguments come in these pieces.
fn ended(calls: &mut StrictCalls, tool: &str, pieces: &[&str]) -> (String, String) {
    let (mut events, mut streamed) = (Vec::new(), String::new());
    let opened = StreamEvent::CallOpened { slot: 3, id: "c".into(), name: tool.into() };
    let piece = |text: &&str| StreamEvent::CallArguments { slot: 3, text: (*text).to_owned() };
    let done = StreamEvent::Done { slot: 3, text: None, opaque: None };
    for event in std::iter::once(opened).chain(pieces.iter().map(piece)).chain([done]) {
        let from = events.len();
        events.push(event);
        calls.apply(&mut events, from);
    }
    let mut end = None;
    for event in &events {
        if let StreamEvent::CallArguments { slot: 3, text } = event {
            streamed.push_str(text);
        } else if let StreamEvent::Done { slot: 3, text, .. } = event {
            end = Some(text.clone());
        }
    }
    let end = end.expect("the call ends");
    (streamed.clone(), end.unwrap_or(streamed))
}

#[test]
fn nulls_that_the_schema_does_not_have_are_removed() {
    let schema = schema::<Place>();
    for (arguments, own) in [
        (r#"{"name":"x","limit":null}"#, r#"{"name":"x"}"#),
        (r#"{ "limit" : null , "name" : "x" }"#, r#"{  "name" : "x" }"#),
        (r#"{"limit":null,"kind":null}"#, "{}"),
        (r#"{"name":"x","kind":null,"parts":null,"z":null}"#, r#"{"name":"x","z":null}"#),
        (
            r#"{"name":"\u0041,","parts":[{"id":1.0e0, "note":null},{"note":null,"id":2},{"id":3,"note":"n"}]}"#,
            r#"{"name":"\u0041,","parts":[{"id":1.0e0},{"id":2},{"id":3,"note":"n"}]}"#,
        ),
        (
            r#"{"name":"x","within":{"name":"y","limit":null},"limit":1}"#,
            r#"{"name":"x","within":{"name":"y"},"limit":1}"#,
        ),
        (r#"{"way":{"by":"Road","lanes":null}}"#, r#"{"way":{"by":"Road"}}"#),
        // A null that the schema has, or that is an error, is what the model said.
        (r#"{"way":{"by":"Water","lanes":null}}"#, r#"{"way":{"by":"Water","lanes":null}}"#),
        (
            r#"{"name":null,"height":null,"within":null}"#,
            r#"{"name":null,"height":null,"within":null}"#,
        ),
        (r#"{"name":"null","limit":3}"#, r#"{"name":"null","limit":3}"#),
        ("[null]", "[null]"),
        (r#"{"limit":null"#, r#"{"limit":null"#),
        ("", ""),
    ] {
        let (streamed, end) = ended(&mut calls(&schema), "go", &[arguments]);
        assert_eq!(end, own, "{arguments}");
        assert_eq!(streamed, own, "{arguments}");
    }
}

#[test]
fn a_tool_without_a_strict_form_keeps_its_nulls() {
    let free =
        r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{}}"#;
    let (streamed, end) = ended(&mut calls(free), "go", &[r#"{"a":"#, "null}"]);
    assert_eq!((streamed.as_str(), end.as_str()), (r#"{"a":null}"#, r#"{"a":null}"#));
    let own = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
    assert_eq!(ended(&mut calls(own), "stop", &[r#"{"a":null}"#]).1, r#"{"a":null}"#);
}

#[test]
fn a_value_is_streamed_as_it_comes() {
    let mut calls = calls(&schema::<Place>());
    let opened = StreamEvent::CallOpened { slot: 0, id: "c".into(), name: "go".into() };
    let mut shown = Vec::new();
    calls.apply(&mut vec![opened], 0);
    for piece in [r#"{"na"#, r#"me": "a"#, "bc", r#"d", "lim"#, r#"it":"#, "nu", "ll}"] {
        let mut events = vec![StreamEvent::CallArguments { slot: 0, text: piece.into() }];
        calls.apply(&mut events, 0);
        shown.push(match events.as_slice() {
            [StreamEvent::CallArguments { text, .. }] => text.clone(),
            _ => String::new(),
        });
    }
    assert_eq!(shown, ["{", r#""name": "a"#, "bc", "d\"", "", "", ""]);
}

/// Arguments as a model could write them, of any depth and with any spaces.
fn arguments() -> impl Strategy<Value = String> {
    let space = || prop::sample::select(vec!["", " ", "\n"]);
    let leaf = prop::sample::select(vec!["null", "1", "-2.50", r#""a,{n\"ull:""#, "true", "{}"]);
    let leaf = leaf.prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let names = vec!["name", "height", "parts", "limit", "within", "id", "note", "z"];
        let entry = (space(), prop::sample::select(names), space(), inner.clone(), space());
        let entry = entry.prop_map(|(a, name, b, value, c)| format!("{a}\"{name}\":{b}{value}{c}"));
        let object = prop::collection::vec(entry, 0..4);
        let array = prop::collection::vec(inner, 0..3);
        prop_oneof![
            3 => object.prop_map(|entries| format!("{{{}}}", entries.join(","))),
            1 => array.prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn streamed_arguments_are_those_that_the_call_ends_with(
        arguments in arguments(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(arguments.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(arguments.len());
        let mut from = 0;
        let pieces = cuts.iter().map(|cut| &arguments[std::mem::replace(&mut from, *cut)..*cut]);
        let pieces: Vec<&str> = pieces.collect();
        let schema = schema::<Place>();
        let (streamed, end) = ended(&mut calls(&schema), "go", &pieces);
        prop_assert_eq!(&streamed, &end);
        let whole = ended(&mut calls(&schema), "go", &[&arguments]).1;
        prop_assert_eq!(&whole, &end);
        let _: Value = serde_json::from_str(&end).unwrap();
    }
}
