//! Tests of schemas, most of them against the crate `jsonschema`.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn compiled(schema: &Value) -> JsonSchema {
    JsonSchema::compile(schema.clone()).unwrap()
}

fn words(schema: &Value, value: &Value) -> Vec<String> {
    let faults = compiled(schema).faults(value, 100);
    faults.into_iter().map(|fault| format!("{}: {}", fault.place, fault.words)).collect()
}

/// What the crate `jsonschema` says.
fn reference(schema: &Value, value: &Value) -> Vec<String> {
    let options = jsonschema::options().with_pattern_options(jsonschema::PatternOptions::regex());
    let validator = options.should_validate_formats(false).build(schema).unwrap();
    let errors = validator.iter_errors(value);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Returns the values of which both do not say the same.
fn differences(schema: &Value) -> Vec<String> {
    let difference = |value: Value| {
        let (mut ours, mut theirs) = (words(schema, &value), reference(schema, &value));
        ours.sort();
        theirs.sort();
        (ours != theirs).then(|| format!("{schema} over {value}: {ours:?} is not {theirs:?}"))
    };
    values().into_iter().filter_map(difference).collect()
}

/// Schemas with one keyword or several that belong together.
fn schemas() -> Vec<Value> {
    let draft_7 = "http://json-schema.org/draft-07/schema#";
    vec![
        json!(true),
        json!(false),
        json!({ "type": "integer" }),
        json!({ "type": ["string", "null"] }),
        json!({ "enum": [1, "a", null, [1.0], { "a": 2 }] }),
        json!({ "enum": ["a", "b"] }),
        json!({ "const": { "a": [1] } }),
        json!({ "minimum": 1, "maximum": 2.5 }),
        json!({ "exclusiveMinimum": 1, "exclusiveMaximum": 3 }),
        json!({ "multipleOf": 0.1 }),
        json!({ "multipleOf": 2 }),
        json!({ "minLength": 1, "maxLength": 2 }),
        json!({ "pattern": "^[a-c]\\d*$" }),
        json!({ "minItems": 1, "maxItems": 2, "uniqueItems": true }),
        json!({ "items": { "type": "integer" } }),
        json!({ "prefixItems": [{ "type": "string" }, true], "items": { "minimum": 2 } }),
        json!({ "prefixItems": [{ "const": 1 }], "items": false }),
        json!({ "$schema": draft_7, "items": [{ "type": "string" }], "additionalItems": { "minimum": 2 } }),
        json!({ "contains": { "const": 1 } }),
        json!({ "contains": { "type": "integer" }, "minContains": 2, "maxContains": 3 }),
        json!({ "contains": false, "minContains": 0 }),
        json!({ "minProperties": 1, "maxProperties": 1 }),
        json!({ "properties": { "a": { "type": "integer" }, "b": false }, "required": ["a", "c"] }),
        json!({ "properties": { "a": true }, "additionalProperties": false }),
        json!({ "patternProperties": { "^a": { "minimum": 2 } }, "additionalProperties": { "type": "null" } }),
        json!({ "propertyNames": { "maxLength": 1 } }),
        json!({ "dependentRequired": { "a": ["b", "c"] } }),
        json!({ "dependentSchemas": { "a": { "maxProperties": 1 } } }),
        json!({ "$schema": draft_7, "dependencies": { "a": ["b"], "b": { "minProperties": 3 } } }),
        json!({ "allOf": [{ "type": "integer" }, { "minimum": 2 }] }),
        json!({ "anyOf": [{ "type": "integer" }, { "required": ["a"] }, { "minLength": 2 }] }),
        json!({ "oneOf": [{ "type": "integer" }, { "minimum": 2 }, { "type": "string" }] }),
        json!({ "not": { "type": ["integer", "array"] } }),
        json!({ "if": { "type": "integer" }, "then": { "minimum": 2 }, "else": { "type": "string" } }),
        json!({ "$ref": "#/$defs/a~1b", "$defs": { "a/b": { "type": "integer" } } }),
        json!({ "$ref": "#named", "$defs": { "x": { "$anchor": "named", "minLength": 2 } } }),
        json!({ "$ref": "#/$defs/x", "minimum": 2, "$defs": { "x": { "type": "integer" } } }),
        json!({ "$schema": draft_7, "$ref": "#/definitions/x", "minimum": 2, "definitions": { "x": { "type": "integer" } } }),
        json!({ "properties": { "a": { "$ref": "#" }, "b": { "type": "integer" } }, "additionalProperties": false }),
        json!({ "properties": { "a": true }, "unevaluatedProperties": false }),
        json!({ "allOf": [{ "properties": { "a": true } }], "anyOf": [{ "required": ["a"] }, { "properties": { "b": true } }],
            "unevaluatedProperties": { "type": "integer" } }),
        json!({ "if": { "required": ["a"], "properties": { "a": true } }, "then": { "properties": { "b": true } },
            "unevaluatedProperties": false }),
        json!({ "prefixItems": [true], "contains": { "type": "string" }, "unevaluatedItems": false }),
    ]
}

fn values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(1.0),
        json!(2),
        json!(2.5),
        json!(0.3),
        json!(-7),
        json!(1e30),
        json!(18_446_744_073_709_551_615_u64),
        json!(""),
        json!("a"),
        json!("a12"),
        json!("\u{1f9ca}\u{1f9ca}"),
        json!([]),
        json!([1]),
        json!([1.0]),
        json!([1, 1.0]),
        json!(["a", "a"]),
        json!(["a", 2, 3]),
        json!([1, "b", 1, 4]),
        json!([{ "a": 1 }, { "a": 1.0 }]),
        json!({}),
        json!({ "a": 1 }),
        json!({ "a": 2 }),
        json!({ "a": "x", "b": 3 }),
        json!({ "a": { "a": { "b": "no" } }, "b": 1 }),
        json!({ "a/b": null, "a~": 1, "aa": 3 }),
        json!({ "b": 1, "c": "x" }),
    ]
}

