//! Output shown while it comes: at most one short report every so often, however much comes. What
//! comes between two reports is in the second one, as far as it has room there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_ports::ProgressSink;
use windlass_ports::sync::Mutex;

use crate::text::{VisibleText, continues, floor};

/// Time from a report to the next one at the earliest.
const PAUSE: Duration = Duration::from_millis(100);
/// Most bytes of output in a report: the last ones.
const LONGEST: usize = 1_024;

/// Reports output to subscribers.
#[derive(Clone)]
pub(crate) struct LiveReporter(Arc<Reporter>);

struct Reporter {
    progress: Arc<dyn ProgressSink>,
    pending: Mutex<PendingOutput>,
}

/// Output that was not reported yet.
#[derive(Default)]
struct PendingOutput {
    bytes: Vec<u8>,
    last: Option<Instant>,
    /// True if a task is about to report it.
    is_due: bool,
}

impl fmt::Debug for LiveReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveReporter").finish_non_exhaustive()
    }
}

impl LiveReporter {
    pub(crate) fn new(progress: Arc<dyn ProgressSink>) -> Self {
        Self(Arc::new(Reporter { progress, pending: Mutex::default() }))
    }

    /// Reports what has just come, now or soon.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut pending = self.0.pending.lock();
        pending.add(bytes);
        if pending.is_due {
            return;
        }
        let due = pending.last.and_then(|last| last.checked_add(PAUSE));
        match due.filter(|due| *due > Instant::now()) {
            None => self.0.report(&mut pending),
            Some(due) => {
                pending.is_due = true;
                let reporter = self.0.clone();
                tokio::spawn(async move {
                    tokio::time::sleep_until(due).await;
                    let mut pending = reporter.pending.lock();
                    pending.is_due = false;
                    reporter.report(&mut pending);
                });
            }
        }
    }
}

impl LiveReporter {
    /// Reports what was not reported yet, at the end of the output.
    pub(crate) fn flush(&self) {
        self.0.report(&mut self.0.pending.lock());
    }
}

impl Reporter {
    fn report(&self, pending: &mut PendingOutput) {
        let text = pending.take();
        let text = text.trim_start_matches('\n').trim_end();
        if !text.is_empty() {
            pending.last = Some(Instant::now());
            self.progress.report(text);
        }
    }
}

impl PendingOutput {
    fn add(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(bytes.len().saturating_sub(LONGEST)..).unwrap_or_default();
        self.bytes.extend_from_slice(bytes);
        let over = self.bytes.len().saturating_sub(LONGEST);
        self.bytes.drain(..over);
    }

    /// Takes all whole characters as text.
    fn take(&mut self) -> String {
        let mut bytes = std::mem::take(&mut self.bytes);
        let last = floor(&bytes, bytes.len().saturating_sub(1));
        let end = bytes.get(last..).unwrap_or_default();
        // A character whose rest has not come yet; anything else that is no text is shown as such.
        if std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none()) {
            self.bytes = bytes.split_off(last);
        }
        let start = bytes.iter().take(3).take_while(|byte| continues(**byte)).count();
        let mut visible = VisibleText::default();
        visible.push(bytes.get(start..).unwrap_or_default());
        visible.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Mutex<Vec<String>>);

    impl ProgressSink for Seen {
        fn report(&self, text: &str) {
            self.0.lock().push(text.to_owned());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn output_between_two_reports_is_in_the_second() {
        let seen = Arc::new(Seen::default());
        let live = LiveReporter::new(seen.clone());
        live.push(b"one\n");
        assert_eq!(*seen.0.lock(), ["one"]);
        live.push("tw\u{f6}".as_bytes().get(..3).unwrap());
        live.push(b"\xb6\nthree\n");
        assert_eq!(seen.0.lock().len(), 1);
        tokio::time::sleep(PAUSE * 2).await;
        assert_eq!(*seen.0.lock(), ["one", "tw\u{f6}\nthree"]);
        tokio::time::sleep(PAUSE * 3).await;
        assert_eq!(seen.0.lock().len(), 2, "nothing is reported twice");
        live.push(&vec![b'x'; 100_000]);
        assert_eq!(seen.0.lock().last().unwrap().len(), LONGEST);
        live.push(b"end\n");
        live.flush();
        assert_eq!(seen.0.lock().last().unwrap(), "end");
    }

    #[tokio::test(start_paused = true)]
    async fn a_character_is_not_reported_in_halves() {
        let seen = Arc::new(Seen::default());
        let live = LiveReporter::new(seen.clone());
        live.push(b"a\xe2\x82");
        live.push(b"\xac");
        tokio::time::sleep(PAUSE * 2).await;
        assert_eq!(*seen.0.lock(), ["a", "\u{20ac}"]);
    }
}
