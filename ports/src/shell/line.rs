//! Command lines: what they run, compared with the patterns of rules.

use super::form::{self, Form};
use super::pattern::{CommandPattern, Reading};
use super::reader::MAX_DEPTH;
use super::runners::{Runs, is_shell, runs};
use super::{Redirect, SimpleCommand, Symbol, Word, literal, parse_at};
use crate::glob;

/// Most places of a command at which another one is looked for.
const MAX_STARTS: usize = 48;
/// Most values of a word that are read as lines.
const MAX_VALUES: usize = 4;
/// Longest command in which another one is looked for at each word, in characters.
const MAX_SEARCHED: usize = 4_096;

/// Relation of a command line to a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Nothing that the line shows matches.
    No,
    /// A part of the line might match: it has no certain reading, or expansions decide.
    Possible,
    /// The line or a part of it matches.
    Certain,
}

/// Command line with all commands that it shows.
#[derive(Debug, Clone)]
pub struct CommandLine {
    text: String,
    /// `None` if the line has no certain reading.
    commands: Option<Vec<Command>>,
}

/// A command with those that its words run.
#[derive(Debug, Clone)]
struct Command {
    /// The command as it is written, with the limits of stars.
    written: Form,
    /// The same without those limits.
    free: Form,
    /// Forms that patterns which deny or ask are compared with.
    forms: Vec<Form>,
    /// Commands that its words run.
    inner: Vec<Command>,
    /// Commands that its words may run, which only denials and questions are compared with.
    suspects: Vec<Command>,
    /// True if the inner commands run with the same rights and environment.
    transparent: bool,
    /// True if it may run commands that its words do not show.
    hides: bool,
}

impl CommandLine {
    /// Reads a line.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), commands: commands(text, 0) }
    }

    /// Returns the places of the patterns by which each command of the line is allowed; none if
    /// they leave one out.
    #[must_use]
    pub fn allowed_by(&self, patterns: &[CommandPattern]) -> Vec<usize> {
        let mut used = vec![false; patterns.len()];
        for (pattern, used) in patterns.iter().zip(&mut used) {
            *used = !pattern.text().contains('*') && pattern.text() == self.text;
        }
        let exact = used.contains(&true);
        let all = |commands: &Vec<Command>| {
            !commands.is_empty() && commands.iter().all(|one| one.is_allowed(patterns, &mut used))
        };
        if self.commands.as_ref().is_some_and(all) || exact {
            return (0..).zip(used).filter_map(|(place, used)| used.then_some(place)).collect();
        }
        Vec::new()
    }

    /// Compares a pattern that denies or asks.
    #[must_use]
    pub fn matches(&self, pattern: &CommandPattern) -> Certainty {
        if glob(pattern.text(), &self.text) {
            return Certainty::Certain;
        }
        match &self.commands {
            None => Certainty::Possible,
            Some(commands) => strongest(commands, pattern),
        }
    }
}

fn strongest(commands: &[Command], pattern: &CommandPattern) -> Certainty {
    commands.iter().map(|one| one.matches(pattern)).max().unwrap_or(Certainty::No)
}

impl Command {
    fn is_allowed(&self, patterns: &[CommandPattern], used: &mut [bool]) -> bool {
        if mark_matching(&self.written, patterns, used) {
            return true;
        }
        !self.inner.is_empty()
            && !self.hides
            && (self.transparent || mark_matching(&self.free, patterns, used))
            && self.inner.iter().all(|one| one.is_allowed(patterns, used))
    }

    fn matches(&self, pattern: &CommandPattern) -> Certainty {
        let inner = strongest(&self.inner, pattern);
        let mut found = inner.max(strongest(&self.suspects, pattern));
        if self.hides {
            found = found.max(Certainty::Possible);
        }
        for form in &self.forms {
            if found < Certainty::Certain && pattern.matches(form, Reading::Certain) {
                found = Certainty::Certain;
            } else if found < Certainty::Possible && pattern.matches(form, Reading::Possible) {
                found = Certainty::Possible;
            }
        }
        found
    }
}

/// Marks the patterns that allow a form. Returns true if there is one.
fn mark_matching(form: &Form, patterns: &[CommandPattern], used: &mut [bool]) -> bool {
    let mut found = false;
    for (pattern, used) in patterns.iter().zip(used) {
        if pattern.matches(form, Reading::Allowing) {
            *used = true;
            found = true;
        }
    }
    found
}

