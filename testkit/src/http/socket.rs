//! A WebSocket connection: the handshake, then messages that ask, each answered by the script.
//!
//! It keeps what a server of Responses over WebSocket keeps: one answer is under way at a time, and
//! of the conversation it knows what the last response of this connection ended with, and nothing
//! else. Frames are tungstenite's; they are written here so that a test decides every byte. Before
//! each answer it pings and waits for the pong.

use std::io::{self, Cursor};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

use super::Shared;
use super::connection::{Carried, Out, close, finish, record};
use super::dialect::Dialect;
use super::reply::{Body, Framing, Reply};
use super::request::{Ended, Request};
use super::wire::{Op, events, laid, split_events};

/// The largest message that is read.
const MOST: u64 = 64 * 1024 * 1024;

/// What a client's bytes come to.
enum Came {
    Text(Vec<u8>),
    Pong,
    Gone,
}

/// Serves a connection whose handshake has been read, until either side closes it.
pub(super) async fn serve(
    stream: &mut TcpStream,
    carry: &mut Vec<u8>,
    opening: &Request,
    shared: &Shared,
) {
    let key = opening.header("sec-websocket-key").unwrap_or_default();
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {}\r\n\r\n",
        derive_accept_key(key.as_bytes())
    );
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let mut known = None;
    loop {
        let text = match came(stream, carry).await {
            Ok(Came::Text(text)) => text,
            // A pong that nobody asked for means nothing.
            Ok(Came::Pong) => continue,
            Ok(Came::Gone) => return,
            Err(error) => {
                shared.misses.push(format!("a WebSocket client: {error}"));
                return;
            }
        };
        let mut request = opening.clone();
        request.method = String::from(Request::MESSAGE);
        request.json = serde_json::from_slice(&text).ok();
        request.body = text;
        let (index, request) = record(request, shared);
        if pinged(stream, carry).await.is_err() {
            shared.requests.update(index, finish(Ended::HungUp));
            return;
        }
        let reply = answer(&request, known.as_deref(), shared);
        let number = request.number;
        let (ops, response) = plan(&reply, number);
        let (reader, writer) = stream.split();
        let mut out = Out { reader, writer, carry, ledger: &shared.requests, index };
        let carried = out.carry_out(ops, Framing::Length).await;
        let carried = carried.unwrap_or(Carried::HungUp);
        if let Carried::Cut(cut) = carried {
            close(stream, cut).await;
        }
        shared.requests.update(index, finish(carried.ended(&reply)));
        match carried {
            Carried::Whole => known = response,
            Carried::Cut(_) | Carried::HungUp => return,
        }
    }
}

/// What a message is answered with.
fn answer(request: &Request, known: Option<&str>, shared: &Shared) -> Reply {
    let json = request.json.as_ref();
    let text = |key: &str| json.and_then(|json| json.get(key)?.as_str());
    if text("type") != Some("response.create") {
        let miss = "a message over a WebSocket that is no response.create";
        shared.misses.push(miss.into());
        return Reply::error(400, "script_miss", miss);
    }
    let previous = text("previous_response_id");
    if previous.is_some() && previous != known {
        let words = format!("Previous response with id '{previous:?}' not found.");
        return Reply::error(400, "previous_response_not_found", &words);
    }
    shared.script.reply(request).unwrap_or_else(|miss| {
        shared.misses.push(miss.clone());
        Reply::error(400, "script_miss", &miss)
    })
}

/// What is written for a reply, and the response that a next message may go on from.
fn plan(reply: &Reply, number: usize) -> (Vec<Op>, Option<String>) {
    let mut reply = reply.clone();
    let mut response = None;
    if let Body::Answer(answer) = &reply.body {
        // Two responses of one server never have the same id.
        let id = match answer.response_id() {
            "resp_scripted" => format!("resp_scripted_{number}"),
            given => given.to_owned(),
        };
        reply.body = Body::Answer(Box::new(answer.as_ref().clone().id(id.as_str())));
        response = Some(id);
    }
    let mut ops: Vec<Op> = reply.before_head.clone().map(Op::Wait).into_iter().collect();
    if let Body::Filled { before, fill, count } = &reply.body {
        let length = (before.len() as u64).saturating_add(*count);
        let mut message = header(OpCode::Data(Data::Text), true, length.min(i64::MAX as u64));
        message.extend_from_slice(before);
        ops.push(Op::Write(message));
        ops.push(Op::Fill { fill: *fill, count: *count });
        return (ops, None);
    }
    let frames: Vec<Vec<u8>> =
        texts(&reply).iter().flat_map(|text| frames(text, reply.split)).collect();
    reply.framing = Framing::Length;
    laid(&reply, &frames, &mut ops);
    (ops, response)
}

