//! Parsing of code, with names of scopes mapped to the theme's styles.

use std::sync::OnceLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use crate::text::{Span, Style};
use crate::theme::Theme;

/// Names of languages that have no syntax of their own here, with one that is close.
const CLOSE: &[(&str, &str)] = &[
    ("typescript", "js"),
    ("ts", "js"),
    ("tsx", "js"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("jsonc", "json"),
    ("shell", "bash"),
    ("console", "bash"),
    ("zsh", "bash"),
];

type Choice = fn(&Theme) -> Style;

/// Styles of scopes, the more special ones first.
const SCOPES: &[(&str, Choice)] = &[
    ("comment", |theme| theme.comment),
    ("string", |theme| theme.string),
    ("constant.character", |theme| theme.string),
    ("constant", |theme| theme.number),
    ("keyword.operator", |theme| theme.text),
    ("keyword", |theme| theme.keyword),
    ("storage", |theme| theme.keyword),
    ("entity.name.function", |theme| theme.function),
    ("support.function", |theme| theme.function),
    ("variable.function", |theme| theme.function),
    ("entity.name.tag", |theme| theme.keyword),
    ("entity.name", |theme| theme.kind),
    ("support.type", |theme| theme.kind),
    ("support.class", |theme| theme.kind),
    ("markup.inserted", |theme| theme.added),
    ("markup.deleted", |theme| theme.removed),
];

/// State of a block of code between two lines.
#[derive(Debug, Clone)]
pub(super) struct Syntax {
    state: ParseState,
    stack: ScopeStack,
    theme: Theme,
}

impl Syntax {
    /// Starts a block, or returns none for a language without a syntax.
    pub(super) fn new(language: &str, theme: &Theme) -> Option<Self> {
        let name = language.trim().to_ascii_lowercase();
        if name.is_empty() {
            return None;
        }
        let close =
            CLOSE.iter().find(|(other, _)| *other == name).map_or(name.as_str(), |row| row.1);
        let syntax = set().find_syntax_by_token(close)?;
        Some(Self { state: ParseState::new(syntax), stack: ScopeStack::new(), theme: *theme })
    }

    /// Returns the spans of a line, or none if it cannot be parsed.
    pub(super) fn line(&mut self, code: &str) -> Option<Vec<Span>> {
        let whole = format!("{code}\n");
        let changes = self.state.parse_line(&whole, set()).ok()?;
        let mut spans: Vec<Span> = Vec::new();
        let mut start = 0;
        let ends = changes.iter().map(|(at, _)| *at).chain([code.len()]);
        for (index, end) in ends.enumerate() {
            let end = end.min(code.len());
            push(&mut spans, code.get(start..end)?, self.style());
            start = end;
            if let Some((_, change)) = changes.get(index) {
                self.stack.apply(change).ok()?;
            }
        }
        Some(spans)
    }

    fn style(&self) -> Style {
        let styles = scopes();
        let found = self
            .stack
            .as_slice()
            .iter()
            .rev()
            .find_map(|scope| styles.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)));
        found.map_or(self.theme.text, |(_, style)| style(&self.theme))
    }
}

fn push(spans: &mut Vec<Span>, text: &str, style: Style) {
    match spans.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.style == style => last.text.push_str(text),
        _ => spans.push(Span { text: text.to_owned(), style }),
    }
}

fn set() -> &'static SyntaxSet {
    static SET: OnceLock<SyntaxSet> = OnceLock::new();
    SET.get_or_init(SyntaxSet::load_defaults_newlines)
}

fn scopes() -> &'static [(Scope, Choice)] {
    static STYLES: OnceLock<Vec<(Scope, Choice)>> = OnceLock::new();
    STYLES.get_or_init(|| {
        let parsed = SCOPES.iter().map(|(name, style)| Some((Scope::new(name).ok()?, *style)));
        parsed.flatten().collect()
    })
}
