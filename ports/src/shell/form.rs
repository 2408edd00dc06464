//! Forms: a command as the sequence that patterns are compared with.

use super::options::fixed_words;
use super::runners::Runs;
use super::{Redirect, SimpleCommand, Symbol, Word, literal};

/// Part of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormSymbol {
    Char(char),
    /// End of a word and begin of the next.
    Space,
    /// The same before a program that another program runs: no star of an allowing pattern goes
    /// over it.
    Gate,
    /// Character that no star of an allowing pattern matches.
    Fixed(char),
    /// Operator of a redirection.
    Operator(&'static str),
    Unknown,
}

pub(super) type Form = Vec<FormSymbol>;

/// Returns a command as it is written: assignments, words, and the redirections that write. Of what
/// it runs, the stars of an allowing pattern match nothing that decides which program that is.
pub(super) fn written(command: &SimpleCommand, found: &Runs) -> Form {
    let mut form = Form::new();
    for assignment in &command.assignments {
        add(&mut form, FormSymbol::Space, assignment);
    }
    let options = fixed_words(&command.words);
    for (place, word) in command.words.iter().enumerate() {
        let (separator, fixed) = limits(found, place);
        let fixed = fixed || options.get(place).copied().unwrap_or(false);
        let begin = form.len();
        add(&mut form, separator, word);
        if fixed {
            form.iter_mut().skip(begin).for_each(fix);
        }
    }
    redirected(form, command.redirects.iter().filter(|redirect| redirect.writes()))
}

/// Returns the separator before a word, and true if no star matches the word.
fn limits(found: &Runs, place: usize) -> (FormSymbol, bool) {
    match found {
        Runs::Nothing => (FormSymbol::Space, false),
        Runs::Line(line) if *line == place => (FormSymbol::Gate, true),
        Runs::Line(_) => (FormSymbol::Space, false),
        Runs::Commands { starts, .. } if starts.iter().any(|(begin, _)| *begin == place) => {
            (FormSymbol::Gate, true)
        }
        Runs::Commands { .. } => (FormSymbol::Space, false),
        Runs::Joined | Runs::Somewhere | Runs::Hidden => (FormSymbol::Gate, true),
    }
}

fn fix(symbol: &mut FormSymbol) {
    match *symbol {
        FormSymbol::Char(c) => *symbol = FormSymbol::Fixed(c),
        FormSymbol::Unknown => *symbol = FormSymbol::Fixed('\0'),
        FormSymbol::Space | FormSymbol::Gate | FormSymbol::Fixed(_) | FormSymbol::Operator(_) => {}
    }
}

/// Returns the forms that patterns which deny or ask are compared with.
pub(super) fn compared(command: &SimpleCommand) -> Vec<Form> {
    let whole =
        redirected(joined(command.assignments.iter().chain(&command.words)), &command.redirects);
    let mut forms = vec![whole];
    if !command.words.is_empty() {
        let resolved = resolved(&command.words);
        forms.push(redirected(resolved.clone(), &command.redirects));
        forms.push(resolved);
        forms.extend(git(&command.words));
    }
    forms
}

/// Returns a command with the bare name of its program.
pub(super) fn resolved(words: &[Word]) -> Form {
    let program = words.first().map(base_name);
    joined(program.iter().chain(words.iter().skip(1)))
}

/// Returns a command of git without the options before its subcommand.
fn git(words: &[Word]) -> Option<Form> {
    let name = literal(&base_name(words.first()?));
    if name.as_deref() != Some("git") {
        return None;
    }
    let mut place = 1;
    while let Some(option) = words.get(place).and_then(|word| literal(word)) {
        let valued = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"];
        place = match option.as_str() {
            option if valued.contains(&option) => place.saturating_add(2),
            option if option.starts_with('-') => place.saturating_add(1),
            _ => break,
        };
    }
    Some(joined(words.iter().take(1).chain(words.iter().skip(place))))
}

fn joined<'a>(words: impl IntoIterator<Item = &'a Word>) -> Form {
    let mut form = Form::new();
    for word in words {
        add(&mut form, FormSymbol::Space, word);
    }
    form
}

fn add(form: &mut Form, separator: FormSymbol, word: &Word) {
    if !form.is_empty() {
        form.push(separator);
    }
    form.extend(word.iter().map(|symbol| match symbol {
        Symbol::Char(c) => FormSymbol::Char(*c),
        Symbol::Unknown => FormSymbol::Unknown,
    }));
}

/// Adds redirections.
fn redirected<'a>(mut form: Form, redirects: impl IntoIterator<Item = &'a Redirect>) -> Form {
    for redirect in redirects {
        if !form.is_empty() {
            form.push(FormSymbol::Space);
        }
        form.push(FormSymbol::Operator(redirect.operator));
        add(&mut form, FormSymbol::Space, &redirect.target);
    }
    form
}

/// Returns the name of a program without its folders.
pub(super) fn base_name(program: &Word) -> Word {
    let slash = program.iter().rposition(|symbol| *symbol == Symbol::Char('/'));
    let name = program.get(slash.map_or(0, |slash| slash.saturating_add(1))..);
    name.unwrap_or_default().to_vec()
}
