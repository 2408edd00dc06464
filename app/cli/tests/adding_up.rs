//! Output adds up: whoever reads `run --json`, `attach --json` or a terminal has each character once
//! and in order, or is told that it lagged and then has the whole, however slowly it reads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::server::Server;
use common::terminal::TerminalProcess;
use common::{Place, count};
use serde_json::Value;
use windlass_testkit::http::{Dialect, Ended, ModelServer, Reply, Script};
use windlass_testkit::{Answer, Gate, HeardSum, within};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(120);
/// Pieces of each part of the answer: far more than are kept for whoever lags.
const PIECES: usize = 1_500;

fn text(name: &str) -> String {
    (0..PIECES).map(|number| format!("{name}{number:04} ")).collect()
}

fn answer() -> Answer {
    Answer::new().reasoning(text("th")).text(text("wo")).pieces_of(7)
}

fn flags(base_url: &str) -> [&str; 4] {
    ["--provider", "openai", "--base-url", base_url]
}

/// Adds up lines of envelopes; the last one is the turn's end.
fn sum(lines: impl Iterator<Item = String>) -> HeardSum {
    let (mut sum, mut last) = (HeardSum::default(), Value::Null);
    for line in lines {
        last = serde_json::from_str(&line).unwrap();
        sum.take(&last).unwrap();
    }
    assert_eq!(last["kind"], "TurnSettled");
    assert_eq!(sum.whole + sum.missed, 2, "{sum:?}");
    sum
}

fn out(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap)
}

#[test]
fn a_run_whose_lines_are_read_late_adds_up() {
    let place = Place::new();
    let model = ModelServer::start(Script::list([Reply::answer(answer())])).unwrap();
    let base_url = model.base_url();
    let words = [&["run", "--json", "hello"][..], &flags(&base_url)].concat();
    let mut child = place.command(&words).spawn().unwrap();
    let mut lines = out(&mut child);
    let mut before: Vec<String> = Vec::new();
    while !before.last().is_some_and(|line| line.contains("ReasoningDelta")) {
        before.push(lines.next().unwrap());
    }
    // Nothing more is read until the turn has ended: by then the command has received all.
    assert_eq!(within(SOON, model.ended(0)), Some(Ended::Whole));
    let opened: Value = serde_json::from_str(&before[0]).unwrap();
    let session = opened["session"].as_str().unwrap();
    let end = Instant::now() + SOON;
    while count(&place.log(session), "TurnSettled") == 0 {
        assert!(Instant::now() < end, "the turn does not end while nobody reads");
    }
    let heard = sum(before.into_iter().chain(lines));
    assert!(heard.lags > 0, "{heard:?}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_run_whose_lines_are_read_at_once_adds_up() {
    let place = Place::new();
    let model = ModelServer::start(Script::list([Reply::answer(answer())])).unwrap();
    let base_url = model.base_url();
    let words = [&["run", "--json", "hello"][..], &flags(&base_url)].concat();
    let mut child = place.command(&words).spawn().unwrap();
    sum(out(&mut child));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_terminal_that_is_read_late_shows_the_answer_once() {
    let place = Place::new();
    let model = ModelServer::start(Script::list([Reply::answer(answer())])).unwrap();
    let base_url = model.base_url();
    let words = [&["run", "hello"][..], &flags(&base_url)].concat();
    let terminal = TerminalProcess::on_screen(&place, &words);
    assert_eq!(within(SOON, model.ended(0)), Some(Ended::Whole));
    assert_eq!(terminal.screen_to_end(), format!("{}\r\n", text("wo")));
}

/// A way to a server that breaks after a number of live events, and again after another.
struct Way {
    at: SocketAddr,
    /// Each break.
    broken: Receiver<()>,
    /// Lets the next connection through after a break.
    mended: Sender<()>,
}

/// How many live events pass before each break, the next one last; and whether it is broken.
type Breaks = Mutex<(Vec<usize>, bool)>;

impl Way {
    fn to(server: SocketAddr, breaks: &[usize]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let (tell, broken) = channel();
        let (mended, wait) = channel();
        let breaks = Arc::new(Mutex::new((breaks.iter().rev().copied().collect(), false)));
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let is_broken = std::mem::take(&mut breaks.lock().unwrap().1);
                if is_broken && wait.recv().is_err() {
                    return;
                }
                let server = TcpStream::connect(server).unwrap();
                let mut asks = client.try_clone().unwrap();
                let mut asked = server.try_clone().unwrap();
                thread::spawn(move || ask(&mut asks, &mut asked, at));
                let (breaks, tell) = (breaks.clone(), tell.clone());
                thread::spawn(move || carry(server, client, &breaks, &tell));
            }
        });
        Self { at, broken, mended }
    }
}