#[test]
fn it_says_what_jsonschema_says_for_each_keyword() {
    let found: Vec<String> = schemas().iter().flat_map(differences).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_limit_may_exclude_itself_as_in_draft_4() {
    let schema = json!({ "$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true });
    assert_eq!(differences(&schema), [""; 0]);
}

#[test]
fn multiples_are_those_of_decimals() {
    for (value, of, is) in [
        (json!(0.3), json!(0.1), true),
        (json!(19.99), json!(0.01), true),
        (json!(1.5), json!(0.4), false),
        (json!(1e300), json!(0.5), true),
        (json!(9_007_199_254_740_993_u64), json!(2), false),
    ] {
        assert_eq!(words(&json!({ "multipleOf": of }), &value).is_empty(), is, "{value} of {of}");
    }
}

#[test]
fn a_schema_that_cannot_be_used_is_refused() {
    for schema in [
        json!(1),
        json!({ "type": "nonsense" }),
        json!({ "type": [] }),
        json!({ "enum": 1 }),
        json!({ "required": "a" }),
        json!({ "minLength": -1 }),
        json!({ "minLength": "1" }),
        json!({ "multipleOf": 0 }),
        json!({ "pattern": "[" }),
        json!({ "pattern": "(?=a)" }),
        json!({ "patternProperties": { "[": true } }),
        json!({ "properties": { "a": 1 } }),
        json!({ "properties": { "a": { "type": "nonsense" } } }),
        json!({ "properties": [] }),
        json!({ "allOf": [] }),
        json!({ "items": [{ "type": "nonsense" }] }),
        json!({ "$defs": { "a": { "type": 1 } } }),
        json!({ "$ref": "https://example.com/schema.json" }),
        json!({ "$ref": "#/$defs/none" }),
        json!({ "$ref": "#none" }),
        json!({ "$defs": { "a": { "$id": "https://example.com/inner", "type": "string" } } }),
    ] {
        assert!(JsonSchema::compile(schema.clone()).is_err(), "{schema}");
    }
}

#[test]
fn a_reference_to_a_place_without_a_keyword_is_checked_too() {
    let schema =
        json!({ "$ref": "#/components/name", "components": { "name": { "pattern": "^a" } } });
    assert!(words(&schema, &json!("ab")).is_empty());
    assert_eq!(words(&schema, &json!("b")), [": \"b\" does not match \"^a\""]);
    let broken =
        json!({ "$ref": "#/components/name", "components": { "name": { "pattern": "[" } } });
    assert!(JsonSchema::compile(broken).is_err());
}

#[test]
fn a_long_list_of_unlike_items_is_compared_in_little_time() {
    let items: Vec<Value> = (0..200_000).map(|number| json!({ "n": number })).collect();
    let (unlike, mut alike) = (json!(items), items);
    alike.push(json!({ "n": 77.0 }));
    let schema = json!({ "uniqueItems": true });
    assert!(words(&schema, &unlike).is_empty());
    assert_eq!(words(&schema, &json!(alike)).len(), 1);
}

#[test]
fn the_fault_of_a_long_value_follows_its_beginning() {
    for long in ["x".repeat(100_000), "\u{1f9ca}".repeat(100_000)] {
        let found = words(&json!({ "type": "integer" }), &json!(long));
        let [found] = &found[..] else { panic!("{found:?}") };
        assert!(found.len() < 300, "{found}");
        assert!(found.ends_with("... is not of type \"integer\""), "{found}");
    }
}

#[test]
fn names_that_are_keywords_are_names_where_names_stand() {
    let schema = json!({ "properties": { "type": { "type": "string" }, "$ref": { "const": 1 }, "$id": true } });
    assert_eq!(
        words(&schema, &json!({ "type": "x", "$ref": 1, "$id": "https://example.com" })),
        [""; 0]
    );
    assert_eq!(words(&schema, &json!({ "$ref": 2 })), ["/$ref: 1 was expected"]);
}

#[test]
fn a_reference_to_the_id_of_the_schema_leads_into_it() {
    let id = "https://example.com/tool";
    let schema = json!({ "$id": id, "$ref": format!("{id}#/$defs/a%20b"), "$defs": { "a b": { "type": "null" } } });
    assert!(words(&schema, &json!(null)).is_empty());
    assert_eq!(words(&schema, &json!(1)), [": 1 is not of type \"null\""]);
}

#[test]
fn no_schema_makes_a_check_without_an_end() {
    let loops = json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] });
    let wide = json!({ "anyOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#/$defs/a" }],
        "$defs": { "a": { "properties": { "a": { "oneOf": [{ "$ref": "#" }, { "$ref": "#" }, { "$ref": "#" }] } } } } });
    let mut deep = json!(1);
    for _ in 0..120 {
        deep = json!({ "a": deep });
    }
    let checked = std::thread::Builder::new().stack_size(1024 * 1024).spawn(move || {
        for schema in [loops, wide] {
            let faults = compiled(&schema).faults(&deep, 3);
            assert!(!faults.is_empty() && faults.len() <= 3, "{faults:?}");
        }
        let any = json!({ "properties": { "a": { "$ref": "#" } } });
        assert!(compiled(&any).faults(&json!({ "a": { "a": {} } }), 3).is_empty());
    });
    checked.unwrap().join().unwrap();
}