fn commands(text: &str, depth: usize) -> Option<Vec<Command>> {
    let commands = parse_at(text, depth).ok()?;
    Some(commands.iter().map(|command| resolve(command, depth, Place::Line)).collect())
}

/// Place of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Line,
    /// In the words of another command, whose forms begin at each word.
    Words,
}

fn resolve(command: &SimpleCommand, depth: usize, place: Place) -> Command {
    let words = &command.words;
    let name = words.first().map(|program| literal(&form::base_name(program)));
    let found = match &name {
        Some(Some(name)) => runs(name, words),
        Some(None) => Runs::Hidden,
        None => Runs::Nothing,
    };
    let substitutes =
        |word: &Word| literal(word).is_some_and(|text| text.contains("$(") || text.contains('`'));
    let mut resolved = Command {
        written: form::written(command, &found),
        free: form::written(command, &Runs::Nothing),
        forms: form::compared(command),
        inner: Vec::new(),
        suspects: Vec::new(),
        transparent: command.assignments.is_empty()
            && !command.redirects.iter().any(Redirect::writes),
        // Bash runs a part of a value that it reads as a number.
        hides: command.assignments.iter().any(substitutes),
    };
    resolved.add_inner(words, found, depth.saturating_add(1), place);
    resolved
}

impl Command {
    fn add_inner(&mut self, words: &[Word], found: Runs, depth: usize, place: Place) {
        match found {
            Runs::Nothing => {}
            Runs::Hidden => self.hides = true,
            Runs::Line(line) => {
                self.transparent = false;
                self.add_line(words.get(line).and_then(|word| literal(word)), depth);
            }
            Runs::Joined => {
                self.transparent = false;
                let texts = words.iter().skip(1).map(|word| literal(word));
                let texts: Option<Vec<String>> = texts.collect();
                self.add_line(texts.map(|texts| texts.join(" ")), depth);
            }
            Runs::Commands { starts, transparent, extended } => {
                self.transparent &= transparent;
                for (begin, end) in starts {
                    let mut inner = words.get(begin..end).unwrap_or_default().to_vec();
                    if extended {
                        inner.push(vec![Symbol::Unknown]);
                    }
                    self.add_command(inner, depth);
                }
                self.add_suffixes(words, place);
            }
            Runs::Somewhere => {
                self.add_suffixes(words, place);
                self.add_suspects(words, depth);
            }
        }
    }

    fn add_line(&mut self, text: Option<String>, depth: usize) {
        match text.and_then(|text| commands(&text, depth)) {
            Some(commands) => self.inner.extend(commands),
            None => self.hides = true,
        }
    }

    fn add_command(&mut self, words: Vec<Word>, depth: usize) {
        if depth > MAX_DEPTH {
            self.hides = true;
            return;
        }
        let command = SimpleCommand { words, ..SimpleCommand::default() };
        self.inner.push(resolve(&command, depth, Place::Words));
    }

    /// Adds a form for each word at which a command may begin.
    fn add_suffixes(&mut self, words: &[Word], place: Place) {
        if place == Place::Words {
            return;
        }
        if words.len() > MAX_STARTS || self.free.len() > MAX_SEARCHED {
            self.hides = true;
            return;
        }
        for begin in 1..words.len() {
            self.forms.push(form::resolved(words.get(begin..).unwrap_or_default()));
        }
    }

    /// Adds the lines and shells that words may be.
    fn add_suspects(&mut self, words: &[Word], depth: usize) {
        for (place, word) in words.iter().enumerate().skip(1) {
            let Some(text) = literal(word) else {
                self.hides = true;
                continue;
            };
            for text in values(&text) {
                match commands(text, depth) {
                    Some(commands) => self.suspects.extend(commands),
                    None => self.hides = true,
                }
            }
            if is_shell(&text) {
                let words = words.get(place..).unwrap_or_default().to_vec();
                let command = SimpleCommand { words, ..SimpleCommand::default() };
                self.suspects.push(resolve(&command, depth, Place::Words));
            }
        }
    }
}

/// Returns the lines that a word may hold: itself, or the value of its option.
fn values(text: &str) -> Vec<&str> {
    let mut values = vec![text];
    if text.starts_with('-') {
        values.extend(text.get(2..));
    }
    values.extend(text.match_indices('=').filter_map(|(at, _)| text.get(at.saturating_add(1)..)));
    let line = |text: &&str| text.contains([' ', '\t', '\n', ';', '&', '|', '$', '`']);
    values.into_iter().filter(line).take(MAX_VALUES).collect()
}
