//! The server: what is asked of JetStream, each with a bound in time, and asked again where that
//! does no harm.

use std::time::Duration;

use async_nats::client::Request;
use async_nats::jetstream::Context;
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::response::Response;
use async_nats::{Client, HeaderMap};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::names::SubjectNames;
use crate::server_error::ServerError;

/// The code of JetStream's error for a message that is not there.
const NO_MESSAGE: u64 = 10_037;

/// The code of JetStream's error for a stream that is not there.
pub(crate) const NO_STREAM: u64 = 10_059;

/// The least and the most that is waited before something is asked again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(250));

/// The most messages and bytes that are asked for at once.
const PAGE: (u64, u64) = (256, 4 * 1024 * 1024);

/// Fraction of the time-out that the next common lookup of last messages may take: half a second by
/// default.
const TOGETHER: u32 = 20;

/// A connection to a server, and the names of a place there.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) client: Client,
    pub(crate) js: Context,
    pub(crate) names: SubjectNames,
    /// Longest time of an operation, including retries.
    pub(crate) patience: Duration,
}

/// A message in a stream.
#[derive(Debug, Clone)]
pub(crate) struct StoredMessage {
    pub(crate) seq: u64,
    pub(crate) subject: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// When the server stored it, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
}

impl StoredMessage {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.as_str())
    }
}

/// A message as it is to be stored.
#[derive(Debug, Clone)]
pub(crate) struct OutgoingMessage {
    pub(crate) subject: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The last message of the subject, 0 for none; `None` where any may be.
    pub(crate) expected: Option<u64>,
}

impl Server {
    /// Stores a message and answers its sequence.
    ///
    /// After `Away` nobody knows whether it was stored.
    pub(crate) async fn post(&self, post: OutgoingMessage) -> Result<u64, ServerError> {
        let mut headers = post.headers;
        if let Some(expected) = post.expected {
            let expected = expected.to_string();
            headers.insert("Nats-Expected-Last-Subject-Sequence", expected.as_str());
        }
        let asked = || {
            let request = Request::new().headers(headers.clone()).payload(post.body.clone());
            self.ask::<PublishAck>(post.subject.clone(), request)
        };
        Ok(self.insist(asked).await?.sequence)
    }

