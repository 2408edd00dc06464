//! HTTP/1.1 and server-sent events, as little of them as an answer of a model takes: a head, then
//! the bytes of a body, and the data of its events.

use std::io;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::fault::Fault;

/// The head of a response.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy)]
enum Framing {
    Chunked,
    Length(u64),
    Close,
}

/// The body of a response, as it comes.
pub(crate) struct Body {
    pub(crate) socket: TcpStream,
    fault: Fault,
    raw: Vec<u8>,
    framing: Framing,
    /// Bytes of the chunk under way that are still to come.
    chunk: usize,
    /// Bytes of the body that were given out.
    pub(crate) taken: u64,
}

/// What one read of a body brought.
pub(crate) enum Read {
    Bytes(Vec<u8>),
    End,
    Broken,
}

/// Reads the head of a response.
pub(crate) async fn head(mut socket: TcpStream, fault: Fault) -> io::Result<(Head, Body)> {
    let mut raw = Vec::new();
    let end = loop {
        if let Some(end) = raw.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if raw.len() > 64 * 1024 || socket.read_buf(&mut raw).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let rest = raw.split_off(end + 4);
    let text = String::from_utf8_lossy(&raw).into_owned();
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let head = Head {
        status: status.and_then(|code| code.parse().ok()).unwrap_or(0),
        headers: lines.filter_map(header).collect(),
    };
    let framing = if head.header("transfer-encoding").is_some() {
        Framing::Chunked
    } else {
        match head.header("content-length").and_then(|text| text.parse().ok()) {
            Some(_) if fault == Fault::PassesOverTheLength => Framing::Close,
            Some(length) => Framing::Length(length),
            None => Framing::Close,
        }
    };
    let body = Body { socket, fault, raw: rest, framing, chunk: 0, taken: 0 };
    Ok((head, body))
}

impl Body {
    /// Waits for more of the body. May be dropped: what has come stays.
    pub(crate) async fn read(&mut self) -> Read {
        loop {
            if let Some(read) = self.ready() {
                return read;
            }
            let mut held = Vec::new();
            if self.fault == Fault::LosesWhatADroppedWaitHadRead {
                held.append(&mut self.raw);
            }
            let read = self.socket.read_buf(&mut self.raw).await;
            held.append(&mut self.raw);
            self.raw = held;
            match read {
                Ok(0) => return self.closed(),
                Ok(_) => {}
                Err(_) if self.fault == Fault::TakesAResetForTheEnd => return Read::End,
                Err(_) => return Read::Broken,
            }
        }
    }

    /// What of the body is there already.
    fn ready(&mut self) -> Option<Read> {
        let size = match self.framing {
            Framing::Close => self.raw.len(),
            Framing::Length(length) if self.taken == length => return Some(Read::End),
            Framing::Length(length) => {
                let left = usize::try_from(length - self.taken).unwrap_or(usize::MAX);
                self.raw.len().min(left)
            }
            Framing::Chunked => {
                if self.chunk == 0 {
                    let start = usize::from(self.taken > 0) * 2;
                    let line = self.raw.get(start..)?;
                    let end = line.windows(2).position(|two| two == b"\r\n")?;
                    let digits = String::from_utf8_lossy(line.get(..end)?).into_owned();
                    let size = usize::from_str_radix(&digits, 16).unwrap_or(0);
                    if size == 0 {
                        return Some(Read::End);
                    }
                    self.raw.drain(..start + end + 2);
                    self.chunk = size;
                }
                self.raw.len().min(self.chunk)
            }
        };
        if size == 0 {
            return None;
        }
        self.chunk = self.chunk.saturating_sub(size);
        self.taken += size as u64;
        let rest = self.raw.split_off(size);
        Some(Read::Bytes(std::mem::replace(&mut self.raw, rest)))
    }

    fn closed(&self) -> Read {
        match self.framing {
            Framing::Close => Read::End,
            Framing::Chunked | Framing::Length(_)
                if self.fault == Fault::TakesACutBodyForTheEnd =>
            {
                Read::End
            }
            Framing::Chunked | Framing::Length(_) => Read::Broken,
        }
    }
}

/// A stream is larger than it may be.
#[derive(Debug)]
pub(crate) struct TooLarge;

/// Cuts a body into the data of its events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    begun: bool,
    after_cr: bool,
    /// Bytes of what has ended: events, and lines that belong to none.
    total: usize,
}

impl Events {
    /// Takes bytes; gives out the data of the events that they end.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        most: usize,
        fault: Fault,
    ) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut events = Vec::new();
        let crlf = fault != Fault::KnowsOnlyLineFeeds;
        let ends = |byte: &u8| *byte == b'\n' || (crlf && *byte == b'\r');
        let mut rest = bytes;
        while !rest.is_empty() {
            let (text, after) = rest.split_at(rest.iter().position(ends).unwrap_or(rest.len()));
            if !text.is_empty() {
                self.after_cr = false;
                self.line.extend_from_slice(text);
            }
            self.bounded(most, fault)?;
            let Some((end, after)) = after.split_first() else {
                break;
            };
            let second = std::mem::replace(&mut self.after_cr, *end == b'\r');
            if !(second && *end == b'\n') {
                self.ended(&mut events);
                self.bounded(most, fault)?;
            }
            rest = after;
        }
        Ok(events)
    }

    fn bounded(&self, most: usize, fault: Fault) -> Result<(), TooLarge> {
        let large = self.line.len() > most && fault != Fault::TakesAnyLine
            || self.data.len() > most && fault != Fault::TakesAnyEvent
            || self.total > most && fault != Fault::TakesAnyAnswer;
        if large { Err(TooLarge) } else { Ok(()) }
    }

    fn ended(&mut self, events: &mut Vec<Vec<u8>>) {
        let line = std::mem::take(&mut self.line);
        let mark = if self.begun { None } else { line.strip_prefix(b"\xef\xbb\xbf") };
        self.begun = true;
        let line = mark.unwrap_or(&line);
        if line.is_empty() {
            self.total += self.data.len() + 1;
            if !self.data.is_empty() {
                events.push(std::mem::take(&mut self.data));
            }
        } else if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        } else {
            self.total += line.len() + 1;
        }
    }
}
