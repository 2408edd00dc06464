//! Output shown while it comes: at most one short report every so often, however much comes.

use std::time::{Duration, Instant};

use windlass_ports::ProgressSink;

use crate::text::{VisibleText, continues};

const PAUSE: Duration = Duration::from_millis(100);
const LONGEST: usize = 1_024;

/// Reports output to whoever watches.
#[derive(Debug, Default)]
pub(crate) struct LiveReporter {
    last: Option<Instant>,
}

impl LiveReporter {
    /// Reports the end of what has just come, unless it is too soon.
    pub(crate) fn push(&mut self, bytes: &[u8], progress: &dyn ProgressSink) {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < PAUSE) {
            return;
        }
        let bytes = bytes.get(bytes.len().saturating_sub(LONGEST)..).unwrap_or_default();
        let start = bytes.iter().take(3).take_while(|byte| continues(**byte)).count();
        let mut visible = VisibleText::default();
        visible.push(bytes.get(start..).unwrap_or_default());
        let text = visible.text.trim_end();
        if !text.is_empty() {
            self.last = Some(now);
            progress.report(text);
        }
    }
}
