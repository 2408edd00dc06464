//! Golden logs: logs that every later version must read, fold and render as their writer did.
//!
//! A golden log is two files. `NAME.jsonl` is the log in the form that `windlass log` writes.
//! `NAME.digest` has digests of each line, of the folded state there, and of each request. A check
//! computes all of them again and reports the first position that differs.
//!
//! Version 1 of the log is frozen (decision 0037 in `docs/decisions`): fields and kinds of facts may
//! be added as optional, none is renamed or removed. Both files are written once and never
//! rewritten: [`add`] rejects an existing name. The file `names` lists all logs with the SHA-256 of
//! their digests, which reveals a removed or exchanged log.
//!
//! A digest is computed over a text that names each field (see `state.rs`), not over the code's own
//! form. So a field that is renamed in the code changes no digest, and one that changes its meaning
//! does. An optional field that a log does not have leaves its digests unchanged.

mod calls;
mod canon;
mod covers;
mod files;
mod gates;
mod meant;
mod prompt;
mod reckon;
mod settings;
mod state;
mod turn;

use std::collections::BTreeSet;

use windlass_core::Seq;

use crate::world::Transitions;

pub use covers::labels;
pub use files::{AddError, ReadError, add, folder, read};
pub use meant::MEANT;
pub use reckon::{facts, make};

/// A golden log with its digest file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Golden {
    /// Name of the log, and of its files.
    pub name: String,
    /// The log, one envelope a line.
    pub log: Vec<u8>,
    /// Text of the digest file, which a check must reproduce.
    pub digest: String,
}

/// Difference between a golden log and its digest file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("golden log {name}{}: {what}", .at.map_or(String::new(), |at| format!(", position {at}")))]
pub struct Off {
    /// Name of the log.
    pub name: String,
    /// First position that differs; `None` if the difference is at no position.
    pub at: Option<Seq>,
    /// Description of the difference.
    pub what: String,
}

/// Contents of a checked golden log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Covered {
    /// Number of facts.
    pub facts: u64,
    /// Number of requests that were rendered again.
    pub requests: u64,
    /// Number of settled turns.
    pub turns: u64,
    /// Labels of its facts; see [`labels`].
    pub labels: BTreeSet<String>,
}

impl Golden {
    /// Checks that the log is unchanged and has the same digests as when it was added.
    ///
    /// # Errors
    /// [`Off`] with the first position that differs.
    pub fn check(&self, transitions: &Transitions) -> Result<Covered, Off> {
        let off = |at: Option<Seq>, what: String| Off { name: self.name.clone(), at, what };
        let header = reckon::header(&self.digest).map_err(|what| off(None, what))?;
        let mut stored = self.digest.lines().skip(reckon::HEADER);
        let mut reckoned = reckon::Reckoned::new(transitions, &header);
        for line in self.log.split_inclusive(|byte| *byte == b'\n') {
            let wanted = stored.next().unwrap_or("nothing: it ends before");
            let at = reckoned.next();
            // The line first: a changed log says nothing about the engine.
            let (mine, theirs) = (reckon::line(at, line), reckon::line_of(wanted));
            if Some(mine.as_str()) != theirs {
                let what = format!("the log's line was changed, or its digest: it is {mine:?}");
                return Err(off(Some(at), what));
            }
            let texts = reckoned.take(line).map_err(|what| off(Some(at), what))?;
            let wanted = std::iter::once(wanted).chain(stored.by_ref().take(texts.len() - 1));
            for (text, wanted) in texts.iter().zip(wanted) {
                if text != wanted {
                    let what = format!("it comes to {text:?}, and came to {wanted:?}");
                    return Err(off(Some(at), what));
                }
            }
        }
        let (end, covered) = reckoned.end();
        for text in &end {
            let wanted = stored.next().unwrap_or_default();
            if text != wanted {
                let what = format!("it ends with {text:?}, and ended with {wanted:?}");
                return Err(off(None, what));
            }
        }
        if stored.next().is_some() || !self.digest.ends_with('\n') {
            return Err(off(None, String::from("its digest does not end where it should")));
        }
        Ok(covered)
    }
}
