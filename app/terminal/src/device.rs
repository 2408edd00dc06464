//! The process's terminal: raw mode, inputs, bytes out. Everything it sets, it restores.
//!
//! After a signal that ends the process at once, nothing is restored: who handles the signal drops the
//! device first.

use std::io::{self, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{Event, EventStream};
use crossterm::terminal;
use futures_util::StreamExt as _;
use rustix::process::{Signal, kill_current_process_group};

use crate::burst::Arrivals;
use crate::keys::{Input, convert};

/// Marked pastes, reports of the focus, and keys with all their modifiers (kitty's protocol), each of
/// which terminals without it ignore.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[?1004h\x1b[>1u";
/// Ends a synchronized update, then what `ENTER` began, then styles; shows the cursor.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[<1u\x1b[?1004l\x1b[?2004l\x1b[0m\x1b[?25h";
/// Question for the background color.
const BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\";
/// Time after the signal within which the process stops.
const STOP: Duration = Duration::from_millis(10);

/// True while the terminal is in raw mode for a device.
static RAW: AtomicBool = AtomicBool::new(false);

/// The process's terminal in raw mode. One exists at a time.
pub struct Device {
    arrivals: Arrivals,
    /// Absent while the device is paused.
    events: Option<EventStream>,
}

impl Device {
    /// Puts the terminal of standard input and output into raw mode.
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
        enter()?;
        Ok(Self { arrivals: Arrivals::default(), events: Some(EventStream::new()) })
    }

    /// Returns columns and rows.
    ///
    /// # Errors
    /// The terminal does not tell.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        terminal::size()
    }

    /// Writes bytes and flushes them.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        put(bytes)
    }

    /// Waits for the next input. No input is lost if the future is dropped. While the device is
    /// paused, the future never resolves.
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
        let now = Instant::now();
        self.arrivals.ask(now);
        loop {
            let answer = self.arrivals.answer();
            if answer.is_some() || now.elapsed() >= wait || !self.arrive(Some(now + wait)).await? {
                return Ok(answer);
            }
        }
    }

    /// Restores the terminal for another program, such as an editor or a pager.
    ///
    /// # Errors
    /// The terminal cannot be set.
    pub fn pause(&mut self) -> io::Result<()> {
        self.events = None;
        leave()
    }

    /// Puts the terminal into raw mode again after `pause`. Its size may be another one.
    ///
    /// # Errors
    /// The terminal cannot be set.
    pub fn resume(&mut self) -> io::Result<()> {
        enter()?;
        self.events.get_or_insert_with(EventStream::new);
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

    /// Waits for an event, or until keys that arrived are due. Returns false if no more can arrive.
    async fn arrive(&mut self, until: Option<Instant>) -> io::Result<bool> {
        let Some(events) = &mut self.events else {
            return std::future::pending().await;
        };
        let due = [self.arrivals.due(), until].into_iter().flatten().min();
        let event = match due {
            Some(due) => tokio::time::timeout_at(due.into(), events.next()).await.ok(),
            None => Some(events.next().await),
        };
        let now = Instant::now();
        match event {
            Some(Some(event)) => self.add(event?, now),
            Some(None) => {
                self.arrivals.settle(now);
                return Ok(self.arrivals.due().is_some());
            }
            None if self.arrivals.due().is_some_and(|due| due <= now) => self.arrivals.settle(now),
            None => {}
        }
        self.recover()?;
        Ok(true)
    }

    fn add(&mut self, event: Event, now: Instant) {
        if let Some(input) = convert(event) {
            self.arrivals.push(input, now);
        }
    }

    /// Enters raw mode again if a panic elsewhere ended it, and reports a size, so that all is drawn.
    fn recover(&mut self) -> io::Result<()> {
        if RAW.load(Ordering::SeqCst) || self.events.is_none() {
            return Ok(());
        }
        enter()?;
        let (columns, rows) = self.size()?;
        self.arrivals.push(Input::Resize { columns, rows }, Instant::now());
        Ok(())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.events = None;
        let _ = leave();
    }
}

/// Returns false for terminals that show a question instead of answering it.
fn understands_questions() -> bool {
    std::env::var("TERM").is_ok_and(|name| !["dumb", "linux", ""].contains(&name.as_str()))
}

fn enter() -> io::Result<()> {
    if !RAW.swap(true, Ordering::SeqCst) {
        terminal::enable_raw_mode().and_then(|()| put(ENTER)).inspect_err(|_| {
            let _ = leave();
        })?;
    }
    Ok(())
}

fn leave() -> io::Result<()> {
    if RAW.swap(false, Ordering::SeqCst) {
        let written = put(LEAVE);
        terminal::disable_raw_mode()?;
        written?;
    }
    Ok(())
}

fn put(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
