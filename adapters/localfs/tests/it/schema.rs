//! What a model is told of the tools fits what they take.

use std::collections::BTreeSet;

use crate::common::World;
use serde_json::{Map, Value, json};
use windlass_core::{Concurrency, EffectClass, ObservationStatus};
use windlass_ports::ToolExecutor;

#[test]
fn the_tools_are_these_in_this_order() {
    let specs = World::new().tools.tools();
    let found: Vec<_> = specs.iter().map(|s| (s.name.as_str(), s.effect, s.concurrency)).collect();
    use {Concurrency as C, EffectClass as E};
    assert_eq!(
        found,
        [
            ("read_file", E::ReadOnly, C::Parallel),
            ("view_image", E::ReadOnly, C::Parallel),
            ("list_dir", E::ReadOnly, C::Parallel),
            ("grep", E::ReadOnly, C::Parallel),
            ("glob", E::ReadOnly, C::Parallel),
            ("write_file", E::Idempotent, C::Exclusive),
            ("edit_file", E::Effectful, C::Exclusive),
            ("apply_patch", E::Effectful, C::Exclusive),
            ("shell", E::Effectful, C::Exclusive),
            ("exec_command", E::Effectful, C::Exclusive),
            ("write_stdin", E::Effectful, C::Exclusive),
            ("list_processes", E::ReadOnly, C::Parallel),
            ("stop_process", E::Idempotent, C::Exclusive),
        ]
    );
}

#[test]
fn every_schema_is_closed_and_valid() {
    for spec in World::new().tools.tools() {
        let schema: Value = serde_json::from_str(&spec.parameters).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{}", spec.name);
        assert_eq!(schema["type"], "object", "{}", spec.name);
        assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
        for (name, property) in schema["properties"].as_object().unwrap() {
            let said = property["description"].as_str().unwrap();
            assert!(said.ends_with('.'), "{} {name}: {said}", spec.name);
        }
    }
}

/// A value that fits a property's schema and does no harm.
fn example(property: &str, schema: &Value) -> Value {
    match schema["type"].as_str().unwrap() {
        "string" if property == "path" => json!("file"),
        "string" if property == "command" => json!("true"),
        "string" => json!(property),
        "integer" => json!(60_000.min(schema["maximum"].as_u64().unwrap_or(u64::MAX))),
        "boolean" => json!(true),
        other => panic!("{other}"),
    }
}

/// The tool takes every property that its schema names, needs exactly those that it requires,
/// and takes no other.
#[tokio::test]
async fn every_schema_says_what_the_tool_takes() {
    let world = World::new();
    for spec in world.tools.tools() {
        world.put("file", "old");
        let schema: Value = serde_json::from_str(&spec.parameters).unwrap();
        let checks = jsonschema::validator_for(&schema).unwrap();
        let properties = schema["properties"].as_object().unwrap();
        let full: Map<String, Value> =
            properties.iter().map(|(name, s)| (name.clone(), example(name, s))).collect();
        let required: BTreeSet<&str> = schema["required"]
            .as_array()
            .map(|names| names.iter().map(|name| name.as_str().unwrap()).collect())
            .unwrap_or_default();
        let fits = async |arguments: &Map<String, Value>| {
            let arguments = Value::Object(arguments.clone());
            let seen = world.call(&spec.name, arguments.clone()).await;
            let taken = !seen.output.contains("do not fit the tool");
            assert_eq!(checks.is_valid(&arguments), taken, "{} {arguments}", spec.name);
            if !taken {
                assert_eq!(seen.status, ObservationStatus::Failed);
            }
            taken
        };
        assert!(fits(&full).await, "{}", spec.name);
        for name in properties.keys() {
            let mut without = full.clone();
            without.remove(name);
            assert_eq!(fits(&without).await, !required.contains(name.as_str()), "{name}");
        }
        let mut more = full.clone();
        more.insert(String::from("surprise"), json!(1));
        assert!(!fits(&more).await, "{}", spec.name);
    }
}

#[tokio::test]
async fn an_unknown_tool_never_begins() {
    let world = World::new();
    let ran =
        crate::common::run(&*world.tools, "no_such", json!({}), crate::common::context()).await;
    let error = ran.unwrap_err();
    assert!(!error.started() && error.context.contains("no_such"), "{error}");
}

#[test]
fn a_workspace_that_is_none_is_refused() {
    use windlass_localfs::{LocalFs, LocalFsConfig};
    let world = World::new();
    world.put("file", "");
    for path in [world.path("gone"), world.path("file")] {
        let error = LocalFs::open(&path, LocalFsConfig::default()).unwrap_err();
        assert!(error.to_string().contains("cannot open the workspace"), "{error}");
    }
}
