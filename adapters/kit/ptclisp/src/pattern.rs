//! Regular expressions: checked when they are read, compiled when they are used, with a bound on what they
//! compile to.

use regex_automata::nfa::thompson::NFA;
use regex_automata::util::syntax;

/// The most bytes that a compiled regular expression may take.
const SIZE_LIMIT: usize = 1 << 20;
/// The longest source that is compiled.
const SOURCE_LIMIT: usize = 4096;
/// Largest depth of nested groups.
const NEST_LIMIT: u32 = 50;

/// A regular expression that is well formed.
#[derive(Debug)]
pub struct Pattern {
    pub(crate) source: Box<str>,
}

impl Pattern {
    /// Checks it.
    ///
    /// # Errors
    /// Says what is wrong with it: a backreference and a look-around are refused, for they have no
    /// bound on their time.
    pub(crate) fn new(source: &str) -> Result<Pattern, String> {
        if source.len() > SOURCE_LIMIT {
            return Err(format!("longer than {SOURCE_LIMIT} bytes"));
        }
        match syntax::parse_with(source, &config()) {
            Ok(_) => Ok(Pattern { source: source.into() }),
            Err(error) => Err(last_line(&error.to_string())),
        }
    }

    /// Compiles it.
    ///
    /// # Errors
    /// If it is too large then.
    pub(crate) fn compiled(&self) -> Result<NFA, String> {
        let size = NFA::config().nfa_size_limit(Some(SIZE_LIMIT));
        let built = NFA::compiler().syntax(config()).configure(size).build(&self.source);
        built.map_err(|error| last_line(&error.to_string()))
    }
}

fn config() -> syntax::Config {
    syntax::Config::new().nest_limit(NEST_LIMIT)
}

/// The telling line of a message of several.
fn last_line(message: &str) -> String {
    let telling = message.lines().rev().find(|line| !line.trim().is_empty());
    telling.unwrap_or("it cannot be compiled").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_that_compiles_to_too_much_is_refused() {
        let large = Pattern::new("(a{1000}){1000}").expect("well formed");
        assert!(large.compiled().is_err());
        assert!(Pattern::new(r"(a)\1").is_err());
        assert!(Pattern::new(r"(?=a)").is_err());
        assert!(Pattern::new("a+").is_ok_and(|small| small.compiled().is_ok()));
    }
}
