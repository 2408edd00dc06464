//! The model server over a WebSocket: Responses by the same scripts. It knows of a conversation
//! what it was told over this connection, so a script's place is kept here and not in the request.

use anyhow::Context as _;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::script::{Answer, PAYLOAD, Script};

/// Connection that a request upgrades, with the response that accepts it.
pub(crate) fn switched<B: Default>(
    request: &mut Request<Incoming>,
) -> Option<(OnUpgrade, Response<B>)> {
    let key = request.headers().get(SEC_WEBSOCKET_KEY)?;
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()?;
    let mut response = Response::new(B::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Some((hyper::upgrade::on(request), response))
}

/// Answers until the client closes.
///
/// # Errors
/// When the client sends a message that no client of the bench sends.
pub(crate) async fn serve(upgrade: OnUpgrade) -> anyhow::Result<()> {
    let io = TokioIo::new(upgrade.await.context("switching to a WebSocket")?);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
    let mut place = Place::default();
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else {
            continue;
        };
        for event in place.answer(text.as_bytes())? {
            socket.feed(Message::text(event)).await?;
        }
        socket.flush().await?;
    }
    Ok(())
}

/// Progress of a conversation.
#[derive(Debug, Default)]
struct Place {
    /// Responses over this connection.
    responses: usize,
    /// Results since the last words of the user.
    results: usize,
}

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    model: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    previous_response_id: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    input: Vec<Item<'a>>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    role: std::borrow::Cow<'a, str>,
}

impl Place {
    /// The events of the answer to a message.
    fn answer(&mut self, message: &[u8]) -> anyhow::Result<Vec<String>> {
        let asked: Asked<'_> = serde_json::from_slice(message).context("reading a message")?;
        match &asked.previous_response_id {
            None => self.results = 0,
            Some(id) => anyhow::ensure!(
                **id == self.id(),
                "{id:?} is not the last response of this connection"
            ),
        }
        for item in &asked.input {
            match (&*item.kind, &*item.role) {
                ("function_call_output", _) => self.results += 1,
                (_, "user") => self.results = 0,
                _ => {}
            }
        }
        let script = Script::parse(&asked.model).context("the model is no script")?;
        self.responses += 1;
        Ok(events(&self.id(), script.answer(self.results)))
    }

    fn id(&self) -> String {
        format!("resp_{}", self.responses)
    }
}

/// The events of an answer, in the dialect of Responses.
fn events(id: &str, answer: Answer) -> Vec<String> {
    let response = |status: &str| json!({ "id": id, "object": "response", "model": "bench", "status": status });
    let event = |kind: &str, mut fields: serde_json::Value| {
        fields["type"] = kind.into();
        fields.to_string()
    };
    let mut events =
        vec![event("response.created", json!({ "response": response("in_progress") }))];
    let item = match answer {
        Answer::Call(number, bytes) => {
            let item = |arguments: &str| json!({ "type": "function_call", "id": "fc", "call_id": format!("call_{number}"), "name": "echo", "arguments": arguments });
            let arguments = json!({ "text": PAYLOAD, "bytes": bytes }).to_string();
            events.push(event(
                "response.output_item.added",
                json!({ "output_index": 0, "item": item("") }),
            ));
            let (first, second) = arguments.split_at(arguments.len() / 2);
            for delta in [first, second] {
                events.push(event(
                    "response.function_call_arguments.delta",
                    json!({ "item_id": "fc", "output_index": 0, "delta": delta }),
                ));
            }
            item(&arguments)
        }
        Answer::Words(words) => {
            let text = " word".repeat(words);
            for _ in 0..words {
                events.push(event(
                    "response.output_text.delta",
                    json!({ "item_id": "msg", "output_index": 0, "content_index": 0, "delta": " word" }),
                ));
            }
            json!({ "type": "message", "id": "msg", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
        }
    };
    events.push(event("response.output_item.done", json!({ "output_index": 0, "item": item })));
    let mut ended = response("completed");
    ended["usage"] = json!({ "input_tokens": 7, "output_tokens": 3, "total_tokens": 10 });
    events.push(event("response.completed", json!({ "response": ended })));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(previous: Option<&str>, kinds: &[&str]) -> Vec<u8> {
        let item = |kind: &&str| match *kind {
            "user" => json!({ "type": "message", "role": "user" }),
            kind => json!({ "type": kind }),
        };
        let input: Vec<_> = kinds.iter().map(item).collect();
        json!({ "type": "response.create", "model": "tools-2", "previous_response_id": previous, "input": input })
            .to_string()
            .into_bytes()
    }

    #[test]
    fn a_place_is_kept_over_messages_of_what_is_new() {
        let mut place = Place::default();
        let mut last = |previous, kinds: &[&str]| -> anyhow::Result<String> {
            let events = place.answer(&message(previous, kinds))?;
            Ok(events.concat())
        };
        assert!(last(None, &["user"]).unwrap().contains("call_0"));
        let result = ["function_call_output"];
        assert!(last(Some("resp_1"), &result).unwrap().contains("call_1"));
        assert!(last(Some("resp_1"), &result).is_err());
        assert!(last(Some("resp_2"), &result).unwrap().contains(" word"));
        let whole = ["user", "function_call", "function_call_output"];
        assert!(last(None, &whole).unwrap().contains("call_1"));
    }
}
