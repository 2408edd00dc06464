//! Elicitation: open questions as requests for input, and the responses as answers.

use rmcp::model::{InputRequest, InputRequests, InputResponses};
use serde_json::{Value, json};

use super::answer::Reply;
use super::report::{Question, QuestionKind};

/// Returns the requests for input, by the ids of their questions.
pub(super) fn requests(questions: &[Question]) -> InputRequests {
    let requests = questions.iter().filter_map(|question| {
        // The shape is that of the protocol, so it reads.
        let request: InputRequest = serde_json::from_value(request(question)).ok()?;
        Some((question.id.clone(), request))
    });
    requests.collect()
}

fn request(question: &Question) -> Value {
    let (properties, required) = match question.kind {
        QuestionKind::Approval => (
            json!({
                "decision": {"type": "string", "title": "Decision", "enum": ["allow", "deny"]},
                "reason": {"type": "string", "title": "Reason for a denial"},
            }),
            "decision",
        ),
        QuestionKind::Question => {
            (json!({"answer": {"type": "string", "title": "Answer", "minLength": 1}}), "answer")
        }
    };
    json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": question.message(),
            "requestedSchema": {
                "type": "object", "properties": properties, "required": [required],
            },
        },
    })
}

/// Response to a request for input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Response {
    /// An answer.
    Answered(Reply),
    /// The request was dismissed: the question stays open.
    Dismissed,
    /// It does not have the requested form.
    Invalid,
}

/// Returns the responses, by the ids of their questions.
pub(super) fn responses(sent: InputResponses) -> impl Iterator<Item = (String, Response)> {
    sent.into_iter().map(|(question, response)| (question, read(&response)))
}

fn read(response: &Value) -> Response {
    let field = |name: &str| response.get("content")?.get(name)?.as_str().map(str::to_owned);
    match response.get("action").and_then(Value::as_str) {
        Some("accept") => match (field("decision").as_deref(), field("answer")) {
            (Some("allow"), None) => Response::Answered(Reply::Allow),
            (Some("deny"), None) => Response::Answered(Reply::Deny(
                field("reason").filter(|reason| !reason.trim().is_empty()),
            )),
            (None, Some(text)) => Response::Answered(Reply::Text(text)),
            (Some(_) | None, _) => Response::Invalid,
        },
        Some("decline") => Response::Answered(Reply::Declined),
        Some("cancel") => Response::Dismissed,
        Some(_) | None => Response::Invalid,
    }
}
