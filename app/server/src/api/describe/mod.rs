//! The description: OpenAPI 3.1, made from the routes. What every route answers is added here, so that
//! none forgets it.

pub(crate) mod answers;
pub(crate) mod shapes;

use std::sync::Arc;

use axum::Extension;
use axum::http::header::CONTENT_TYPE;
use axum::response::{AppendHeaders, IntoResponse};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use self::answers::{OF_ALL, PROBLEMS, WITH_BODY, WITH_TOKEN};
use super::seen::{By, Read};
use crate::problem::Problem;

/// The description as it is served.
#[derive(Clone)]
pub(crate) struct Document(Bytes);

impl Document {
    /// Of what the routes say.
    pub(crate) fn of(routes: &OpenApi) -> Self {
        // What cannot be written is no description; a test reads it.
        let mut document = serde_json::to_value(routes).unwrap_or_default();
        complete(&mut document);
        Self(document.to_string().into())
    }
}

/// The description of the whole interface.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "process",
    responses((status = 200, description = "OpenAPI 3.1.", body = Object))
)]
pub(crate) async fn openapi(
    _: By<Read>,
    Extension(document): Extension<Arc<Document>>,
) -> Result<impl IntoResponse, Problem> {
    let form = AppendHeaders([(CONTENT_TYPE, "application/json")]);
    Ok((form, document.0.clone()))
}

/// Adds what holds for every route.
fn complete(document: &mut Value) {
    let responses: Map<String, Value> = PROBLEMS
        .iter()
        .map(|(name, status, codes)| ((*name).to_owned(), answers::response(status, codes)))
        .collect();
    document["components"]["responses"] = Value::Object(responses);
    document["components"]["securitySchemes"] = json!({
        "token": {"type": "http", "scheme": "bearer",
                  "description": "A token of the server's configuration."}
    });
    document["security"] = json!([{"token": []}]);
    let Some(paths) = document["paths"].as_object_mut() else {
        return;
    };
    let operations = paths.values_mut().filter_map(Value::as_object_mut);
    for operation in operations.flat_map(Map::values_mut) {
        let open = operation.get("security").is_some();
        let body = operation.get("requestBody").is_some();
        let mut more = OF_ALL.to_vec();
        if !open {
            more.extend(WITH_TOKEN);
        }
        if body {
            more.extend(WITH_BODY);
        }
        let Some(said) = operation["responses"].as_object_mut() else {
            continue;
        };
        for (name, status, _) in PROBLEMS.iter().filter(|(name, ..)| more.contains(name)) {
            let at = json!({"$ref": format!("#/components/responses/{name}")});
            said.entry(*status).or_insert(at);
        }
    }
}
