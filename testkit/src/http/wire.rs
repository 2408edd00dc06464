//! From a reply to what is written: the head, then steps in order. Pure.

use super::protocol::Protocol;
use super::reply::{Body, Cut, Edit, Framing, Reply};
use crate::gate::Gate;

/// What is to be done on the socket.
#[derive(Debug)]
pub(super) enum Op {
    /// Write these bytes.
    Write(Vec<u8>),
    /// Write a piece, framed, `count` bytes in all.
    Fill { fill: u8, count: u64 },
    /// Wait at a gate.
    Wait(Gate),
    /// Cut the connection; nothing follows.
    Cut(Cut),
}

/// The size of the pieces that a filler is written in.
pub(super) const FILL: usize = 16 * 1024;

/// What is written for a reply.
pub(super) fn plan(reply: &Reply, protocol: &dyn Protocol) -> Vec<Op> {
    let mut ops = Vec::new();
    ops.extend(reply.before_head.clone().map(Op::Wait));
    let pieces = pieces(reply, protocol);
    let (fill, count) = match reply.body {
        Body::Filled { fill, count, .. } => (fill, count),
        Body::Answer(_) | Body::Bytes(_) => (0, 0),
    };
    let known = pieces.iter().map(Vec::len).sum::<usize>() as u64;
    ops.push(Op::Write(head(reply, known.saturating_add(count))));
    if !laid(reply, &pieces, &mut ops) {
        return ops;
    }
    if count > 0 {
        ops.push(Op::Fill { fill, count });
    }
    match reply.framing {
        Framing::Chunked => ops.push(Op::Write(b"0\r\n\r\n".to_vec())),
        Framing::Length => {}
        Framing::Close => ops.push(Op::Cut(Cut::Fin)),
    }
    ops
}

/// Lays pieces out, with the pauses and the cut where they belong; answers whether all are written
/// then.
pub(super) fn laid(reply: &Reply, pieces: &[Vec<u8>], ops: &mut Vec<Op>) -> bool {
    let marks = marks(reply);
    let mut marks = marks.iter().peekable();
    let mut at = 0;
    for piece in pieces {
        let mut rest = piece.as_slice();
        while let Some((mark, event)) = marks.next_if(|(mark, _)| *mark <= at + rest.len()) {
            let (before, after) = rest.split_at(mark.saturating_sub(at));
            write(reply.framing, before, ops);
            at += before.len();
            rest = after;
            match event {
                Mark::Pause(gate) => ops.push(Op::Wait(gate.clone())),
                Mark::Cut(cut) => {
                    ops.push(Op::Cut(*cut));
                    return false;
                }
            }
        }
        write(reply.framing, rest, ops);
        at += rest.len();
    }
    // A mark beyond the bytes holds at their end.
    for (_, event) in marks {
        match event {
            Mark::Pause(gate) => ops.push(Op::Wait(gate.clone())),
            Mark::Cut(cut) => {
                ops.push(Op::Cut(*cut));
                return false;
            }
        }
    }
    true
}

/// A piece as the framing wants it.
pub(super) fn framed(framing: Framing, bytes: &[u8]) -> Vec<u8> {
    match framing {
        Framing::Length | Framing::Close => bytes.to_vec(),
        Framing::Chunked => {
            let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
            chunk.extend_from_slice(bytes);
            chunk.extend_from_slice(b"\r\n");
            chunk
        }
    }
}

fn write(framing: Framing, bytes: &[u8], ops: &mut Vec<Op>) {
    // An empty chunk would end the body.
    if !bytes.is_empty() {
        ops.push(Op::Write(framed(framing, bytes)));
    }
}

enum Mark {
    Pause(Gate),
    Cut(Cut),
}

/// Pauses and the cut by position; a pause comes before a cut at the same place.
fn marks(reply: &Reply) -> Vec<(usize, Mark)> {
    let pause = |(at, gate): &(usize, Gate)| (*at, Mark::Pause(gate.clone()));
    let mut marks: Vec<_> = reply.pauses.iter().map(pause).collect();
    marks.extend(reply.cut.map(|(at, cut)| (at, Mark::Cut(cut))));
    marks.sort_by_key(|(at, _)| *at);
    marks
}

fn pieces(reply: &Reply, protocol: &dyn Protocol) -> Vec<Vec<u8>> {
    let events = events(reply, protocol);
    match reply.split {
        None => events,
        Some(size) => events.concat().chunks(size).map(<[u8]>::to_vec).collect(),
    }
}

/// The events of a reply, as they are after its edits.
pub(super) fn events(reply: &Reply, protocol: &dyn Protocol) -> Vec<Vec<u8>> {
    let mut events = match &reply.body {
        Body::Answer(answer) => {
            protocol.events(answer).into_iter().map(String::into_bytes).collect()
        }
        Body::Bytes(bytes) if reply.edits.is_empty() => vec![bytes.clone()],
        Body::Bytes(bytes) => split_events(bytes),
        Body::Filled { before, .. } => vec![before.clone()],
    };
    for edit in &reply.edits {
        apply(edit, &mut events);
    }
    events
}

/// Applies an edit; one that names an event that is not there changes nothing.
fn apply(edit: &Edit, events: &mut Vec<Vec<u8>>) {
    match edit {
        Edit::Repeat(index) => {
            if let Some(event) = events.get(*index).cloned() {
                events.insert(*index, event);
            }
        }
        Edit::Omit(index) => {
            if *index < events.len() {
                events.remove(*index);
            }
        }
        Edit::OmitLast(count) => events.truncate(events.len().saturating_sub(*count)),
        Edit::Insert(index, event) => {
            events.insert((*index).min(events.len()), event.clone().into_bytes());
        }
    }
}

pub(super) fn split_events(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut events, mut rest) = (Vec::new(), bytes);
    while let Some(end) = rest.windows(2).position(|window| window == b"\n\n") {
        let (event, tail) = rest.split_at(end + 2);
        events.push(event.to_vec());
        rest = tail;
    }
    if !rest.is_empty() {
        events.push(rest.to_vec());
    }
    events
}

fn head(reply: &Reply, length: u64) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} {}\r\n", reply.status, reason(reply.status));
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&match reply.framing {
        Framing::Chunked => "transfer-encoding: chunked\r\n".to_owned(),
        Framing::Length => format!("content-length: {length}\r\n"),
        Framing::Close => "connection: close\r\n".to_owned(),
    });
    head.push_str("\r\n");
    head.into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Scripted",
    }
}
