//! The description: it is served, it is whole, and it says what the server does.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::Ask;
use crate::world::{Running, World, problem};

async fn document(server: &Running) -> Value {
    server.get("/openapi.json").send().await.is(200)
}

#[tokio::test]
async fn the_description_is_served_to_who_has_a_token() {
    let world = World::new([], []);
    let server = world.serve().await;
    let answer = server.get("/openapi.json").with("nobody's").send().await;
    assert_eq!(answer.problem(), problem(401, "unauthorized"));
    let document = document(&server).await;
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["security"], json!([{"token": []}]));
    let (mut ids, mut operations) = (BTreeSet::new(), 0);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations += 1;
            ids.insert(operation["operationId"].as_str().unwrap().to_owned());
            let said = operation["responses"].as_object().unwrap();
            let open = operation.get("security").is_some();
            assert_eq!(said.contains_key("401"), !open, "{method} {path}");
            let body = operation.get("requestBody").is_some();
            assert_eq!(said.contains_key("415"), body, "{method} {path}");
            for status in ["400", "403", "413", "421", "429", "500", "503"] {
                assert!(said.contains_key(status), "{status} of {method} {path}");
            }
            let of_session = path.contains("{id}");
            assert_eq!(said.contains_key("404"), of_session, "{method} {path}");
        }
    }
    assert_eq!(ids.len(), operations, "no two have the same name");
    refer(&document, &document);
}

/// Each reference leads somewhere.
fn refer(document: &Value, value: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(place) = fields.get("$ref").and_then(Value::as_str) {
                let place = place.strip_prefix('#').expect("a place in the document");
                assert!(document.pointer(place).is_some(), "{place}");
            }
            fields.values().for_each(|value| refer(document, value));
        }
        Value::Array(values) => values.iter().for_each(|value| refer(document, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn a_path_takes_the_methods_that_are_described_and_no_other() {
    let world = World::new([], []);
    let server = world.serve().await;
    let document = document(&server).await;
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.strip_prefix("/v1").unwrap();
        let path = path.replace("{id}", "nowhere");
        let path = path.split('/').map(|word| if word.starts_with('{') { "1" } else { word });
        let path = path.collect::<Vec<_>>().join("/");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let ask = Ask::new(server.address, method, &path).json(&json!({}));
            let answer = ask.send().await;
            let described = item.get(method.to_lowercase()).is_some();
            assert_eq!(answer.status != 405, described, "{method} {path}: {answer:?}");
            if !described {
                assert_eq!(answer.problem(), problem(405, "no_method"));
                assert!(answer.header("allow").is_some(), "{method} {path}");
            }
        }
    }
    let answer = server.get("/nothing").send().await;
    assert_eq!(answer.problem(), problem(404, "no_route"));
}

/// The document from which the types of the clients are generated.
const FILE: &str = "../clients/openapi.json";

#[tokio::test]
async fn the_clients_are_generated_from_the_served_description() {
    let world = World::new([], []);
    let server = world.serve().await;
    let served = format!("{:#}\n", document(&server).await);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &served).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == served,
        "app/clients/openapi.json is not what the server serves: run this test with \
         UPDATE_EXPECT=1, then `cargo xtask clients`"
    );
}
