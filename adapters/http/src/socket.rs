//! Sockets: the handshake goes through the same client as any request, with its certificates and
//! proxies; then a task of its own carries messages, so that pings are answered while nobody asks.

use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Client, Request, Response, StatusCode, Upgraded};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use windlass_ports::{
    Segments, WireError, WireErrorKind, WireOpenOutcome, WireRequest, WireSocket,
};

use crate::{CachedTarget, answered, failed, in_time, invalid, translated, unreachable};

/// Most received messages that wait to be read.
const AHEAD: usize = 64;

/// Most bytes of the messages that wait, unless a single one is larger.
const AHEAD_BYTES: u32 = 1024 * 1024;

/// Size of the read buffer, in bytes.
const READ_BYTES: usize = 16 * 1024;

/// Longest time for an orderly close.
const CLOSING: Duration = Duration::from_secs(1);

type SocketStream = WebSocketStream<Upgraded>;
type ReceivedMessage = Result<Option<Bytes>, WireError>;

/// Received message, with the buffer space that it holds until it is read.
type BufferedMessage = (ReceivedMessage, Option<OwnedSemaphorePermit>);

/// Asks for a socket.
pub(crate) async fn open(
    client: &Client,
    request: WireRequest,
    most_bytes: usize,
) -> Result<WireOpenOutcome, WireError> {
    let head_ms = request.head_ms;
    let (key, request) = handshake(request)?;
    let opening = async {
        let response = client.execute(request).await.map_err(unreachable)?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(WireOpenOutcome::Refused(answered(response)));
        }
        agreed(&response, &key)?;
        let upgraded = response.upgrade().await;
        let upgraded = upgraded.map_err(|error| failed(WireErrorKind::Unreachable, error))?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            // A message goes out at once.
            .write_buffer_size(0)
            .max_message_size(Some(most_bytes))
            .max_frame_size(Some(most_bytes));
        let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        Ok(WireOpenOutcome::Socket(Box::new(HttpSocket::over(stream))))
    };
    in_time(head_ms, opening).await
}

/// The request with the headers of the handshake, and its key (RFC 6455, section 4.1).
fn handshake(request: WireRequest) -> Result<(String, Request), WireError> {
    let mut sent = translated(&CachedTarget::of(&request)?, request)?;
    let key = generate_key();
    let value = HeaderValue::from_str(&key).map_err(|_| invalid("the handshake has no key"))?;
    let headers = sent.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(SEC_WEBSOCKET_KEY, value);
    Ok((key, sent))
}

/// Holds the other side to having understood the handshake, and agreed to nothing else.
fn agreed(response: &Response, key: &str) -> Result<(), WireError> {
    let headers: &HeaderMap = response.headers();
    let accepted = headers.get(SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
    if accepted != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(handshake_error("it switched protocols without the handshake's key"));
    }
    for unasked in [SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_PROTOCOL] {
        if headers.contains_key(&unasked) {
            return Err(handshake_error(&format!("it answered with {unasked}, unasked")));
        }
    }
    Ok(())
}

fn handshake_error(what: &str) -> WireError {
    let context = format!("the other side does not speak WebSocket: {what}");
    WireError::new(WireErrorKind::Unreachable, context)
}

/// A socket whose connection a task holds.
struct HttpSocket {
    orders: mpsc::Sender<SocketCommand>,
    arrived: mpsc::Receiver<BufferedMessage>,
    task: SocketTask,
}

/// The task of a connection; without the socket it ends, and closes the connection.
struct SocketTask(AbortHandle);

impl Drop for SocketTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Command to the task of a socket.
enum SocketCommand {
    Send(Utf8Bytes, oneshot::Sender<Result<(), WireError>>),
}

impl HttpSocket {
    fn over(stream: SocketStream) -> Self {
        let (orders, taken) = mpsc::channel(1);
        let (arriving, arrived) = mpsc::channel(AHEAD);
        let task = tokio::spawn(carry(stream, taken, arriving));
        Self { orders, arrived, task: SocketTask(task.abort_handle()) }
    }
}

#[async_trait]
impl WireSocket for HttpSocket {
    async fn send(&mut self, text: Segments) -> Result<(), WireError> {
        let text = Utf8Bytes::try_from(text.to_bytes())
            .map_err(|_| invalid("a message that is no UTF-8 cannot be sent as text"))?;
        let (done, sent) = oneshot::channel();
        let gone = || WireError::new(WireErrorKind::Broken, "the socket is closed");
        let order = SocketCommand::Send(text, done);
        self.orders.send(order).await.map_err(|_| gone())?;
        sent.await.map_err(|_| gone())?
    }

    fn poll_text(&mut self, cx: &mut Context<'_>) -> Poll<ReceivedMessage> {
        // Without a task nothing was said of an end.
        let gone = || Err(WireError::new(WireErrorKind::Broken, "the socket is closed"));
        let held = ready!(self.arrived.poll_recv(cx));
        Poll::Ready(held.map_or_else(gone, |(arrived, _)| arrived))
    }