    /// The last message of a subject, as the stream's leader has it.
    pub(crate) async fn last(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StoredMessage>, ServerError> {
        self.get(stream, &json!({ "last_by_subj": subject })).await
    }

    /// The first message of a subject that has this sequence or a later one, as the leader has it.
    pub(crate) async fn next(
        &self,
        stream: &str,
        subject: &str,
        from: u64,
    ) -> Result<Option<StoredMessage>, ServerError> {
        let request = json!({ "seq": from.max(1), "next_by_subj": subject });
        self.get(stream, &request).await
    }

    async fn get(
        &self,
        stream: &str,
        request: &Value,
    ) -> Result<Option<StoredMessage>, ServerError> {
        let got = self.call::<GetMessageReply>(&format!("STREAM.MSG.GET.{stream}"), request).await;
        match got {
            Ok(got) => got.message.stored().map(Some),
            Err(ServerError::Refused(NO_MESSAGE, _)) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Messages of a subject from a sequence on, as any replica has them: one that lags behind
    /// answers fewer. `most` is how many are wanted at most.
    pub(crate) async fn page(
        &self,
        stream: &str,
        subject: &str,
        from: u64,
        most: u64,
    ) -> Result<Vec<StoredMessage>, ServerError> {
        let request = json!({
            "seq": from.max(1),
            "next_by_subj": subject,
            "batch": most.clamp(1, PAGE.0),
            "max_bytes": PAGE.1,
        });
        let asked = || self.direct(stream, &request, self.attempt());
        Ok(self.insist(asked).await?.messages)
    }

    /// The last messages of subjects, as any replica has them, of some 4 MiB at most; fewer where that
    /// is not all. Is asked once.
    pub(crate) async fn lasts(
        &self,
        stream: &str,
        subjects: &[&str],
    ) -> Result<MessagePage, ServerError> {
        let request = json!({ "multi_last": subjects, "max_bytes": PAGE.1 });
        let page = self.direct(stream, &request, self.patience / TOGETHER).await?;
        match page.end {
            None if page.whole => Err(ServerError::Unexpected(String::from(
                "last messages without Nats-UpTo-Sequence",
            ))),
            _ => Ok(page),
        }
    }

    /// The sequence of the last message of a stream, as its leader has it.
    pub(crate) async fn end(&self, stream: &str) -> Result<u64, ServerError> {
        let told: StreamInfoReply = self.call(&format!("STREAM.INFO.{stream}"), &()).await?;
        Ok(told.state.last_seq)
    }

    /// Asks any replica for messages, once. The next one may take `idle`.
    async fn direct(
        &self,
        stream: &str,
        request: &Value,
        idle: Duration,
    ) -> Result<MessagePage, ServerError> {
        let inbox = self.client.new_inbox();
        let away = |what: &dyn std::fmt::Display| ServerError::Unavailable(what.to_string());
        let until = Instant::now() + self.attempt();
        let asking = async {
            let answers = self.client.subscribe(inbox.clone()).await;
            let answers = answers.map_err(|error| away(&error))?;
            let payload = serde_json::to_vec(request).map_err(|error| away(&error))?;
            let request = Request::new().inbox(inbox).payload(payload.into());
            let sent = self.js.send_request(format!("DIRECT.GET.{stream}"), request).await;
            sent.map_err(|error| away(&error))?;
            Ok(answers)
        };
        let late = |_| ServerError::Unavailable(String::from("reading took too long"));
        let mut answers = timeout_at(until, asking).await.map_err(late)??;
        let mut messages = Vec::new();
        loop {
            let by = until.min(Instant::now() + idle);
            let answer = timeout_at(by, answers.next()).await.map_err(late)?;
            let answer = answer.ok_or_else(|| away(&"the connection closed"))?;
            let Some(status) = answer.status else {
                messages.push(direct(answer)?);
                continue;
            };
            return match status.as_u16() {
                // The end of the page; nothing found.
                code @ (204 | 404) => {
                    let headers = answer.headers.as_ref();
                    let end = headers.and_then(|headers| headers.get("Nats-UpTo-Sequence"));
                    Ok(MessagePage {
                        messages,
                        whole: code == 204,
                        end: end.and_then(|end| end.as_str().parse().ok()),
                    })
                }
                503 => Err(away(&"nobody answers for the stream")),
                code => Err(ServerError::Unexpected(format!(
                    "status {code} {}",
                    answer.description.unwrap_or_default()
                ))),
            };
        }
    }

    /// Takes a message away and overwrites it. One that is not there is no error.
    pub(crate) async fn erase_message(&self, stream: &str, seq: u64) -> Result<(), ServerError> {
        let subject = format!("STREAM.MSG.DELETE.{stream}");
        match self.call::<Value>(&subject, &json!({ "seq": seq })).await {
            Ok(_) | Err(ServerError::Refused(NO_MESSAGE | 10_043 | 10_057, _)) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Asks JetStream's interface, and again while nobody answers.
    pub(crate) async fn call<V: for<'de> Deserialize<'de>>(
        &self,
        subject: &str,
        request: &impl Serialize,
    ) -> Result<V, ServerError> {
        let payload = serde_json::to_vec(request);
        let payload: Bytes =
            payload.map_err(|error| ServerError::Unexpected(error.to_string()))?.into();
        let subject = format!("$JS.API.{subject}");
        let asked = || {
            let request = Request::new().payload(payload.clone());
            self.ask::<V>(subject.clone(), request)
        };
        self.insist(asked).await
    }

    /// Sends one request.
    async fn ask<V: for<'de> Deserialize<'de>>(
        &self,
        subject: String,
        request: Request,
    ) -> Result<V, ServerError> {
        let request = request.timeout(None);
        let asked = timeout(self.attempt(), self.client.send_request(subject, request));
        let answer = asked
            .await
            .map_err(|_| ServerError::Unavailable(String::from("no answer")))?
            .map_err(|error| match error.kind() {
                async_nats::RequestErrorKind::MaxPayloadExceeded
                | async_nats::RequestErrorKind::InvalidSubject => {
                    ServerError::Unexpected(error.to_string())
                }
                async_nats::RequestErrorKind::TimedOut
                | async_nats::RequestErrorKind::NoResponders
                | async_nats::RequestErrorKind::Other => {
                    ServerError::Unavailable(error.to_string())
                }
            })?;
        match serde_json::from_slice::<Response<V>>(&answer.payload) {
            Ok(Response::Ok(value)) => Ok(value),
            Ok(Response::Err { error }) => {
                Err(ServerError::of(error.error_code().0, error.to_string()))
            }
            Err(error) => Err(ServerError::Unexpected(error.to_string())),
        }
    }

    /// Asks again while the trouble passes, until the patience is over.
    async fn insist<V, F>(&self, mut ask: impl FnMut() -> F) -> Result<V, ServerError>
    where
        F: Future<Output = Result<V, ServerError>>,
    {
        let until = Instant::now() + self.patience;
        let (mut pause, most) = PAUSE;
        loop {
            match ask().await {
                Err(trouble) if trouble.passes() && Instant::now() + pause < until => {
                    tracing::debug!(%trouble, "NATS is asked again");
                    sleep(pause).await;
                    pause = (pause * 2).min(most);
                }
                ended => return ended,
            }
        }
    }

    /// Returns the time-out of one attempt.
    fn attempt(&self) -> Duration {
        self.patience / 3
    }
}

/// Messages that a replica handed out.
#[derive(Debug)]
pub(crate) struct MessagePage {
    pub(crate) messages: Vec<StoredMessage>,
    /// True if the replica completed the answer, and not because of a missing message.
    whole: bool,
    /// Up to which message the replica had the stream, where it was asked for last messages and has
    /// handed out some.
    pub(crate) end: Option<u64>,
}

/// Answer to `STREAM.INFO`, as far as it is used.
#[derive(Debug, Deserialize)]
struct StreamInfoReply {
    state: StreamInfoState,
}

#[derive(Debug, Deserialize)]
struct StreamInfoState {
    last_seq: u64,
}

/// Answer to `STREAM.MSG.GET`, as far as it is used.
#[derive(Debug, Deserialize)]
struct GetMessageReply {
    message: RawMessage,
}

#[derive(Debug, Deserialize)]
struct RawMessage {
    seq: u64,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
    time: String,
}

impl RawMessage {
    fn stored(self) -> Result<StoredMessage, ServerError> {
        let strange = |what: &str| ServerError::Unexpected(format!("message {}: {what}", self.seq));
        let plain = |text: &str| STANDARD.decode(text);
        let body = plain(&self.data).map_err(|_| strange("its body is not base64"))?;
        let hdrs = plain(&self.hdrs).map_err(|_| strange("its headers are not base64"))?;
        let headers = headers(&hdrs).ok_or_else(|| strange("its headers cannot be read"))?;
        let at = async_nats::datetime::parse_rfc3339(&self.time);
        let at = at.map_err(|_| strange("its time cannot be read"))?;
        Ok(StoredMessage {
            seq: self.seq,
            subject: self.subject,
            headers,
            body: body.into(),
            at_ms: ms(at.unix_timestamp_nanos()),
        })
    }
}

pub(crate) fn ms(nanos: i128) -> u64 {
    u64::try_from(nanos / 1_000_000).unwrap_or(0)
}

/// A message that was got from a replica.
fn direct(message: async_nats::Message) -> Result<StoredMessage, ServerError> {
    let strange = |what: &str| ServerError::Unexpected(format!("a message without {what}"));
    let headers = message.headers.ok_or_else(|| strange("headers"))?;
    let own = |name: &str| headers.get(name).map(|value| value.as_str());
    let seq = own("Nats-Sequence").and_then(|seq| seq.parse().ok());
    let at = own("Nats-Time-Stamp").and_then(|at| async_nats::datetime::parse_rfc3339(at).ok());
    Ok(StoredMessage {
        seq: seq.ok_or_else(|| strange("a sequence"))?,
        subject: own("Nats-Subject").unwrap_or_default().to_owned(),
        at_ms: ms(at.ok_or_else(|| strange("a time"))?.unix_timestamp_nanos()),
        body: message.payload,
        headers,
    })
}

/// Reads headers as they stand on the wire: a line `NATS/1.0`, and one line each.
fn headers(bytes: &[u8]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.split("\r\n");
    match lines.next()? {
        "" if bytes.is_empty() => return Some(headers),
        "NATS/1.0" => {}
        _ => return None,
    }
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        headers.insert(name, value.trim());
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let read = headers(b"NATS/1.0\r\nWindlass: {\"a\": 1}\r\nOther:x\r\n\r\n").unwrap();
        assert_eq!(read.get("Windlass").unwrap().as_str(), "{\"a\": 1}");
        assert_eq!(read.get("Other").unwrap().as_str(), "x");
        assert!(headers(b"").unwrap().is_empty());
        assert!(headers(b"HTTP/1.1\r\n").is_none());
        assert!(headers(b"NATS/1.0\r\nno colon\r\n").is_none());
        assert!(headers(b"NATS/1.0\r\n\xff: 1\r\n").is_none());
    }
}
