//! The last lines that a server wrote to its standard error. They are shown with its failures, and
//! nowhere else: the terminal is the user's.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use windlass_ports::sync::Mutex;

/// Most bytes that are retained.
const ROOM: usize = 8 * 1024;
/// Most bytes that are shown with a failure.
const SHOWN: usize = 600;

/// The end of a server's standard error. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorTail(Arc<Mutex<VecDeque<u8>>>);

impl ErrorTail {
    /// Reads to the end, and retains the last bytes.
    pub(crate) async fn read(self, mut from: impl AsyncRead + Unpin) {
        let mut buffer = [0_u8; 4_096];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            self.push(buffer.get(..read).unwrap_or_default());
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut tail = self.0.lock();
        tail.extend(bytes);
        let over = tail.len().saturating_sub(ROOM);
        tail.drain(..over);
    }

    /// Returns the last words for the message of a failure; `None` if there are none.
    pub(crate) fn last_words(&self) -> Option<String> {
        let bytes: Vec<u8> = self.0.lock().iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        let start = text.ceil_char_boundary(text.len().saturating_sub(SHOWN));
        let shown = text.get(start..).unwrap_or_default();
        // The rest of a line that was cut says little.
        let shown = match (start, shown.split_once('\n')) {
            (1.., Some((_, whole))) => whole,
            _ => shown,
        };
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        let lines = shown.lines().map(|line| line.chars().map(visible).collect::<String>());
        let lines: Vec<String> = lines.collect();
        (!shown.is_empty()).then(|| lines.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_is_retained_and_shown_on_one_line() {
        let tail = ErrorTail::default();
        assert_eq!(tail.last_words(), None);
        let mut text = "noise\n".repeat(10_000);
        text.push_str("Error: no such\u{1b}[31m folder\n  at line 1\n");
        tail.clone().read(text.as_bytes()).await;
        let words = tail.last_words().unwrap();
        assert!(words.len() <= SHOWN * 2 && tail.0.lock().len() == ROOM);
        assert!(words.ends_with("Error: no such [31m folder |   at line 1"), "{words}");
    }
}
