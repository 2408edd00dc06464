//! The strict form of a schema, as OpenAI demands it: each property is required, there are no
//! others, and an optional one may be null.
//!
//! Source: OpenAI's guide on structured outputs, "Supported schemas".

use super::json::Json;

/// Most levels of objects.
const LEVELS: usize = 10;
/// Most properties of all objects together.
const PROPERTIES: usize = 5_000;
/// Most values of all enumerations together.
const VALUES: usize = 1_000;
/// Most values of one enumeration; more are possible if all are short.
const ENUM_VALUES: usize = 250;
/// Most bytes of a schema. The guide counts only names and values, so this is stricter.
const BYTES: usize = 120_000;

/// Keywords that stay as they are.
const KEPT: &[&str] = &[
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "type",
];

/// Keywords that are left out: they explain, or narrow what is checked anyway once the arguments
/// are here.
const DROPPED: &[&str] = &[
    "$comment",
    "$id",
    "$schema",
    "default",
    "deprecated",
    "examples",
    "maxLength",
    "minLength",
    "readOnly",
    "title",
    "uniqueItems",
    "writeOnly",
];

/// Formats of texts that are known. Others are left out.
const FORMATS: &[&str] =
    &["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"];

/// Returns the strict form of a tool's schema as JSON text; `None` if it has none: it is no object,
/// has objects with any other properties, keywords without a strict form, or is too large.
///
/// Arguments of that form fit the schema, once the nulls of optional properties are removed
/// ([`StrictCalls`](super::StrictCalls)) and but for keywords that are left out.
#[must_use]
pub fn strict_form(schema: &str) -> Option<String> {
    let root = Json::read(schema)?;
    let is_object = root.get("type").is_some_and(|name| name.is_text("object"));
    if !is_object || alternatives(&root).is_some() {
        return None;
    }
    let mut form = StrictForm { root: &root, properties: 0, values: 0 };
    let mut text = String::with_capacity(schema.len());
    form.schema(&root, 0)?.write(&mut text);
    Some(text).filter(|text| text.len() <= BYTES)
}

struct StrictForm<'a> {
    root: &'a Json,
    properties: usize,
    values: usize,
}

impl StrictForm<'_> {
    fn schema(&mut self, schema: &Json, level: usize) -> Option<Json> {
        let Json::Object(keywords) = schema else {
            return None;
        };
        if schema.get("$ref").is_some() {
            return self.reference(schema, keywords);
        }
        let properties = schema.get("properties");
        let is_object = has_type(schema, "object");
        let either = alternatives(schema).is_some();
        if is_object != properties.is_some()
            || has_type(schema, "array") != schema.get("items").is_some()
            || either && (is_object || schema.get("type").is_some())
            || !either && schema.get("type").is_none()
        {
            return None;
        }
        let mut out = Vec::new();
        for (keyword, value) in keywords {
            if let Some((keyword, value)) = self.keyword(schema, keyword, value, level)? {
                out.push((keyword.to_owned(), value));
            }
        }
        if let Some(Json::Object(properties)) = properties {
            let names = properties.iter().map(|(name, _)| Json::string(name)).collect();
            out.push(("required".into(), Json::Array(names)));
            out.push(("additionalProperties".into(), Json::Raw("false".into())));
        }
        Some(Json::Object(out))
    }

    /// Returns a keyword of a schema in its strict form, `Some(None)` if it is left out.
    fn keyword<'k>(
        &mut self,
        schema: &Json,
        keyword: &'k str,
        value: &Json,
        level: usize,
    ) -> Option<Option<(&'k str, Json)>> {
        let (keyword, value) = match keyword {
            "properties" => (keyword, self.properties(schema, value, level + 1)?),
            "items" => (keyword, self.schema(value, level)?),
            "anyOf" | "oneOf" => ("anyOf", self.all(value, level)?),
            "$defs" | "definitions" => (keyword, self.definitions(value, level)?),
            "additionalProperties" if value.is("false") => return Some(None),
            "format" if FORMATS.iter().any(|name| value.is_text(name)) => (keyword, value.clone()),
            "required" | "format" => return Some(None),
            _ if DROPPED.contains(&keyword) => return Some(None),
            "enum" => {
                let values = value.items().len();
                self.values += values;
                if values > ENUM_VALUES || self.values > VALUES {
                    return None;
                }
                (keyword, value.clone())
            }
            // Lookaround and flags are not supported.
            "pattern" if value.text()?.contains("(?") => return None,
            _ if KEPT.contains(&keyword) => (keyword, value.clone()),
            _ => return None,
        };
        Some(Some((keyword, value)))
    }

    /// Returns a reference, which has no other keywords in the strict form.
    fn reference(&self, schema: &Json, keywords: &[(String, Json)]) -> Option<Json> {
        resolve(self.root, schema)?;
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "$ref" => inside.push((keyword.clone(), value.clone())),
                "description" => outside.push((keyword.clone(), value.clone())),
                keyword if DROPPED.contains(&keyword) => {}
                _ => return None,
            }
        }
        let reference = Json::Object(inside);
        if outside.is_empty() {
            return Some(reference);
        }
        outside.push(("anyOf".into(), Json::Array(vec![reference])));
        Some(Json::Object(outside))
    }

    fn properties(&mut self, object: &Json, properties: &Json, level: usize) -> Option<Json> {
        let Json::Object(entries) = properties else {
            return None;
        };
        self.properties += entries.len();
        let required = object.get("required").map(Json::items).unwrap_or_default();
        let unknown = |name: &Json| name.text().is_none_or(|name| properties.get(&name).is_none());
        if level > LEVELS || self.properties > PROPERTIES || required.iter().any(unknown) {
            return None;
        }
        let mut out = Vec::new();
        for (name, schema) in entries {
            let strict = self.schema(schema, level)?;
            let strict = if is_required(object, name) { strict } else { nullable(strict) };
            out.push((name.clone(), strict));
        }
        Some(Json::Object(out))
    }

    fn all(&mut self, schemas: &Json, level: usize) -> Option<Json> {
        let all = schemas.items().iter().map(|schema| self.schema(schema, level));
        Some(Json::Array(all.collect::<Option<_>>()?))
    }

    fn definitions(&mut self, definitions: &Json, level: usize) -> Option<Json> {
        let Json::Object(definitions) = definitions else {
            return None;
        };
        let mut out = Vec::new();
        for (name, schema) in definitions {
            out.push((name.clone(), self.schema(schema, level)?));
        }
        Some(Json::Object(out))
    }
}

