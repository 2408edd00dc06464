//! Patterns of commands: words in which `*` matches any characters, also several words.

use super::form::FormSymbol;

/// Part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternSymbol {
    Char(char),
    /// End of a word and begin of the next.
    Space,
    Star,
    /// Operator of a redirection.
    Operator(&'static str),
}

/// Pattern of a rule about commands. It is written as a command is: quotes keep words together.
#[derive(Debug, Clone)]
pub struct CommandPattern {
    text: String,
    symbols: Vec<PatternSymbol>,
}

/// Reading of expansions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// The pattern matches whatever the expansions yield, and its stars match no redirection and
    /// no program that another one runs.
    Allowing,
    /// The pattern matches whatever the expansions yield.
    Certain,
    /// The pattern matches if the expansions yield the right text.
    Possible,
}

impl CommandPattern {
    /// Reads a pattern. A quote without an end is a character.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let symbols = symbols(text.trim_matches([' ', '\t', '\n']));
        Self { text: text.to_owned(), symbols }
    }

    /// Returns the pattern as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if it matches this command.
    pub(super) fn matches(&self, form: &[FormSymbol], reading: Reading) -> bool {
        // The places of the pattern that the text before may have led to.
        let places = self.symbols.len().saturating_add(1);
        let mut reached = vec![false; places];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        self.skip_stars(&mut reached);
        for symbol in form {
            let mut next = vec![false; places];
            if *symbol == FormSymbol::Unknown && reading == Reading::Possible {
                let first = reached.iter().position(|place| *place).unwrap_or(places);
                for place in next.iter_mut().skip(first) {
                    *place = true;
                }
            } else {
                self.step(*symbol, reading, &reached, &mut next);
            }
            self.skip_stars(&mut next);
            reached = next;
        }
        reached.last().copied().unwrap_or(false)
    }

    /// Adds the places after stars, which match no character too.
    fn skip_stars(&self, reached: &mut [bool]) {
        for (place, symbol) in self.symbols.iter().enumerate() {
            let here = reached.get(place).copied().unwrap_or(false);
            if here && *symbol == PatternSymbol::Star {
                mark(reached, place.saturating_add(1));
            }
        }
    }

    fn step(&self, symbol: FormSymbol, reading: Reading, reached: &[bool], next: &mut [bool]) {
        for (place, pattern) in self.symbols.iter().enumerate() {
            if !reached.get(place).copied().unwrap_or(false) {
                continue;
            }
            let (fits, stays) = match (pattern, symbol) {
                (PatternSymbol::Star, symbol) => (false, is_free(symbol, reading)),
                (PatternSymbol::Char(a), FormSymbol::Char(b) | FormSymbol::Fixed(b)) => {
                    (*a == b, false)
                }
                (PatternSymbol::Space, FormSymbol::Space | FormSymbol::Gate) => (true, false),
                (PatternSymbol::Operator(a), FormSymbol::Operator(b)) => (*a == b, false),
                (PatternSymbol::Char(_) | PatternSymbol::Space | PatternSymbol::Operator(_), _) => {
                    (false, false)
                }
            };
            if fits {
                mark(next, place.saturating_add(1));
            }
            if stays {
                mark(next, place);
            }
        }
    }
}

fn mark(places: &mut [bool], place: usize) {
    if let Some(place) = places.get_mut(place) {
        *place = true;
    }
}

/// Returns true if a star matches it.
fn is_free(symbol: FormSymbol, reading: Reading) -> bool {
    match (symbol, reading) {
        (FormSymbol::Char(_) | FormSymbol::Space | FormSymbol::Unknown, _)
        | (_, Reading::Certain | Reading::Possible) => true,
        (FormSymbol::Gate | FormSymbol::Fixed(_) | FormSymbol::Operator(_), Reading::Allowing) => {
            false
        }
    }
}

fn symbols(text: &str) -> Vec<PatternSymbol> {
    let mut symbols = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            ' ' | '\t' | '\n' => {
                symbols.push(PatternSymbol::Space);
                after.trim_start_matches([' ', '\t', '\n'])
            }
            '\'' | '"' if after.contains(c) => {
                let (quoted, after) = after.split_once(c).unwrap_or((after, ""));
                symbols.extend(quoted.chars().map(|c| match c {
                    '*' => PatternSymbol::Star,
                    c => PatternSymbol::Char(c),
                }));
                after
            }
            '\\' if !after.is_empty() => {
                symbols.extend(after.chars().next().map(PatternSymbol::Char));
                after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default()
            }
            '<' | '>' => redirection(&mut symbols, rest),
            '*' => {
                symbols.push(PatternSymbol::Star);
                after
            }
            c => {
                symbols.push(PatternSymbol::Char(c));
                after
            }
        };
    }
    symbols
}

/// Reads an operator, without the number of a descriptor before it. Returns the text after it.
fn redirection<'a>(symbols: &mut Vec<PatternSymbol>, text: &'a str) -> &'a str {
    let known = ["<<<", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];
    let operator = known.into_iter().find(|known| text.starts_with(known)).unwrap_or(">");
    let digit = |symbol: &PatternSymbol| matches!(symbol, PatternSymbol::Char('0'..='9'));
    let digits = symbols.iter().rev().take_while(|symbol| digit(symbol)).count();
    let word = symbols.len().saturating_sub(digits);
    let before = word.checked_sub(1).and_then(|before| symbols.get(before));
    if before == Some(&PatternSymbol::Space) {
        symbols.truncate(word);
    }
    if !symbols.is_empty() && symbols.last() != Some(&PatternSymbol::Space) {
        symbols.push(PatternSymbol::Space);
    }
    let meaning = if operator == ">|" { ">" } else { operator };
    symbols.extend([PatternSymbol::Operator(meaning), PatternSymbol::Space]);
    text.get(operator.len()..).unwrap_or_default().trim_start_matches([' ', '\t'])
}