/// Carries what a client asks, with the server's own address as the host.
fn ask(from: &mut TcpStream, to: &mut TcpStream, way: SocketAddr) {
    let (way, server) = (way.to_string(), to.peer_addr().unwrap().to_string());
    let mut bytes = [0; 8_192];
    loop {
        let read = from.read(&mut bytes).unwrap_or(0);
        let asked = String::from_utf8_lossy(&bytes[..read]).replace(&way, &server);
        if read == 0 || to.write_all(asked.as_bytes()).is_err() {
            return;
        }
    }
}

/// Carries what a server sends until it breaks off.
fn carry(mut from: TcpStream, mut to: TcpStream, breaks: &Breaks, tell: &Sender<()>) {
    let (mut seen, mut bytes) = (Vec::new(), [0; 512]);
    loop {
        let read = from.read(&mut bytes).unwrap_or(0);
        seen.extend_from_slice(&bytes[..read]);
        let live = seen.windows(12).filter(|word| word == b"event: live\n").count();
        let mut breaks = breaks.lock().unwrap();
        let is_due = breaks.0.last().is_some_and(|most| live > *most);
        if is_due {
            breaks.0.pop();
            breaks.1 = true;
            tell.send(()).unwrap();
        }
        drop(breaks);
        if read == 0 || is_due || to.write_all(&bytes[..read]).is_err() {
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            return;
        }
    }
}

#[test]
fn what_an_attached_reader_misses_is_said_before_the_whole() {
    // The model stops in the middle of its first part, and in the middle of its second one.
    let (first, second) = (Gate::new(), Gate::new());
    let events = Dialect::Responses.events(&answer());
    let before = |at: usize| events[..at].iter().map(String::len).sum();
    let reply = Reply::answer(answer())
        .pause_after(before(200), &first)
        .pause_after(before(PIECES + 400), &second);
    let model = ModelServer::start(Script::list([reply])).unwrap();
    let (place, base_url) = (Place::new(), model.base_url());
    let server =
        Server::start(&place, &[&["--token-file", "token"][..], &flags(&base_url)].concat());
    let session = server.session();
    // It breaks in the first part, which is over when it is mended, and in the second one.
    let way = Way::to(server.at(), &[60, 0]);
    let url = format!("http://{}", way.at);
    let words = ["attach", &session, "--server", &url, "--token-file", "token"];
    let words = [&words[..], &["--after", "0", "--once", "--json"]].concat();
    let mut child = place.command(&words).spawn().unwrap();
    let mut lines = out(&mut child);
    // The session's first fact: it follows.
    let opened = lines.next().unwrap();
    server.send(&session, "hello");
    way.broken.recv_timeout(SOON).unwrap();
    first.open();
    within(SOON, second.reached()).unwrap();
    way.mended.send(()).unwrap();
    way.broken.recv_timeout(SOON).unwrap();
    way.mended.send(()).unwrap();
    second.open();
    let heard = sum(std::iter::once(opened).chain(lines));
    assert!(heard.lags > 0, "{heard:?}");
    assert!(child.wait().unwrap().success());
    server.stop("TERM");
}
