//! Result of a call as text for a model.

use std::collections::BTreeSet;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ResourceContents};
use serde_json::Value;
use windlass_core::ObservationStatus;

use crate::excerpt::clipped;
use crate::schema::violation;

/// Most bytes of a name, an address or a message in a remark.
const SHOWN: usize = 400;

/// Returns the status of a result, and its text: the parts in their order. A part that is no text is
/// described, as one that is shown if it is among `shown`. A structured result is shown where no part
/// is text.
pub(crate) fn text(
    result: &CallToolResult,
    schema: Option<&JsonObject>,
    shown: &BTreeSet<usize>,
) -> (ObservationStatus, String) {
    let parts = result.content.iter().enumerate();
    let mut parts: Vec<String> =
        parts.map(|(at, block)| part(block, shown.contains(&at))).collect();
    let has_text = result.content.iter().any(|block| block.as_text().is_some());
    let failed = result.is_error == Some(true);
    if let Some(value) = &result.structured_content {
        if !has_text {
            parts.push(value.to_string());
        }
        let wrong = schema.and_then(|schema| violation(&Value::Object(schema.clone()), value));
        if let Some(wrong) = wrong {
            let wrong = clipped(&wrong, SHOWN);
            parts.push(format!("[the structured result is not as the tool declares it: {wrong}]"));
        }
    } else if schema.is_some() && !failed {
        parts.push("[the tool declares a structured result, and gave none]".into());
    }
    let status = if failed { ObservationStatus::Failed } else { ObservationStatus::Done };
    (status, parts.join("\n"))
}

/// Returns a part as text. What is no text is described, as one that the model is shown if it is.
pub(crate) fn part(block: &ContentBlock, shown: bool) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => described("image", &image.mime_type, &image.data, shown),
        ContentBlock::Audio(audio) => described("audio", &audio.mime_type, &audio.data, false),
        ContentBlock::Resource(resource) => contents(&resource.resource, shown),
        ContentBlock::ResourceLink(link) => {
            let (name, uri) = (clipped(&link.name, SHOWN), clipped(&link.uri, SHOWN));
            match &link.description {
                Some(said) => format!("[link to {name}: {uri}, {}]", clipped(said, SHOWN)),
                None => format!("[link to {name}: {uri}]"),
            }
        }
        _ => "[a part of an unknown kind]".into(),
    }
}

/// Returns the text of a resource under its address. What is no text is described.
pub(crate) fn contents(resource: &ResourceContents, shown: bool) -> String {
    match resource {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            format!("[resource {}]\n{text}", clipped(uri, SHOWN))
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = mime_type.as_deref().unwrap_or("of an unknown type");
            format!("[resource {}]\n{}", clipped(uri, SHOWN), described("file", kind, blob, shown))
        }
        _ => "[a resource of an unknown kind]".into(),
    }
}

/// Describes a part that a model gets no text of.
fn described(what: &str, kind: &str, base64: &str, shown: bool) -> String {
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
    let bytes = (base64.len() / 4 * 3).saturating_sub(padding);
    let end = if shown { "" } else { ": not shown" };
    format!("[{what}, {}, {bytes} bytes{end}]", clipped(kind, SHOWN))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(result: Value, schema: Option<Value>) -> (ObservationStatus, String) {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        let schema = schema.map(|schema| schema.as_object().unwrap().clone());
        text(&result, schema.as_ref(), &BTreeSet::from([1]))
    }

    #[test]
    fn parts_are_shown_in_their_order() {
        let (status, text) = shown(
            json!({"content": [
                {"type": "text", "text": "one"},
                {"type": "image", "data": "AAAAAA==", "mimeType": "image/png"},
                {"type": "resource", "resource": {"uri": "a:b", "text": "two"}},
                {"type": "resource", "resource": {"uri": "a:c", "blob": "AAAA"}},
                {"type": "resource_link", "uri": "a:d", "name": "d", "description": "three"}
            ]}),
            None,
        );
        assert_eq!(status, ObservationStatus::Done);
        assert_eq!(
            text,
            "one\n[image, image/png, 4 bytes]\n[resource a:b]\ntwo\n[resource a:c]\n\
             [file, of an unknown type, 3 bytes: not shown]\n[link to d: a:d, three]"
        );
    }

    #[test]
    fn a_structured_result_is_compared_with_its_schema() {
        let schema = json!({"type": "object", "required": ["n"]});
        let with = |value: Value| json!({"content": [], "structuredContent": value});
        assert_eq!(shown(with(json!({"n": 1})), Some(schema.clone())).1, r#"{"n":1}"#);
        let (status, text) = shown(with(json!({})), Some(schema.clone()));
        assert_eq!(status, ObservationStatus::Done, "it took effect");
        assert!(text.starts_with("{}\n[the structured result is not as"), "{text}");
        let none = json!({"content": [{"type": "text", "text": "x"}]});
        assert!(shown(none, Some(schema)).1.contains("and gave none"));
    }

    #[test]
    fn an_error_of_the_tool_is_a_failure() {
        let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
        let schema = Some(json!({"type": "object"}));
        assert_eq!(shown(failed, schema), (ObservationStatus::Failed, "no".into()));
        assert_eq!(shown(json!({"content": []}), None).1, "");
    }
}
