//! One connection: reads requests and carries replies out, and notices when the client goes.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::Shared;
use super::dialect::Dialect;
use super::reply::{Cut, Framing, Reply};
use super::request::{Ended, Parsed, Request, parse};
use super::socket;
use super::wire::{FILL, Op, framed, plan};
use crate::ledger::Ledger;

/// Bytes that a client may send ahead while a reply is under way.
const AHEAD: usize = 1024 * 1024;

/// Serves a connection until either side closes it.
pub(super) async fn serve(mut stream: TcpStream, number: u64, shared: Arc<Shared>) {
    // Pieces are to reach the client as they are written. If that cannot be set they still do,
    // only later.
    drop(stream.set_nodelay(true));
    let mut carry = Vec::new();
    while let Some((index, request)) = read(&mut stream, &mut carry, number, &shared).await {
        if request.is_handshake() && shared.script.handshake(index).is_none() {
            shared.handshakes.update(index, finish(Ended::Whole));
            return socket::serve(&mut stream, &mut carry, &request, &shared).await;
        }
        let refused = request.is_handshake().then(|| shared.script.handshake(index));
        let reply = refused.flatten().map_or_else(|| shared.script.reply(&request), Ok);
        let reply = reply.unwrap_or_else(|miss| {
            shared.misses.push(miss.clone());
            let status = if request.protocol().is_some() { 400 } else { 404 };
            Reply::error(status, "script_miss", &miss)
        });
        let protocol = request.protocol().unwrap_or(&Dialect::Chat);
        let (reader, writer) = stream.split();
        let ledger = match request.is_handshake() {
            true => &shared.handshakes,
            false => &shared.requests,
        };
        let mut out = Out { reader, writer, carry: &mut carry, ledger, index };
        let carried = out.carry_out(plan(&reply, protocol), reply.framing).await;
        let carried = carried.unwrap_or(Carried::HungUp);
        if let Carried::Cut(cut) = carried {
            // The cut comes before its record, so that who waits for the record finds it done.
            close(&mut stream, cut).await;
        }
        ledger.update(index, finish(carried.ended(&reply)));
        let close = request.header("connection").is_some_and(|v| v.eq_ignore_ascii_case("close"));
        match carried {
            Carried::Whole if close => return self::close(&mut stream, Cut::Fin).await,
            Carried::Whole => {}
            Carried::Cut(Cut::Rst) => {
                // Dropping the socket now is what sends the reset.
                return;
            }
            Carried::Cut(Cut::Fin) | Carried::HungUp => return,
        }
    }
}

/// Records how the reply to a request has ended.
pub(super) fn finish(ended: Ended) -> impl FnOnce(&mut Request) {
    move |request| {
        request.ended = Some(ended);
        request.ended_at = Some(Instant::now());
    }
}

/// Closes, or prepares for the reset that dropping the socket then sends. A socket that is closed
/// already is as it should be.
pub(super) async fn close(stream: &mut TcpStream, cut: Cut) {
    match cut {
        Cut::Fin => drop(stream.shutdown().await),
        Cut::Rst => drop(stream.set_zero_linger()),
    }
}

/// Reads the next request and records it; `None` when the client is gone or sends something else.
async fn read(
    stream: &mut TcpStream,
    carry: &mut Vec<u8>,
    connection: u64,
    shared: &Shared,
) -> Option<(usize, Request)> {
    let mut told = false;
    loop {
        match parse(carry) {
            Parsed::Whole(mut request, taken) => {
                carry.drain(..taken);
                request.connection = connection;
                return Some(record(*request, shared));
            }
            Parsed::Partial { expects } => {
                if expects && !told {
                    told = true;
                    stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?;
                }
            }
            Parsed::Bad(why) => {
                shared.misses.push(why);
                drop(
                    stream
                        .write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
                        .await,
                );
                return None;
            }
        }
        if stream.read_buf(carry).await.ok()? == 0 {
            return None;
        }
    }
}

/// Records a request under the number of its place.
pub(super) fn record(mut request: Request, shared: &Shared) -> (usize, Request) {
    request.protocol = shared.script.protocol(&request);
    let ledger = match request.is_handshake() {
        true => &shared.handshakes,
        false => &shared.requests,
    };
    let index = ledger.push_with(|number| {
        request.number = number;
        request.clone()
    });
    request.number = index;
    (index, request)
}

pub(super) enum Carried {
    Whole,
    Cut(Cut),
    HungUp,
}

impl Carried {
    /// The same as it is recorded.
    pub(super) fn ended(&self, reply: &Reply) -> Ended {
        match self {
            Self::Whole => Ended::Whole,
            Self::Cut(Cut::Fin) if reply.cut.is_none() => Ended::Whole,
            Self::Cut(_) => Ended::Cut,
            Self::HungUp => Ended::HungUp,
        }
    }
}

pub(super) struct Out<'a> {
    pub(super) reader: ReadHalf<'a>,
    pub(super) writer: WriteHalf<'a>,
    pub(super) carry: &'a mut Vec<u8>,
    pub(super) ledger: &'a Ledger<Request>,
    pub(super) index: usize,
}

impl Out<'_> {
    /// Does what the plan says. An error means that the client is gone.
    pub(super) async fn carry_out(
        &mut self,
        ops: Vec<Op>,
        framing: Framing,
    ) -> io::Result<Carried> {
        for op in ops {
            match op {
                Op::Write(bytes) => self.write(&bytes).await?,
                Op::Fill { fill, count } => self.fill(framing, fill, count).await?,
                Op::Wait(gate) => {
                    let wait = async {
                        gate.pass().await;
                        Ok(())
                    };
                    while_there(&mut self.reader, self.carry, wait).await?;
                }
                Op::Cut(cut) => return Ok(Carried::Cut(cut)),
            }
        }
        Ok(Carried::Whole)
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        while_there(&mut self.reader, self.carry, self.writer.write_all(bytes)).await?;
        let sent = bytes.len() as u64;
        self.ledger.update(self.index, |request| request.sent += sent);
        Ok(())
    }

    async fn fill(&mut self, framing: Framing, fill: u8, count: u64) -> io::Result<()> {
        let piece = framed(framing, &[fill; FILL]);
        let mut left = count;
        while left >= FILL as u64 {
            self.write(&piece).await?;
            left -= FILL as u64;
        }
        if left > 0 {
            let tail = vec![fill; usize::try_from(left).unwrap_or(FILL)];
            self.write(&framed(framing, &tail)).await?;
        }
        Ok(())
    }
}

/// Works while the client is there: its end of the stream, or a reset, ends the work. What it
/// sends ahead is kept.
async fn while_there<T>(
    reader: &mut ReadHalf<'_>,
    carry: &mut Vec<u8>,
    work: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            read = reader.read_buf(carry) => {
                if read? == 0 || carry.len() > AHEAD {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
            }
        }
    }
}
