//! Memory: what lasts of programs, as entries that change one by one.
//!
//! A definition is an entry of its name. The last results are the three entries in [`RESULTS`], each with the number of
//! its result before its text: `17 [1]`. A space is in no name of the language.

use std::sync::Arc;

use windlass_core::{Definition, RetainedChange, RetainedMemory};
use windlass_kit_ptclisp::{
    Fault, FaultClass, LispSession, RunEnd, RunOutcome, SessionTextError, SessionTooLong, Value,
    preview, value_text,
};

/// Names of the entries of the last results.
const RESULTS: [&str; 3] = ["result 0", "result 1", "result 2"];

/// Returns the session that a memory describes.
///
/// # Errors
/// This runtime has not written the memory, or a later version has.
pub fn read_session(memory: &RetainedMemory) -> Result<LispSession, SessionTextError> {
    RetainedSession::read(memory).map(|retained| retained.session)
}

/// A session, and the numbers of its last results.
#[derive(Debug, Clone, Default)]
pub(crate) struct RetainedSession {
    pub(crate) session: LispSession,
    memory: RetainedMemory,
    /// Numbers of the results, in order.
    results: Vec<u64>,
}

impl RetainedSession {
    pub(crate) fn read(memory: &RetainedMemory) -> Result<Self, SessionTextError> {
        let base = memory.base.as_deref().map(LispSession::from_text).transpose()?;
        let mut session = base.unwrap_or_default();
        let is_result = |name: &str| RESULTS.contains(&name);
        // With the first result over a base, those of the base have become entries too.
        if memory.entries.keys().any(|name| is_result(name)) {
            session.history.clear();
        }
        let mut results = Vec::new();
        for (name, value) in &memory.entries {
            match value {
                Some(text) if is_result(name) => {
                    let (number, text) = text.split_once(' ').unwrap_or_default();
                    // Without a number it is no text of a value either.
                    let text = if number.is_empty() { "" } else { text };
                    let value = session.read_value(text)?;
                    results.push((number.parse::<u64>().unwrap_or_default(), value));
                }
                Some(text) => {
                    let value = session.read_value(text)?;
                    session.definitions.insert(name.clone(), value);
                }
                None => _ = session.definitions.remove(name),
            }
        }
        results.sort_by_key(|(number, _)| *number);
        let mut retained = Self { session, memory: memory.clone(), results: Vec::new() };
        for (number, value) in results {
            retained.results.push(number);
            retained.session.history.push(value);
        }
        Ok(retained)
    }

    /// Takes in what a program came to, and returns the changes. If they take more than `most` bytes with all
    /// that lasts, older results are dropped.
    ///
    /// # Errors
    /// The definitions and the last result take more.
    pub(crate) fn commit(
        &mut self,
        outcome: &RunOutcome,
        most: usize,
    ) -> Result<Vec<RetainedChange>, Fault> {
        let mut after = self.clone();
        let changes = after.changes(outcome, most)?;
        *self = after;
        Ok(changes)
    }

    fn changes(&mut self, outcome: &RunOutcome, most: usize) -> Result<Vec<RetainedChange>, Fault> {
        let (mut changes, mut room) = (Vec::new(), most);
        for name in &outcome.defined {
            let Some(value) = outcome.definitions.get(name) else {
                continue;
            };
            let text = value_text(value, room).map_err(|error| too_long(&error))?;
            // What is written is all alive.
            room = room.saturating_sub(text.len());
            if self.text(name, most).as_deref() != Some(&*text) {
                changes.push(RetainedChange::set(name, &text));
            }
        }
        self.session.commit(outcome);
        if let RunEnd::Value(value) = &outcome.end {
            changes.extend(self.result(value, most)?);
        }
        if changes.is_empty() {
            return Ok(changes);
        }
        self.memory.apply(&changes);
        self.drop_results(&mut changes, most)?;
        Ok(changes)
    }

    /// Returns the text of a definition before the program.
    fn text(&self, name: &str, most: usize) -> Option<Arc<str>> {
        match self.memory.entries.get(name) {
            Some(text) => text.clone(),
            None => {
                let value = self.session.definitions.get(name)?;
                value_text(value, most).ok().map(Arc::from)
            }
        }
    }

    /// Returns the changes that remember a result.
    fn result(&mut self, value: &Value, most: usize) -> Result<Vec<RetainedChange>, Fault> {
        // The results of a base become entries with the first one.
        let is_entry = |name: &&str| self.memory.entries.contains_key(*name);
        let earlier = match RESULTS.iter().any(is_entry) {
            true => Vec::new(),
            false => {
                let count = self.session.history.len().saturating_sub(1);
                self.session.history.iter().take(count).cloned().collect()
            }
        };
        let mut changes = Vec::new();
        for value in earlier.iter().chain([value]) {
            let number = self.results.last().map_or(0, |number| number.saturating_add(1));
            let text = value_text(value, most).map_err(|error| too_long(&error))?;
            changes.push(RetainedChange::set(entry(number), &format!("{number} {text}")));
            self.results.push(number);
        }
        let surplus = self.results.len().saturating_sub(RESULTS.len());
        self.results.drain(..surplus);
        Ok(changes)
    }

    /// Drops results, the oldest first, until what lasts has no more bytes than it may.
    fn drop_results(
        &mut self,
        changes: &mut Vec<RetainedChange>,
        most: usize,
    ) -> Result<(), Fault> {
        while self.memory.bytes() > u64::try_from(most).unwrap_or(u64::MAX) {
            if self.results.len() < 2 {
                return Err(too_long(&SessionTooLong { most }));
            }
            let name = entry(self.results.remove(0));
            self.session.history.remove(0);
            let dropped = RetainedChange { name: name.into(), value: None };
            self.memory.apply(std::slice::from_ref(&dropped));
            changes.retain(|change| &*change.name != name);
            changes.push(dropped);
        }
        Ok(())
    }

    /// Returns the definitions that last, with previews.
    pub(crate) fn alive(&self) -> Vec<Definition> {
        let definitions = self.session.definitions.iter();
        let definition = |(name, value): (&Arc<str>, &Value)| Definition {
            name: name.to_string(),
            preview: preview(value),
        };
        definitions.map(definition).collect()
    }
}

/// Returns the name of the entry of a result. It replaces the result three before it.
fn entry(number: u64) -> &'static str {
    match number % 3 {
        0 => RESULTS[0],
        1 => RESULTS[1],
        _ => RESULTS[2],
    }
}

fn too_long(error: &SessionTooLong) -> Fault {
    let message =
        format!("the definitions and the last result take more than {} bytes", error.most);
    let hint = "Define less: what is needed of the data instead of all of it, and (def name nil) for what \
                is not needed any more.";
    Fault::new(FaultClass::RetainedLimit, message).hint(hint)
}
