//! The process's terminal: raw mode, inputs, bytes out. Everything it sets, it restores.
//!
//! After a signal that ends the process at once, nothing is restored: who handles the signal drops the
//! device first.

use std::io::{self, IsTerminal as _, PipeReader, PipeWriter, Write as _};
use std::os::fd::AsFd as _;
use std::sync::{Mutex, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::burst::Arrivals;
use crate::keys::Input;

/// Marked pastes, reports of the focus, and keys with their modifiers and places (kitty's protocol), each of
/// which terminals without it ignore.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[?1004h\x1b[>5u";
/// Ends a synchronized update, then what `ENTER` began, then styles; shows the cursor.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[<1u\x1b[?1004l\x1b[?2004l\x1b[0m\x1b[?25h";
/// Question for the background color.
const BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\";
/// Time after the signal within which the process stops.
const STOP: Duration = Duration::from_millis(10);
/// Most bytes of one read.
const READ: usize = 16 * 1024;

/// Modes to restore while the terminal is in raw mode for a device.
static COOKED: Mutex<Option<Termios>> = Mutex::new(None);

/// Bytes with the time of their arrival, none of them at the end of the input.
type Chunk = io::Result<(Vec<u8>, Instant)>;

/// The process's terminal in raw mode. One exists at a time.
pub struct Device {
    arrivals: Arrivals,
    chunks: UnboundedReceiver<Chunk>,
    sender: UnboundedSender<Chunk>,
    resizes: Signals,
    /// Absent while the device is paused.
    reader: Option<Reader>,
    /// True after the last input.
    ended: bool,
}

impl Device {
    /// Puts the terminal of standard input and output into raw mode. It runs within a runtime of tokio
    /// that has its drivers of time and I/O.
    ///
    /// A panic in any thread restores the terminal before its message; if the process goes on, the
    /// next call of `next` puts it into raw mode again.
    ///
    /// # Errors
    /// Standard input or output is no terminal, or it cannot be set.
    pub fn new() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                let _ = leave();
                hook(panic);
            }));
        });
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::other("standard input and output are not a terminal"));
        }
        let resizes = signal(SignalKind::window_change())?;
        let (sender, chunks) = unbounded_channel();
        let arrivals = Arrivals::default();
        let mut device = Self { arrivals, chunks, sender, resizes, reader: None, ended: false };
        device.resume()?;
        Ok(device)
    }

    /// Returns columns and rows.
    ///
    /// # Errors
    /// The terminal does not tell.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = tcgetwinsize(io::stdout())?;
        Ok(if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) })
    }

    /// Writes bytes and flushes them.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        put(bytes)
    }

    /// Waits for the next input, and returns nothing after the last one. No input is lost if the
    /// future is dropped. While the device is paused, the future does not resolve.
    ///
    /// # Errors
    /// The terminal cannot be read or set.
    pub async fn next(&mut self) -> io::Result<Option<Input>> {
        self.recover()?;
        loop {
            if let Some(input) = self.arrivals.next() {
                return Ok(Some(input));
            }
            if !self.arrive(None).await? {
                return Ok(None);
            }
        }
    }

    /// Asks for the background color, and waits so long for it. Returns the terminal's words, for
    /// example `rgb:1e1e/1e1e/2e2e`. A later answer is discarded, and other inputs stay for `next`.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub async fn background(&mut self, wait: Duration) -> io::Result<Option<String>> {
        if !understands_questions() {
            return Ok(None);
        }
        self.write(BACKGROUND)?;
        let until = Instant::now() + wait;
        loop {
            let answer = self.arrivals.background();
            if answer.is_some() || Instant::now() >= until || !self.arrive(Some(until)).await? {
                return Ok(answer);
            }
        }
    }

    /// Restores the terminal for another program, such as an editor or a pager.
    ///
    /// # Errors
    /// The terminal cannot be set.
    pub fn pause(&mut self) -> io::Result<()> {
        self.reader = None;
        leave()
    }

    /// Puts the terminal into raw mode again after `pause`. Its size may be another one.
    ///
    /// # Errors
    /// The terminal cannot be set.
    pub fn resume(&mut self) -> io::Result<()> {
        enter()?;
        if self.reader.is_none() {
            self.reader = Some(Reader::start(self.sender.clone())?);
        }
        Ok(())
    }

    /// Restores the terminal, stops the process group as Ctrl+Z does, and puts the terminal into raw
    /// mode once it continues.
    ///
    /// # Errors
    /// The terminal cannot be set, or the processes cannot be stopped.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.pause()?;
        let stopped = kill_current_process_group(Signal::TSTP);
        std::thread::sleep(STOP);
        self.resume()?;
        Ok(stopped?)
    }

    /// Waits for bytes, another size, or until what arrived is due. Returns false if no more arrives.
    async fn arrive(&mut self, until: Option<Instant>) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.reader.is_none() {
            return std::future::pending().await;
        }
        let due = [self.arrivals.due(), until].into_iter().flatten().min();
        let sleep = async {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            chunk = self.chunks.recv() => match chunk {
                Some(Ok((bytes, now))) if !bytes.is_empty() => self.arrivals.push(&bytes, now),
                Some(Ok(_)) | None => self.ended = true,
                Some(Err(error)) => {
                    self.ended = true;
                    return Err(error);
                }
            },
            _ = self.resizes.recv() => self.add_size()?,
            () = sleep => self.arrivals.settle(Instant::now()),
        }
        self.recover()?;
        Ok(true)
    }

    fn add_size(&mut self) -> io::Result<()> {
        let (columns, rows) = self.size()?;
        self.arrivals.add(Input::Resize { columns, rows });
        Ok(())
    }

    /// Enters raw mode again if a panic elsewhere ended it, and reports a size, so that all is drawn.
    fn recover(&mut self) -> io::Result<()> {
        if self.reader.is_none() || !enter()? {
            return Ok(());
        }
        self.add_size()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.pause();
    }
}

