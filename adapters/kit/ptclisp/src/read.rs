//! The reader: text to forms, with positions. A surplus closing parenthesis is left out and recorded.

mod words;

use crate::fault::{Fault, FaultClass, Position, place};
use crate::form::{Form, FormKind};
use crate::limits::Limits;

/// Repair of a program's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRepair {
    /// The bracket that was left out.
    pub removed: char,
    /// Position of the removed character.
    pub position: Position,
}

/// The forms of a text, and what was put right.
#[derive(Debug)]
pub(crate) struct ParsedText {
    pub(crate) forms: Vec<Form>,
    pub(crate) repairs: Vec<TextRepair>,
    /// End of each form, in bytes.
    pub(crate) ends: Vec<usize>,
    /// The byte of the first bracket that was left out between forms.
    pub(crate) surplus: Option<usize>,
}

/// The deepest forms, whatever the limit says: reading and analyzing them recurs that deep.
const DEEPEST_FORM: u32 = 200;
/// The most open brackets that a fault names.
const SHOWN_OPEN: usize = 4;
/// The most repairs of one text: what needs more is no program with a slip.
const REPAIRS: usize = 16;

/// Reads the text of a function that was kept. Names may be in it that no program can write.
pub(crate) fn read_stored(source: &str) -> Result<Vec<Form>, Fault> {
    let mut reader = FormReader {
        source,
        at: 0,
        deep: 0,
        // A short function is one level deeper when it is written out.
        deepest: DEEPEST_FORM + 1,
        repairs: Vec::new(),
        open: Vec::new(),
        crossed: None,
        stored: true,
    };
    let mut forms = Vec::new();
    loop {
        reader.skip_blank()?;
        if reader.peek().is_none() {
            return Ok(forms);
        }
        let at = reader.at;
        forms.extend(reader.form()?);
        if reader.at == at || !reader.repairs.is_empty() {
            return Err(reader.fault(at, "a bracket closes nothing"));
        }
    }
}

/// Reads a whole text.
pub(crate) fn read(source: &str, limits: &Limits) -> Result<ParsedText, Fault> {
    if source.len() > limits.program_bytes {
        let message =
            format!("the program has {} bytes, more than {}", source.len(), limits.program_bytes);
        return Err(Fault::new(FaultClass::ProgramTooLarge, message)
            .hint("Send data through tools and inputs, not in the program's text."));
    }
    let mut reader = FormReader {
        source,
        at: 0,
        deep: 0,
        deepest: limits.forms_deep.min(DEEPEST_FORM),
        repairs: Vec::new(),
        open: Vec::new(),
        crossed: None,
        stored: false,
    };
    let (mut forms, mut ends, mut surplus) = (Vec::new(), Vec::new(), None);
    loop {
        reader.skip_blank()?;
        match reader.peek() {
            None => {
                return Ok(ParsedText { forms, repairs: reader.repairs, ends, surplus });
            }
            Some(removed @ (')' | ']' | '}')) => {
                surplus.get_or_insert(reader.at);
                if forms.is_empty() || !reader.remove_surplus(removed) {
                    let message = format!("'{removed}' closes nothing");
                    return Err(reader.fault(reader.at, message).hint("Remove it."));
                }
            }
            Some(_) => {
                forms.extend(reader.form()?);
                ends.push(reader.at);
            }
        }
    }
}

struct FormReader<'a> {
    source: &'a str,
    at: usize,
    deep: u32,
    deepest: u32,
    repairs: Vec<TextRepair>,
    /// Brackets that are open: where, and what closes them.
    open: Vec<(usize, char)>,
    /// The first bracket that closed what it did not open: what is wrong if the text does not end well.
    crossed: Option<Fault>,
    /// True if the text may hold names that only the analyzer makes.
    stored: bool,
}

