//! Golden logs: logs that every later version must read, fold and render as the one that wrote
//! them did.
//!
//! A golden log is two files. `NAME.jsonl` is the log as `windlass log` writes it. `NAME.digest`
//! says, for each of its positions, what the line is, what the log folds to there, and, where the
//! model was asked, what it was shown. All of it is worked out again and compared line by line, so
//! a divergence is named by the first position that has it. Both files are written once and for
//! ever: [`add`] refuses a name that is taken, and nothing here rewrites. The file `names` lists
//! all logs with the SHA-256 of their digests, so none is removed or exchanged unseen.
//!
//! The digests are taken of a text that names each field (see `state.rs`), not of the code's own
//! form: a field that is renamed changes nothing, one that means something else does.

mod calls;
mod canon;
mod covers;
mod files;
mod gates;
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
pub use reckon::{facts, make};

/// People may be asked about what an agent does.
const AGENTS_TAKE_LONGER: &str = "the longest run of a tool does not bound an agent's";
/// And what it says is to be told.
const AGENTS_ARE_HEARD: &str = "the longest run of a tool does not bound an agent's, and its turn keeps \
                                room for what it says";

/// Where today's engine decides otherwise than the one that wrote a golden log, on purpose: the
/// log, the position, and why.
pub const MEANT: &[(&str, u64, &str)] = &[
    ("agents_are_lent_a_budget", 8, AGENTS_ARE_HEARD),
    ("agents_are_lent_a_budget", 13, AGENTS_TAKE_LONGER),
    ("agents_are_lent_a_budget", 18, AGENTS_ARE_HEARD),
    (
        "compaction_with_hooks",
        13,
        "the frames of what waits count, so a little less is to be left",
    ),
    (
        "programs_come_to_results",
        78,
        "of a program that is stopped the model is told which of its calls change something",
    ),
    (
        "random_world_5",
        9,
        "what was set aside for a summary that was cut off counts as spent",
    ),
];

/// A golden log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Golden {
    /// Its name.
    pub name: String,
    /// The log, one envelope a line.
    pub log: Vec<u8>,
    /// What it must come to.
    pub digest: String,
}

/// A golden log that does not come to what it came to when it was added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("golden log {name}{}: {what}", .at.map_or(String::new(), |at| format!(", position {at}")))]
pub struct Off {
    /// Which log.
    pub name: String,
    /// The first position that is off; `None` when it is not one of them.
    pub at: Option<Seq>,
    /// What is off.
    pub what: String,
}

/// What a golden log held, once it is checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Covered {
    /// Its facts.
    pub facts: u64,
    /// Requests to the model that were rendered again.
    pub requests: u64,
    /// Turns that settled.
    pub turns: u64,
    /// What its facts are and say; see [`labels`].
    pub labels: BTreeSet<String>,
}

impl Golden {
    /// Checks that the log is what was added, and comes to the same as it did then.
    ///
    /// # Errors
    /// [`Off`] with the first position that does not.
    pub fn check(&self, transitions: &Transitions) -> Result<Covered, Off> {
        let off = |at: Option<Seq>, what: String| Off {
            name: self.name.clone(),
            at,
            what,
        };
        let header = reckon::header(&self.digest).map_err(|what| off(None, what))?;
        let mut stored = self.digest.lines().skip(reckon::HEADER);
        let mut reckoned = reckon::Reckoned::new(transitions, &header);
        for line in self.log.split_inclusive(|byte| *byte == b'\n') {
            let wanted = stored.next().unwrap_or("nothing: it ends before");
            let at = reckoned.next();
            // The line first: a log that was changed is no news about the engine.
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
            return Err(off(
                None,
                String::from("its digest does not end where it should"),
            ));
        }
        Ok(covered)
    }
}
