//! Memory: what lasts of programs, as entries that change one by one.
//!
//! A definition is an entry of its name. The last results are the three entries in [`RESULTS`], each with the number of
//! its result before its text: `17 [1]`. A space is in no name of the language.

use std::sync::Arc;

use windlass_core::{Definition, RetainedChange, RetainedMemory};
use windlass_kit_ptclisp::{
    Fault, FaultClass, LispSession, RunEnd, RunOutcome, SessionTextError, SessionTooLong, Value,
    part_count, readable_head, value_text,
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
    /// Texts of all that lasts, without a base.
    memory: RetainedMemory,
    /// Numbers of the results, in order.
    results: Vec<u64>,
    /// True if the results are in a base and in no entry.
    in_base: bool,
}

impl RetainedSession {
    pub(crate) fn read(memory: &RetainedMemory) -> Result<Self, SessionTextError> {
        let base = memory.base.as_deref().map(LispSession::from_text).transpose()?;
        let mut session = base.unwrap_or_default();
        // With the first result over a base, those of the base have become entries too.
        let in_base = !session.history.is_empty() && !has_results(memory);
        if !in_base {
            session.history.clear();
        }
        let entries = memory.without_base(base_entries(&session));
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
        let numbers = (0..).take(session.history.len()).collect();
        let mut retained = Self { session, memory: entries, results: numbers, in_base };
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
    /// The definitions and the last result take more, and more than before.
    pub(crate) fn commit(
        &mut self,
        outcome: &RunOutcome,
        most: usize,
    ) -> Result<Vec<RetainedChange>, Fault> {
        let mut after = self.clone();
        let changes = after.changes(outcome, most, self)?;
        *self = after;
        Ok(changes)
    }

    fn changes(
        &mut self,
        outcome: &RunOutcome,
        most: usize,
        before: &Self,
    ) -> Result<Vec<RetainedChange>, Fault> {
        let (mut changes, mut room) = (Vec::new(), most);
        for name in &outcome.defined {
            let Some(value) = outcome.definitions.get(name) else {
                continue;
            };
            let text = value_text(value, room).map_err(|error| too_long(&error))?;
            // What is written is all alive.
            room = room.saturating_sub(text.len());
            if self.text(name) != Some(text.as_str()) {
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
        self.drop_results(&mut changes, most, before)?;
        Ok(changes)
    }

    /// Returns the text of an entry.
    fn text(&self, name: &str) -> Option<&str> {
        self.memory.entries.get(name)?.as_deref()
    }

    /// Returns the changes that remember a result.
    fn result(&mut self, value: &Value, most: usize) -> Result<Vec<RetainedChange>, Fault> {
        let mut changes = Vec::new();
        if std::mem::take(&mut self.in_base) {
            // The results of a base become entries with the first one.
            let earlier = self.session.history.iter().rev().skip(1).rev();
            let earlier: Vec<Value> = earlier.cloned().collect();
            RESULTS.iter().for_each(|name| _ = self.memory.entries.remove(*name));
            self.results.clear();
            for value in &earlier {
                changes.push(self.next_result(value, most)?);
            }
        }
        changes.push(self.next_result(value, most)?);
        let surplus = self.results.len().saturating_sub(RESULTS.len());
        self.results.drain(..surplus);
        Ok(changes)
    }

    fn next_result(&mut self, value: &Value, most: usize) -> Result<RetainedChange, Fault> {
        let number = self.results.last().map_or(0, |number| number.saturating_add(1));
        let text = value_text(value, most).map_err(|error| too_long(&error))?;
        self.results.push(number);
        Ok(RetainedChange::set(entry(number), &format!("{number} {text}")))
    }

    /// Drops results, the oldest first, until what lasts has no more bytes than it may. If the definitions of
    /// a wider limit take more by themselves, none is left.
    fn drop_results(
        &mut self,
        changes: &mut Vec<RetainedChange>,
        most: usize,
        before: &Self,
    ) -> Result<(), Fault> {
        let limit = u64::try_from(most).unwrap_or(u64::MAX);
        while self.memory.bytes() > limit && self.results.len() > 1 {
            self.drop_result(changes);
        }
        let definitions = self.memory.bytes().saturating_sub(self.result_bytes());
        let fits = |after: &Self| after.memory.is_within(limit, &before.memory);
        if !fits(self) && definitions > limit && !self.results.is_empty() {
            self.drop_result(changes);
        }
        match fits(self) {
            true => Ok(()),
            false => Err(too_long(&SessionTooLong { most })),
        }
    }

    fn drop_result(&mut self, changes: &mut Vec<RetainedChange>) {
        let name = entry(self.results.remove(0));
        self.session.history.remove(0);
        let dropped = RetainedChange { name: name.into(), value: None };
        self.memory.apply(std::slice::from_ref(&dropped));
        changes.retain(|change| &*change.name != name);
        changes.push(dropped);
    }

    /// Returns the bytes of the results.
    fn result_bytes(&self) -> u64 {
        let results = self.memory.definitions().filter(|(name, _)| is_result(name));
        results.map(|(name, text)| name.len() as u64 + text.len() as u64).sum()
    }

    /// Returns the definitions that last, with previews.
    pub(crate) fn alive(&self) -> Vec<Definition> {
        let definitions = self.session.definitions.iter();
        let definition = |(name, value): (&Arc<str>, &Value)| {
            let text = readable_head(value, Definition::PREVIEW_CHARS);
            Definition::new(name, &text, || part_count(value))
        };
        definitions.map(definition).collect()
    }
}

fn is_result(name: &str) -> bool {
    RESULTS.contains(&name)
}

/// Returns true if results have become entries, also where none of them is left.
fn has_results(memory: &RetainedMemory) -> bool {
    memory.entries.keys().any(|name| is_result(name))
}

/// Returns the entries of a base's session.
fn base_entries(session: &LispSession) -> Vec<RetainedChange> {
    // It has no limit of its own: it was read.
    let text = |value: &Value| value_text(value, usize::MAX).unwrap_or_default();
    let definitions = session.definitions.iter();
    let definitions = definitions.map(|(name, value)| RetainedChange::set(name, &text(value)));
    let results = (0..).zip(&session.history);
    let results = results.map(|(number, value)| {
        RetainedChange::set(entry(number), &format!("{number} {}", text(value)))
    });
    definitions.chain(results).collect()
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
