//! The reviewed table: every way that a person has looked at and found right, as text.
//!
//! One line a way: where the session stood, what it was told, what followed, and the kinds of
//! facts that may say so. A search is held against it: what it takes and the table does not have
//! is new and unreviewed, what the table has and it never takes is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::coverage::{Coverage, Edge, Ends};
use crate::world::Script;

/// The ways that were reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    rows: BTreeMap<Row, BTreeSet<String>>,
}

/// One way, in words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Where the session stood.
    pub place: String,
    /// What it was told.
    pub told: String,
    /// What followed: `to PLACE`, `nothing`, or `refused KIND`.
    pub then: String,
}

/// How a search and a table differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A way was taken that nobody has reviewed.
    New {
        /// The way.
        row: Row,
        /// The kind of fact that is new on it; `None` when all of it is new.
        fact: Option<String>,
        /// A script whose last step takes it.
        script: Box<Script>,
    },
    /// A way was reviewed and never taken.
    Gone {
        /// The way.
        row: Row,
        /// The kind of fact that was never seen on it; `None` when it was not taken at all.
        fact: Option<String>,
    },
}

/// The reviewed table of the kit, as text.
const REVIEWED: &str = include_str!("../../explore/reviewed.txt");

/// What stands above a table.
const HEAD: &str = "\
# What may follow in a session: where it stands | what it is told | what follows | kinds of facts.
# `cargo xtask explore` fails when it takes a way that is not here, and when it does not take one
# that is. `cargo xtask explore --bless` writes it anew: read the difference before you keep it.
";

impl Table {
    /// The table that the core was reviewed by.
    ///
    /// # Errors
    /// The line that cannot be read, and why.
    pub fn reviewed() -> Result<Self, String> {
        REVIEWED.parse()
    }

    /// The table of what was taken.
    #[must_use]
    pub fn of(coverage: &Coverage) -> Self {
        let row = |(edge, seen): (&Edge, &super::coverage::Seen)| {
            let facts = seen.facts.keys().map(|kind| (*kind).to_owned());
            (Row::of(edge), facts.collect())
        };
        Self { rows: coverage.edges().iter().map(row).collect() }
    }

    /// The ways, with the kinds of facts that may be seen on each.
    #[must_use]
    pub fn rows(&self) -> &BTreeMap<Row, BTreeSet<String>> {
        &self.rows
    }

    /// What was taken and is not in the table.
    #[must_use]
    pub fn new_in(&self, coverage: &Coverage) -> Vec<Difference> {
        let mut new = Vec::new();
        for (edge, seen) in coverage.edges() {
            let row = Row::of(edge);
            let Some(known) = self.rows.get(&row) else {
                let script = Box::new(seen.script.clone());
                new.push(Difference::New { row, fact: None, script });
                continue;
            };
            let facts = seen.facts.iter();
            let unknown = facts.filter(|(kind, _)| !known.contains(**kind));
            new.extend(unknown.map(|(kind, script)| Difference::New {
                row: row.clone(),
                fact: Some((*kind).to_owned()),
                script: Box::new(script.clone()),
            }));
        }
        new
    }

    /// What is in the table and was never taken.
    #[must_use]
    pub fn gone_from(&self, coverage: &Coverage) -> Vec<Difference> {
        let taken = Self::of(coverage);
        let mut gone = Vec::new();
        for (row, facts) in &self.rows {
            let Some(seen) = taken.rows.get(row) else {
                let (row, fact) = (row.clone(), None);
                gone.push(Difference::Gone { row, fact });
                continue;
            };
            gone.extend(
                facts
                    .difference(seen)
                    .map(|kind| Difference::Gone { row: row.clone(), fact: Some(kind.clone()) }),
            );
        }
        gone
    }
}

impl Row {
    /// A way in words.
    #[must_use]
    pub fn of(edge: &Edge) -> Self {
        Self {
            place: edge.place.to_string(),
            told: edge.told.word().to_owned(),
            then: match &edge.ends {
                Ends::At(place) => format!("to {place}"),
                Ends::Nothing => String::from("nothing"),
                Ends::Refused(kind) => format!("refused {kind}"),
            },
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, told, then } = self;
        write!(f, "{place} | {told} | {then}")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        let mut place = "";
        for (row, facts) in &self.rows {
            if row.place != place {
                writeln!(f)?;
                place = &row.place;
            }
            write!(f, "{row}")?;
            if !facts.is_empty() {
                let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
                write!(f, " | {}", facts.join(" "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl FromStr for Table {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut table = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parts: Vec<&str> = line.split(" | ").map(str::trim).collect();
            let (place, told, then, facts) = match parts.as_slice() {
                [place, told, then] => (place, told, then, ""),
                [place, told, then, facts] => (place, told, then, *facts),
                _ => {
                    let wanted = "PLACE | TOLD | THEN [| FACTS]";
                    return Err(format!("line {}, {line:?}, is not {wanted}", at + 1));
                }
            };
            let row = Row {
                place: (*place).to_owned(),
                told: (*told).to_owned(),
                then: (*then).to_owned(),
            };
            let facts = facts.split_whitespace().map(String::from).collect();
            if table.rows.insert(row, facts).is_some() {
                return Err(format!("line {}, {line:?}, is there twice", at + 1));
            }
        }
        Ok(table)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |fact: &Option<String>| match fact {
            Some(fact) => format!(", with the fact {fact}"),
            None => String::new(),
        };
        match self {
            Self::New { row, fact, script } => {
                let fact = of(fact);
                write!(f, "new and unreviewed: {row}{fact}\nthe last step of\n{script}")
            }
            Self::Gone { row, fact } => write!(f, "reviewed and never taken: {row}{}", of(fact)),
        }
    }
}
