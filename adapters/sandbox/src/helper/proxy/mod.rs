//! The proxy of a command that reaches some hosts: it takes connections in the command's network, and makes
//! them in this process's, to the allowed hosts.
//!
//! It decides by the name that the request states, and does not look into what is sent then: a host that
//! serves several names serves all of them.

mod head;
mod hosts;

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::head::Target;
use self::hosts::Refusal;
use super::{Step, confine, handing};
use crate::plan::{HelperNetwork, HelperPlan, ProxyPlan};

/// Most connections at a time.
const CONNECTIONS: usize = 128;
/// Largest head of a request, in bytes.
const HEAD: usize = 32 * 1024;
/// Longest time until a head is whole.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// Longest time until a connection to a host is made.
const CONNECT_TIME: Duration = Duration::from_secs(20);
/// Longest time in which neither side sends anything.
const IDLE_TIME: Duration = Duration::from_secs(600);
/// Time between looks at the clock.
const LOOK: Duration = Duration::from_secs(5);
/// Pause between tries.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of stack of a thread.
const STACK: usize = 256 * 1024;

/// Serves the connections of the command, until the supervisor ends.
pub(super) fn run(plan: HelperPlan) -> Step<u8> {
    confine::die_with_the_supervisor(plan.watched)?;
    let HelperNetwork::Proxy(hosts) = plan.network else {
        return Err(String::from("the plan names no hosts"));
    };
    let Some(listener) = handing::take(&handing::inherited(hosts.channel)?)? else {
        return Ok(0);
    };
    let (hosts, open) = (Arc::new(hosts), Arc::new(AtomicUsize::new(0)));
    loop {
        match listener.accept() {
            Ok((client, _)) => {
                // Others wait until one of them ends.
                while open.load(Ordering::Acquire) >= CONNECTIONS {
                    thread::sleep(PAUSE);
                }
                start(client, &hosts, &open);
            }
            // The client has gone, or too many files are open.
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Serves a connection in a thread. One that cannot be started closes it.
fn start(client: TcpStream, hosts: &Arc<ProxyPlan>, open: &Arc<AtomicUsize>) {
    let place = Place::take(open);
    let hosts = Arc::clone(hosts);
    let serve = move || {
        let _place = place;
        // The client may have gone before its answer.
        let _ = serve(&client, &hosts);
    };
    let _ = thread::Builder::new().stack_size(STACK).spawn(serve);
}

/// One of the connections at a time.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(open))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn serve(mut client: &TcpStream, plan: &ProxyPlan) -> io::Result<()> {
    let Some((head, rest)) = read_head(client)? else {
        return answer(client, "431 Request Header Fields Too Large", "got too large a head");
    };
    let Some(Target { host, port, head }) = head::read(&head) else {
        let words = "takes CONNECT, and requests for http:// in absolute form";
        return answer(client, "400 Bad Request", words);
    };
    let addresses = match plan.addresses(&host, port) {
        Ok(addresses) => addresses,
        Err(refusal) => {
            let status = match refusal {
                Refusal::NotListed | Refusal::Inside(_) => "403 Forbidden",
                Refusal::Unknown(_) => "502 Bad Gateway",
            };
            return answer(client, status, &format!("refuses {host}: it {refusal}"));
        }
    };
    let server = match connect(&addresses) {
        Ok(server) => server,
        Err(error) => {
            let words = format!("cannot connect to {host}, port {port}: {error}");
            return answer(client, "502 Bad Gateway", &words);
        }
    };
    match head {
        Some(head) => (&server).write_all(&head)?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
    }
    (&server).write_all(&rest)?;
    relay(client, &server)
}

/// Reads a head, and what follows it already; `None` if it is too large.
fn read_head(mut client: &TcpStream) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let end = Instant::now() + HEAD_TIME;
    let (mut read, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        let length = client.read(&mut piece)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read.extend_from_slice(piece.get(..length).unwrap_or_default());
        if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(at + 4);
            return Ok((read.len() <= HEAD).then_some((read, rest)));
        }
        if read.len() > HEAD {
            return Ok(None);
        }
    }
}

/// Connects to the first address that answers.
fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match TcpStream::connect_timeout(address, CONNECT_TIME) {
            Ok(server) => return Ok(server),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Answers with a sentence about the sandbox, and closes.
fn answer(mut client: &TcpStream, status: &str, words: &str) -> io::Result<()> {
    let body = format!("the proxy of the sandbox {words}\n");
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    client.write_all(text.as_bytes())?;
    client.shutdown(Shutdown::Write)?;
    // Closing with unread bytes would discard the answer.
    client.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut rest = client.take(64 * 1024);
    io::copy(&mut rest, &mut io::sink()).map(drop)
}

/// Copies both ways, until both sides have ended or nothing moves for long.
fn relay(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    for side in [client, server] {
        side.set_read_timeout(Some(LOOK))?;
        side.set_write_timeout(Some(IDLE_TIME))?;
    }
    let moved = Mutex::new(Instant::now());
    thread::scope(|scope| {
        let back = thread::Builder::new().stack_size(STACK);
        back.spawn_scoped(scope, || copy(server, client, &moved))?;
        copy(client, server, &moved);
        Ok(())
    })
}

fn copy(mut from: &TcpStream, mut to: &TcpStream, moved: &Mutex<Instant>) {
    let last = || moved.lock().unwrap_or_else(PoisonError::into_inner);
    let mut piece = [0; 16 * 1024];
    loop {
        let length = match from.read(&mut piece) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
                    && last().elapsed() < IDLE_TIME =>
            {
                continue;
            }
            Err(_) => break,
        };
        if length == 0 {
            // The other way may go on.
            let _ = to.shutdown(Shutdown::Write);
            return;
        }
        if to.write_all(piece.get(..length).unwrap_or_default()).is_err() {
            break;
        }
        *last() = Instant::now();
    }
    for side in [from, to] {
        let _ = side.shutdown(Shutdown::Both);
    }
}