    fn close(self: Box<Self>) {
        let Self { orders, arrived, task } = *self;
        // Without orders the task closes; what still comes is not waited for.
        drop((orders, arrived));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(CLOSING).await;
                drop(task);
            });
        }
    }
}

/// Carries messages until the socket is dropped, the other side closes, or something breaks.
async fn carry(
    mut stream: SocketStream,
    mut orders: mpsc::Receiver<SocketCommand>,
    arriving: mpsc::Sender<BufferedMessage>,
) {
    let room = Arc::new(Semaphore::new(AHEAD_BYTES as usize));
    loop {
        // Nothing is read for which there is no place: the other side has to wait then.
        let next = async {
            let place = arriving.reserve().await;
            (place, stream.next().await)
        };
        let (place, next) = tokio::select! {
            biased;
            order = orders.recv() => {
                let Some(SocketCommand::Send(text, done)) = order else { break };
                let sent = stream.send(Message::Text(text)).await.map_err(broken);
                let over = sent.is_err();
                // Who does not wait any more has given the message up.
                drop(done.send(sent));
                if over {
                    return;
                }
                continue;
            }
            next = next => next,
        };
        let Ok(place) = place else { break };
        match classify_message(next) {
            SocketRead::Text(text) => {
                let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
                let taken = room.clone().acquire_many_owned(bytes.min(AHEAD_BYTES));
                // Who is gone takes nothing, and gives all room back.
                let Ok(held) = taken.await else { break };
                place.send((Ok(Some(text)), Some(held)));
            }
            SocketRead::Nothing => {}
            SocketRead::End(end) => {
                place.send((end, None));
                // The answer to the other side's own closing goes out.
                drop(tokio::time::timeout(CLOSING, stream.close(None)).await);
                return;
            }
        }
    }
    let closing = async {
        let frame = CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::default() };
        if stream.close(Some(frame)).await.is_ok() {
            while let Some(Ok(_)) = stream.next().await {}
        }
    };
    drop(tokio::time::timeout(CLOSING, closing).await);
}

/// Result of a read.
enum SocketRead {
    Text(Bytes),
    Nothing,
    End(ReceivedMessage),
}

fn classify_message(next: Option<Result<Message, Error>>) -> SocketRead {
    match next {
        Some(Ok(Message::Text(text))) => SocketRead::Text(text.into()),
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => SocketRead::Nothing,
        Some(Ok(Message::Binary(_))) => {
            let context = "a message came that is no text";
            SocketRead::End(Err(WireError::new(WireErrorKind::Broken, context)))
        }
        Some(Ok(Message::Close(frame))) => SocketRead::End(closed(frame.map(|frame| frame.code))),
        Some(Err(error)) => SocketRead::End(Err(broken(error))),
        None => SocketRead::End(Ok(None)),
    }
}

/// The other side's closing. Its own words may hold anything, so only its code is told.
fn closed(code: Option<CloseCode>) -> ReceivedMessage {
    match code {
        None | Some(CloseCode::Normal | CloseCode::Away | CloseCode::Status) => Ok(None),
        Some(other) => {
            let code = u16::from(other);
            let context = format!("the other side closed the socket with the code {code}");
            Err(WireError::new(WireErrorKind::Broken, context))
        }
    }
}

fn broken(error: Error) -> WireError {
    let large = matches!(error, Error::Capacity(CapacityError::MessageTooLong { .. }));
    let kind = if large { WireErrorKind::TooLarge } else { WireErrorKind::Broken };
    WireError::new(kind, error.to_string()).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_in_good_order_is_an_end_and_any_other_an_error() {
        assert!(matches!(closed(None), Ok(None)));
        assert!(matches!(closed(Some(CloseCode::Normal)), Ok(None)));
        assert!(matches!(closed(Some(CloseCode::Away)), Ok(None)));
        let error = closed(Some(CloseCode::Policy)).unwrap_err();
        assert_eq!(error.kind, WireErrorKind::Broken);
        assert!(error.context.contains("1008"), "{error}");
    }

    #[test]
    fn a_handshake_asks_for_a_websocket_with_the_headers_of_its_request() {
        let mut headers = windlass_ports::WireHeaders::default();
        headers.push("authorization", "Bearer k", true);
        let request = WireRequest {
            method: "GET",
            url: "http://127.0.0.1:1/v1/responses".into(),
            headers,
            body: None,
            head_ms: 1,
        };
        let (key, sent) = handshake(request).unwrap();
        let header = |name| sent.headers().get(name).unwrap().to_str().unwrap();
        assert_eq!(header("authorization"), "Bearer k");
        assert_eq!(header("upgrade"), "websocket");
        assert_eq!(header("sec-websocket-key"), key);
    }
}
