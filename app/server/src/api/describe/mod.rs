//! Description: OpenAPI 3.1, generated from the routes. The responses of every route are added
//! here, so that no route lacks them.

pub(crate) mod answers;
pub(crate) mod shapes;
pub(crate) mod snapshot;

use std::sync::Arc;

use axum::Extension;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use self::answers::{FOR_ALL_ROUTES, PROBLEMS, WITH_BODY, WITH_TOKEN};
use super::session_access::{AuthorizedCaller, ReadRight};
use crate::problem::Problem;

/// The served description.
#[derive(Clone)]
pub(crate) struct Document(Bytes);

impl Document {
    /// Completes the description of the routes.
    pub(crate) fn of(routes: &OpenApi) -> Self {
        // Serialising cannot fail for this type; a test reads the description.
        let mut document = serde_json::to_value(routes).unwrap_or_default();
        complete(&mut document);
        Self(document.to_string().into())
    }
}

/// Returns the description of the whole interface.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "process",
    responses((status = 200, description = "OpenAPI 3.1.", body = Object))
)]
pub(crate) async fn openapi(
    _: AuthorizedCaller<ReadRight>,
    Extension(document): Extension<Arc<Document>>,
) -> Result<impl IntoResponse, Problem> {
    let form = [(CONTENT_TYPE, "application/json")];
    Ok((form, document.0.clone()))
}

/// Adds everything that applies to every route.
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
    unsigned(document);
    let Some(paths) = document["paths"].as_object_mut() else {
        return;
    };
    let operations = paths.iter_mut().flat_map(|(path, item)| {
        let item = item.as_object_mut().into_iter().flatten();
        item.map(move |(method, operation)| (id(method, path), operation))
    });
    for (id, operation) in operations {
        operation["operationId"] = id.into();
        left_out(operation);
        let open = operation.get("security").is_some();
        let body = operation.get("requestBody").is_some();
        let mut more = FOR_ALL_ROUTES.to_vec();
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

/// Sets the ranges of unsigned numbers to those of their Rust types.
fn unsigned(value: &mut Value) {
    if value.get("minimum").is_some_and(|least| *least == 0) {
        let (format, most) = match value["format"].as_str() {
            Some("int32") => ("uint32", u64::from(u32::MAX)),
            Some("int64") => ("uint64", u64::MAX),
            Some(_) | None => return,
        };
        value["format"] = format.into();
        value["maximum"] = value["maximum"].as_u64().unwrap_or(most).into();
        return;
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(unsigned),
        Value::Array(values) => values.iter_mut().for_each(unsigned),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Excludes null from optional bodies.
fn left_out(operation: &mut Value) {
    let schema = operation.pointer_mut("/requestBody/content/application~1json/schema");
    let Some(schema) = schema else { return };
    let either = schema.get("oneOf").and_then(Value::as_array);
    let other = either.and_then(|either| either.iter().find(|one| one["type"] != "null"));
    if let Some(other) = other.cloned() {
        *schema = other;
    }
}

/// Returns the unique id of an operation.
fn id(method: &str, path: &str) -> String {
    let path = path.trim_start_matches("/v1/");
    let words = path.split('/').map(|word| word.trim_matches(['{', '}']));
    let words: Vec<_> = std::iter::once(method).chain(words).collect();
    words.join("_").replace('.', "_")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use utoipa_axum::router::OpenApiRouter;

    use crate::{api, app};

    /// Extracts the paths from a router's debug output.
    fn said(router: &str) -> BTreeSet<String> {
        let quoted = router.split('"').skip(1).step_by(2);
        let paths = quoted.filter(|text| text.starts_with("/v1"));
        paths.map(str::to_owned).collect()
    }

    #[test]
    fn every_path_of_the_router_is_described_and_the_reverse() {
        let routes = OpenApiRouter::new().nest("/v1", app::routes());
        let (router, description) = routes.split_for_parts();
        let described: BTreeSet<String> = description.paths.paths.keys().cloned().collect();
        assert!(described.contains("/v1/sessions/{id}/turns"));
        let router = api::with_description(router, &description);
        assert_eq!(said(&format!("{router:?}")), described);
    }
}