impl FormReader<'_> {
    fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.source[self.at..].chars().nth(1)
    }

    /// Leaves a closing bracket out, and records that; not more often than a slip happens.
    fn remove_surplus(&mut self, removed: char) -> bool {
        if self.repairs.len() == REPAIRS {
            return false;
        }
        self.repairs.push(TextRepair { removed, position: place(self.source, self.at as u32) });
        self.at += removed.len_utf8();
        true
    }

    fn fault(&self, at: usize, message: impl Into<String>) -> Fault {
        Fault::new(FaultClass::Parse, message).at(at as u32).with_position(self.source)
    }

    /// Skips blanks, commas, comments and discarded forms.
    fn skip_blank(&mut self) -> Result<(), Fault> {
        while let Some(c) = self.peek() {
            if c.is_whitespace() || c == ',' || c == '\u{feff}' {
                self.at += c.len_utf8();
            } else if c == ';' || (c == '#' && self.peek_second() == Some('!')) {
                let rest = &self.source[self.at..];
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if c == '#' && self.peek_second() == Some('_') {
                let start = self.at;
                self.at += 2;
                self.nested(start, |reader| {
                    reader.skip_blank()?;
                    reader.form()
                })?;
            } else {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Runs one level deeper.
    fn nested<T>(
        &mut self,
        start: usize,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.deep == self.deepest {
            let message = format!("forms are nested deeper than {}", self.deepest);
            let hint = "Give parts names with def or let, or define functions.";
            let fault = Fault::new(FaultClass::Depth, message).hint(hint);
            return Err(fault.at(start as u32).with_position(self.source));
        }
        self.deep += 1;
        let read = read(self);
        self.deep -= 1;
        read
    }

    /// One form; nothing at the end of the text.
    fn form(&mut self) -> Result<Option<Form>, Fault> {
        let start = self.at;
        let Some(c) = self.peek() else {
            return Ok(None);
        };
        let kind = match c {
            '(' => FormKind::List(self.until(1, ')', "list")?),
            '[' => FormKind::Vec(self.until(1, ']', "vector")?),
            '{' => FormKind::Map(self.pairs(start)?),
            '"' => FormKind::Str(self.string()?),
            '\\' => FormKind::Str(self.character()?),
            ':' => self.keyword()?,
            '\'' => FormKind::Quote(Box::new(self.after(1)?)),
            '#' => self.dispatch(start)?,
            '@' | '`' | '~' | '^' => {
                let message = format!("'{c}' is not part of the language");
                return Err(self.fault(start, message));
            }
            _ => self.atom(start, c)?,
        };
        Ok(Some(Form::new(start as u32, kind)))
    }

    /// The form after a prefix of so many bytes.
    fn after(&mut self, prefix: usize) -> Result<Form, Fault> {
        let start = self.at;
        self.at += prefix;
        let form = self.nested(start, |reader| {
            reader.skip_blank()?;
            match reader.peek() {
                Some(')' | ']' | '}') => Ok(None),
                _ => reader.form(),
            }
        })?;
        form.ok_or_else(|| self.fault(start, "a form is missing after the prefix"))
    }

    /// The forms up to a closing bracket.
    fn until(&mut self, opening: usize, close: char, what: &str) -> Result<Vec<Form>, Fault> {
        let start = self.at;
        self.at += opening;
        self.open.push((start, close));
        let forms = self.nested(start, |reader| {
            let mut forms = Vec::new();
            loop {
                reader.skip_blank()?;
                match reader.peek() {
                    Some(c) if c == close => {
                        reader.at += 1;
                        return Ok(forms);
                    }
                    Some(c @ (')' | ']' | '}')) => {
                        let opened = place(reader.source, start as u32);
                        let message = format!(
                            "expected '{close}' but found '{c}': the {what} was opened at line {}, column {}",
                            opened.line, opened.column
                        );
                        let fault = reader.fault(reader.at, message);
                        // In a vector, a map or a set a parenthesis too many is left out as well.
                        if c != ')' || close == ')' || !reader.remove_surplus(c) {
                            return Err(reader.crossed.take().unwrap_or(fault));
                        }
                        reader.crossed.get_or_insert(fault);
                    }
                    None => {
                        if let Some(crossed) = reader.crossed.take() {
                            return Err(crossed);
                        }
                        return Err(reader.unclosed());
                    }
                    Some(_) => forms.extend(reader.form()?),
                }
            }
        })?;
        self.open.pop();
        Ok(forms)
    }

    /// The fault of a text that ends within brackets, at the place where the innermost of them opened.
    fn unclosed(&self) -> Fault {
        let inner = self.open.last().map_or(0, |(start, _)| *start);
        let closing: String = self.open.iter().rev().map(|(_, close)| *close).collect();
        let shown = |(start, _): &(usize, char)| {
            let at = place(self.source, *start as u32);
            format!("{} of line {}, column {}", self.beginning(*start), at.line, at.column)
        };
        let message = match self.open.as_slice() {
            [_] => format!("{} is not closed", self.beginning(inner)),
            open => {
                let first = open.iter().rev().take(SHOWN_OPEN).map(shown).collect::<Vec<_>>();
                let more = open.len().saturating_sub(SHOWN_OPEN);
                let more =
                    if more > 0 { format!(" and {more} around them") } else { String::new() };
                format!("{} forms are not closed: {}{more}", open.len(), first.join(", "))
            }
        };
        // A form at the start of a line is seldom meant to be within another.
        let line = self.source[inner..].find("\n(").map(|at| inner + at + 1);
        let where_to = match line.map(|at| place(self.source, at as u32).line) {
            Some(line) => format!(", probably before line {line}"),
            None => String::new(),
        };
        self.fault(inner, message).hint(match self.open.len() {
            1 => format!("Close it with '{closing}'{where_to}."),
            _ => format!("Close them with '{closing}'{where_to}."),
        })
    }

    /// The bracket at a place and the word after it.
    fn beginning(&self, start: usize) -> String {
        let rest = &self.source[start..];
        let word = |c: char| is_word(c) && c != '#';
        let brackets = rest.chars().take_while(|c| !word(*c) && !c.is_whitespace()).take(3);
        let shown: String = brackets.collect();
        let after: String = rest[shown.len()..].chars().take_while(|c| word(*c)).take(20).collect();
        format!("'{shown}{after}'")
    }

    fn pairs(&mut self, start: usize) -> Result<Vec<Form>, Fault> {
        let forms = self.until(1, '}', "map")?;
        if forms.len() % 2 == 1 {
            let fault = self.fault(start, "a map needs a value for each key");
            return Err(fault.hint("Write {:key value :other value}."));
        }
        Ok(forms)
    }

    fn dispatch(&mut self, start: usize) -> Result<FormKind, Fault> {
        match self.peek_second() {
            Some('{') => Ok(FormKind::Set(self.until(2, '}', "set")?)),
            Some('(') => Ok(FormKind::Short(self.until(2, ')', "function")?)),
            Some('\'') => Ok(FormKind::Var(Box::new(self.after(2)?))),
            Some('"') => {
                self.at += 1;
                Ok(FormKind::Regex(self.regex()?))
            }
            Some('#') => {
                self.at += 2;
                match self.word() {
                    "Inf" => Ok(FormKind::Float(f64::INFINITY)),
                    "-Inf" => Ok(FormKind::Float(f64::NEG_INFINITY)),
                    "NaN" => Ok(FormKind::Float(f64::NAN)),
                    other => {
                        let message =
                            format!("##{other} is no number; write ##Inf, ##-Inf or ##NaN");
                        Err(self.fault(start, message))
                    }
                }
            }
            _ => Err(self.fault(start, "this use of '#' is not part of the language")),
        }
    }

    /// The bytes of a regular expression: what is written is what it is, but for `\"`.
    fn regex(&mut self) -> Result<Box<str>, Fault> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out.into()),
                '\\' => match self.peek() {
                    Some('"') => {
                        out.push('"');
                        self.at += 1;
                    }
                    Some(escaped) => {
                        match escaped {
                            't' => out.push('\t'),
                            'n' => out.push('\n'),
                            'r' => out.push('\r'),
                            _ => out.extend(['\\', escaped]),
                        }
                        self.at += escaped.len_utf8();
                    }
                    None => break,
                },
                _ => out.push(c),
            }
        }
        Err(self.fault(start, "unclosed regular expression"))
    }

    fn keyword(&mut self) -> Result<FormKind, Fault> {
        let start = self.at;
        self.at += 1;
        if self.peek() == Some(':') {
            self.at += 1;
        }
        let word = self.name();
        if word.is_empty() {
            return Err(self.fault(start, "a keyword needs a name after ':'"));
        }
        Ok(FormKind::Kw(word.into()))
    }

    /// A word without a slash: the name of a keyword.
    fn name(&mut self) -> &str {
        let start = self.at;
        while let Some(c) = self.peek() {
            if !is_word(c) || c == '/' {
                break;
            }
            self.at += c.len_utf8();
        }
        &self.source[start..self.at]
    }

    /// The characters up to the next that ends a word.
    fn word(&mut self) -> &str {
        let start = self.at;
        while let Some(c) = self.peek() {
            if is_word(c) || (self.stored && c == '\0') {
                self.at += c.len_utf8();
            } else {
                break;
            }
        }
        &self.source[start..self.at]
    }

    fn atom(&mut self, start: usize, first: char) -> Result<FormKind, Fault> {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let signed = (first == '-' || first == '+') && digit(self.peek_second());
        if first.is_ascii_digit() || signed {
            return self.number(start);
        }
        let word = self.word();
        // A point with digits after it: nothing else is called so.
        let point = word.trim_start_matches(['-', '+']).strip_prefix('.');
        if digit(point.and_then(|digits| digits.chars().next())) {
            let word = word.to_owned();
            return Err(self.no_number(start, &word));
        }
        match word {
            "nil" => Ok(FormKind::Nil),
            "true" => Ok(FormKind::Bool(true)),
            "false" => Ok(FormKind::Bool(false)),
            "" => Err(self.fault(start, format!("unexpected character '{first}'"))),
            _ => Ok(FormKind::Sym(word.into())),
        }
    }
}

/// Returns true if a character can be part of a word.
fn is_word(c: char) -> bool {
    !c.is_whitespace()
        && !c.is_control()
        && !matches!(
            c,
            '(' | ')' | '[' | ']' | '{' | '}' | '"' | ';' | ',' | '@' | '`' | '~' | '^' | '\\'
        )
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
