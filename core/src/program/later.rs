//! Later programs: the part of a report about what they find, and about their number.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::feedback::list;
use super::{Definition, ProgramEnd, ProgramOutcome};

/// Definitions that the programs after a program find, and the number of these programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaterPrograms {
    /// Definitions that last after the program.
    pub alive: Vec<Definition>,
    /// Programs for work that are left in the turn, if known.
    pub left: Option<u32>,
}

impl LaterPrograms {
    /// Adds the definitions, in at most `most` bytes, and the number of programs, if the turn goes
    /// on. The definitions of this program come first.
    pub(super) fn describe(
        &self,
        words: &mut String,
        outcome: &ProgramOutcome,
        failed: bool,
        most: usize,
    ) {
        if !self.alive.is_empty() {
            words.push_str(match failed {
                true => "\nKept from the programs before it:\n",
                false => "\nKept for the programs after it:\n",
            });
            let defined = outcome.defined.iter().map(|name| Definition::short_name(name));
            let defined: BTreeSet<String> = defined.collect();
            let is_new = |one: &&Definition| !failed && defined.contains(&one.name);
            let new = self.alive.iter().filter(is_new);
            let old = self.alive.iter().filter(|one| !is_new(one));
            let line = |one: &Definition| format!("{} = {}", one.name, one.preview);
            let lines: Vec<String> = new.chain(old).map(line).collect();
            words.push_str(&list(&lines, "\n", most));
        }
        let goes_on = match &outcome.end {
            ProgramEnd::Value { .. } | ProgramEnd::Fault(_) => true,
            ProgramEnd::Return { .. } => failed,
            ProgramEnd::Fail { .. } => false,
        };
        match self.left.filter(|left| goes_on && *left > 0) {
            None => {}
            Some(1) => words.push_str("\nPrograms left in this turn: 1; it cannot call tools."),
            Some(left) => words.push_str(&format!(
                "\nPrograms left in this turn: {left}; the last one cannot call tools."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ProgramFault;

    fn outcome(end: ProgramEnd) -> ProgramOutcome {
        ProgramOutcome {
            end,
            prints: Vec::new(),
            memory: None,
            retained: Vec::new(),
            defined: alloc::vec![String::from("rows")],
            repairs: Vec::new(),
            steps: 1,
        }
    }

    fn described(end: ProgramEnd, failed: bool, left: u32) -> String {
        let one = |name: &str, preview: &str| Definition {
            name: String::from(name),
            preview: String::from(preview),
        };
        let alive = alloc::vec![one("f", "(fn [a])"), one("rows", "[1 2 ..] (300 items)")];
        let mut words = String::new();
        let later = LaterPrograms { alive, left: Some(left) };
        later.describe(&mut words, &outcome(end), failed, 1_000);
        words
    }

    #[test]
    fn what_lasts_is_listed_and_how_many_programs_are_left() {
        let value = || ProgramEnd::Value { value: "1".into() };
        assert_eq!(
            described(value(), false, 3),
            "\nKept for the programs after it:\n<data>\nrows = [1 2 ..] (300 items)\nf = (fn [a])\n\
             </data>\nPrograms left in this turn: 3; the last one cannot call tools."
        );
        let fault = ProgramEnd::Fault(ProgramFault::new("type_error", "no number"));
        let words = described(fault, true, 1);
        assert!(words.starts_with("\nKept from the programs before it:\n<data>\nf = "), "{words}");
        assert!(
            words.ends_with("\nPrograms left in this turn: 1; it cannot call tools."),
            "{words}"
        );
    }

    #[test]
    fn a_definition_has_the_beginning_of_its_name_and_of_its_value() {
        let short = Definition::new("rows", "[1,2]", || Some((2, "items")));
        assert_eq!((&*short.name, &*short.preview), ("rows", "[1,2]"));
        let (name, text) = ("n".repeat(65), "\u{e4}".repeat(61));
        let long = Definition::new(&name, &text, || Some((122, "bytes")));
        assert_eq!(long.name, format!("{}..", &name[..64]));
        assert_eq!(long.preview, format!("{}.. (122 bytes)", "\u{e4}".repeat(60)));
        let mut all = outcome(ProgramEnd::Value { value: "1".into() });
        all.defined = alloc::vec![name];
        let mut words = String::new();
        let alive = alloc::vec![short, long];
        LaterPrograms { alive, left: None }.describe(&mut words, &all, false, 1_000);
        assert!(words.starts_with("\nKept for the programs after it:\n<data>\nnnn"), "{words}");
    }

    #[test]
    fn a_turn_that_ends_has_no_programs_left() {
        let value = || -> alloc::sync::Arc<str> { "1".into() };
        let returned = || ProgramEnd::Return { value: value() };
        for (end, failed, left) in [
            (returned(), false, 3),
            (ProgramEnd::Fail { value: value() }, true, 3),
            (ProgramEnd::Value { value: value() }, false, 0),
        ] {
            assert!(!described(end, failed, left).contains("Programs left"));
        }
        assert!(described(returned(), true, 3).contains("Programs left in this turn: 3"));
    }
}