/// Returns the schemas of which a value fits at least one.
pub(super) fn alternatives(schema: &Json) -> Option<&[Json]> {
    schema.get("anyOf").or_else(|| schema.get("oneOf")).map(Json::items)
}

/// Returns true if an object must have a property.
pub(super) fn is_required(object: &Json, name: &str) -> bool {
    let required = object.get("required").map(Json::items).unwrap_or_default();
    required.iter().any(|one| one.is_text(name))
}

/// Returns true if a schema names a type, alone or among others.
pub(super) fn has_type(schema: &Json, name: &str) -> bool {
    let is = |one: &Json| one.is_text(name);
    schema.get("type").is_some_and(|of| is(of) || of.items().iter().any(is))
}

/// Follows a reference to the root or to a definition.
pub(super) fn resolve<'s>(root: &'s Json, schema: &'s Json) -> Option<&'s Json> {
    let mut schema = schema;
    // A reference to a reference is possible, a circle of them is no schema.
    for _ in 0..8 {
        let Some(reference) = schema.get("$ref") else {
            return Some(schema);
        };
        let reference = reference.text()?;
        if reference == "#" {
            return Some(root);
        }
        schema = match reference.strip_prefix("#/")?.split_once('/') {
            Some((key @ ("$defs" | "definitions"), name)) => root.get(key)?.get(name)?,
            Some(_) | None => return None,
        };
    }
    None
}

/// Returns the schema of a value that may be null instead.
fn nullable(schema: Json) -> Json {
    let null = || Json::Object(vec![("type".into(), Json::string("null"))]);
    let has = |keyword: &str| schema.get(keyword).is_some();
    let listed = has("enum") || has("const");
    if has_type(&schema, "null") && !listed {
        return schema;
    }
    let is_simple = !listed && !["anyOf", "$ref", "properties", "items"].into_iter().any(has);
    let Json::Object(mut keywords) = schema else {
        return schema;
    };
    for (keyword, value) in &mut keywords {
        match (keyword.as_str(), &mut *value) {
            ("anyOf", Json::Array(schemas)) => {
                if !schemas.iter().any(|schema| has_type(schema, "null")) {
                    schemas.push(null());
                }
                return Json::Object(keywords);
            }
            ("type", of) if is_simple => {
                let mut types = match of {
                    Json::Array(types) => std::mem::take(types),
                    Json::Object(_) | Json::Raw(_) => vec![of.clone()],
                };
                types.push(Json::string("null"));
                *value = Json::Array(types);
                return Json::Object(keywords);
            }
            _ => {}
        }
    }
    // The description says what the property is for, so it stays outside.
    let (mut outside, inside): (Vec<_>, Vec<_>) =
        keywords.into_iter().partition(|(keyword, _)| keyword == "description");
    let either = Json::Array(vec![Json::Object(inside), null()]);
    outside.push(("anyOf".into(), either));
    Json::Object(outside)
}