/// A schema of schemas above, combined.
fn combined() -> impl Strategy<Value = Value> {
    // References are to the root, so they stay where they are.
    let plain = schemas().into_iter().filter(|schema| !schema.to_string().contains("$ref"));
    let plain = plain.filter(|schema| schema.get("$schema").is_none()).collect::<Vec<_>>();
    let leaf = prop::sample::select(plain);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            list.clone().prop_map(|list| json!({ "allOf": list })),
            list.clone().prop_map(|list| json!({ "anyOf": list, "unevaluatedProperties": false })),
            list.clone().prop_map(|list| json!({ "oneOf": list })),
            list.prop_map(|list| json!({ "prefixItems": list, "unevaluatedItems": false })),
            inner.clone().prop_map(|inner| json!({ "not": inner })),
            inner.clone().prop_map(|inner| json!({ "items": inner })),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| json!({ "if": a, "then": b, "else": c })),
            inner.prop_map(
                |inner| json!({ "properties": { "a": inner }, "additionalProperties": true })
            ),
        ]
    })
}

proptest! {
    #[test]
    fn it_takes_and_refuses_what_jsonschema_does(
        schema in combined(),
        value in prop::sample::select(values()),
    ) {
        let nested = json!({ "a": value, "b": [value] });
        for value in [&value, &nested] {
            let (ours, theirs) = (words(&schema, value), reference(&schema, value));
            prop_assert_eq!(ours.is_empty(), theirs.is_empty(), "{} over {}: {:?}, {:?}", schema, value, ours, theirs);
        }
    }
}