/// A thread that reads standard input. It stops without a read when this is dropped.
struct Reader {
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    fn start(sender: UnboundedSender<Chunk>) -> io::Result<Self> {
        let (stopped, stop) = io::pipe()?;
        let thread = std::thread::Builder::new().name("keys".into());
        let thread = thread.spawn(move || while send_chunk(&stopped, &sender) {})?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for bytes and sends them. Returns false at the end and when it is to stop.
fn send_chunk(stopped: &PipeReader, sender: &UnboundedSender<Chunk>) -> bool {
    match read_chunk(stopped) {
        Ok(None) => false,
        Ok(Some(bytes)) => {
            let more = !bytes.is_empty();
            sender.send(Ok((bytes, Instant::now()))).is_ok() && more
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
        Err(error) => {
            let _ = sender.send(Err(error));
            false
        }
    }
}

/// Reads what is there. Returns nothing when it is to stop.
fn read_chunk(stopped: &PipeReader) -> io::Result<Option<Vec<u8>>> {
    let input = io::stdin();
    let mut ends = [
        PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN),
    ];
    poll(&mut ends, None)?;
    if !ends[0].revents().is_empty() {
        return Ok(None);
    }
    let mut bytes = vec![0; READ];
    let read = rustix::io::read(input.as_fd(), &mut bytes)?;
    bytes.truncate(read);
    Ok(Some(bytes))
}

/// Returns false for terminals that show a question instead of answering it.
fn understands_questions() -> bool {
    std::env::var("TERM").is_ok_and(|name| !["dumb", "linux", ""].contains(&name.as_str()))
}

/// Enters raw mode. Returns false if the terminal is in it.
fn enter() -> io::Result<bool> {
    let mut cooked = COOKED.lock().unwrap_or_else(PoisonError::into_inner);
    if cooked.is_some() {
        return Ok(false);
    }
    let modes = tcgetattr(io::stdin())?;
    let mut raw = modes.clone();
    raw.make_raw();
    tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    *cooked = Some(modes);
    put(ENTER)?;
    Ok(true)
}

fn leave() -> io::Result<()> {
    let modes = COOKED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(modes) = modes else {
        return Ok(());
    };
    let written = put(LEAVE);
    tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
    written
}

fn put(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