/// The messages of a reply.
fn texts(reply: &Reply) -> Vec<Vec<u8>> {
    match &reply.body {
        Body::Bytes(bytes) if reply.status >= 400 => vec![refusal(reply, bytes)],
        Body::Bytes(bytes) if reply.edits.is_empty() => {
            split_events(bytes).iter().map(|event| data(event)).collect()
        }
        Body::Answer(_) | Body::Bytes(_) | Body::Filled { .. } => {
            events(reply, &Dialect::Responses).iter().map(|event| data(event)).collect()
        }
    }
}

/// The data of an event; what is no event is a message as it is.
fn data(event: &[u8]) -> Vec<u8> {
    let lines = event.split(|byte| *byte == b'\n');
    let data: Vec<&[u8]> = lines.filter_map(|line| line.strip_prefix(b"data: ")).collect();
    match data.is_empty() {
        true => event.to_vec(),
        false => data.join(&b'\n'),
    }
}

/// An error as it is told inside a WebSocket: with the status and the headers of a response.
fn refusal(reply: &Reply, body: &[u8]) -> Vec<u8> {
    let told: Option<Value> = serde_json::from_slice(body).ok();
    let error = told.and_then(|mut told| Some(told.get_mut("error")?.take()));
    let words = || json!({ "message": String::from_utf8_lossy(body) });
    let error = error.unwrap_or_else(words);
    let headers = reply.headers.iter().cloned();
    let headers: serde_json::Map<String, Value> =
        headers.map(|(name, value)| (name, Value::String(value))).collect();
    let frame = json!({
        "type": "error", "status": reply.status, "error": error, "headers": headers,
    });
    frame.to_string().into_bytes()
}

/// A message as one frame, or in frames of so many bytes.
fn frames(text: &[u8], split: Option<usize>) -> Vec<Vec<u8>> {
    let size = split.unwrap_or(usize::MAX).clamp(1, text.len().max(1));
    let pieces: Vec<&[u8]> = match text.is_empty() {
        true => vec![text],
        false => text.chunks(size).collect(),
    };
    let last = pieces.len() - 1;
    let frame = |(at, piece): (usize, &&[u8])| {
        let kind = if at == 0 { Data::Text } else { Data::Continue };
        let mut frame = header(OpCode::Data(kind), at == last, piece.len() as u64);
        frame.extend_from_slice(piece);
        frame
    };
    pieces.iter().enumerate().map(frame).collect()
}

fn header(opcode: OpCode, is_final: bool, length: u64) -> Vec<u8> {
    let header = FrameHeader { is_final, opcode, ..FrameHeader::default() };
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    drop(header.format(length, &mut bytes));
    bytes
}

/// Pings, and waits for the answer. A client does not send a message while it waits for another's
/// answer.
async fn pinged(stream: &mut TcpStream, carry: &mut Vec<u8>) -> io::Result<()> {
    stream.write_all(&header(OpCode::Control(Control::Ping), true, 0)).await?;
    match came(stream, carry).await? {
        Came::Pong => Ok(()),
        Came::Text(_) => Err(io::Error::other("a message in place of a pong")),
        Came::Gone => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// Reads until something whole has come. A client that closes is answered.
async fn came(stream: &mut TcpStream, carry: &mut Vec<u8>) -> io::Result<Came> {
    let mut text = Vec::new();
    loop {
        let Some((header, payload)) = frame(stream, carry).await? else {
            return Ok(Came::Gone);
        };
        match header.opcode {
            OpCode::Data(Data::Text | Data::Continue) => {
                text.extend_from_slice(&payload);
                if header.is_final {
                    return Ok(Came::Text(text));
                }
            }
            OpCode::Control(Control::Pong) => return Ok(Came::Pong),
            OpCode::Control(Control::Close) => {
                let closing = self::header(OpCode::Control(Control::Close), true, 0);
                drop(stream.write_all(&closing).await);
                return Ok(Came::Gone);
            }
            OpCode::Data(_) | OpCode::Control(_) => {
                return Err(io::Error::other(format!("an unexpected frame: {header:?}")));
            }
        }
    }
}

/// Reads one frame, and takes its mask off; `None` when the client is gone.
async fn frame(
    stream: &mut TcpStream,
    carry: &mut Vec<u8>,
) -> io::Result<Option<(FrameHeader, Vec<u8>)>> {
    loop {
        let mut cursor = Cursor::new(&*carry);
        let parsed = FrameHeader::parse(&mut cursor).map_err(io::Error::other)?;
        let begin = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
        if let Some((header, length)) = parsed {
            if length > MOST {
                return Err(io::Error::other(format!("a message of {length} bytes")));
            }
            let mask = header.mask.ok_or_else(|| io::Error::other("no mask"))?;
            let end = begin.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
            if let Some(masked) = carry.get(begin..end) {
                let bytes = masked.iter().zip(mask.iter().cycle());
                let payload = bytes.map(|(byte, mask)| byte ^ mask).collect();
                carry.drain(..end);
                return Ok(Some((header, payload)));
            }
        }
        if stream.read_buf(carry).await? == 0 {
            return Ok(None);
        }
    }
}
