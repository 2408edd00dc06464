//! Public items of a source file, as its text declares them. It reads tokens and builds no syntax
//! tree.

/// Keywords that may stand between `pub` and the keyword of an item.
const QUALIFIERS: &[&str] = &["async", "const", "extern", "unsafe"];

/// Keywords of items that a name follows.
const KINDS: &[&str] =
    &["const", "enum", "fn", "mod", "static", "struct", "trait", "type", "union"];

/// Name of a public item with its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) line: usize,
    pub(super) name: &'a str,
}

/// Returns the public items, fields, variants and methods outside code that only tests are built of.
///
/// A macro that is called at the top level is a table of items: its type names count too.
pub(super) fn public(text: &str) -> Vec<Item<'_>> {
    let mut scanner = Scanner {
        tokens: tokens(text),
        at: 0,
        scopes: Vec::new(),
        next: Scope::Plain,
        starts: false,
        found: Vec::new(),
    };
    while scanner.step() {}
    scanner.found
}

/// Meaning of a pair of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Plain,
    Enum,
    /// Body of a variant with named fields.
    Variant,
    Trait,
    /// Body of a macro that is called at the top level.
    Table,
}

struct Scanner<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    scopes: Vec<Scope>,
    /// Scope that the next brace opens.
    next: Scope,
    /// True after an opening bracket or a comma.
    starts: bool,
    found: Vec<Item<'a>>,
}

impl<'a> Scanner<'a> {
    /// Reads one token, or one attribute or head of an item.
    fn step(&mut self) -> bool {
        let Some(token) = self.tokens.get(self.at).copied() else {
            return false;
        };
        self.at += 1;
        match token.text {
            "#" if self.is(0, "[") => self.attribute(),
            "{" => {
                self.open(self.next);
                self.next = Scope::Plain;
            }
            "(" | "[" => self.open(Scope::Plain),
            "}" | ")" | "]" => {
                self.scopes.pop();
                self.next = Scope::Plain;
                self.starts = false;
            }
            "," => self.starts = true,
            "pub" => self.visible(),
            _ => self.word(token),
        }
        true
    }

    fn open(&mut self, scope: Scope) {
        self.scopes.push(scope);
        self.starts = true;
    }

    /// Skips an attribute, and the item after `#[cfg(test)]`.
    fn attribute(&mut self) {
        let start = self.at;
        self.skip_group();
        let of_tests = ["[", "cfg", "(", "test", ")", "]"];
        let attribute = self.tokens.get(start..self.at).unwrap_or_default();
        if !attribute.iter().map(|token| token.text).eq(of_tests) {
            return;
        }
        while let Some(token) = self.tokens.get(self.at) {
            match token.text {
                ";" | "," => return,
                "{" => return self.skip_group(),
                "(" | "[" => self.skip_group(),
                _ => self.at += 1,
            }
        }
    }

    /// Skips the brackets that open here, with their contents.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            match token.text {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Reads what follows `pub`: a head of an item, re-exports or a field.
    fn visible(&mut self) {
        self.starts = false;
        if self.is(0, "(") {
            return self.skip_group();
        }
        while QUALIFIERS.iter().any(|word| self.is(0, word)) && self.is_kind(1) {
            self.at += 1;
        }
        if self.is(0, "use") {
            return self.aliases();
        }
        if !self.is_kind(0) {
            if self.is(1, ":") {
                self.keep(0);
            }
            return;
        }
        self.next = match self.text(0) {
            "enum" => Scope::Enum,
            "trait" => Scope::Trait,
            _ => Scope::Plain,
        };
        self.at += 1;
        if self.is(0, "mut") {
            self.at += 1;
        }
        self.keep(0);
    }

    fn aliases(&mut self) {
        while self.at < self.tokens.len() && !self.is(0, ";") {
            if self.is(0, "as") {
                self.keep(1);
            }
            self.at += 1;
        }
    }

    fn word(&mut self, token: Token<'a>) {
        let starts = std::mem::take(&mut self.starts);
        let field = self.is(0, ":") && !self.is(1, ":");
        match self.scopes.last() {
            None if self.is(0, "!") && self.is(1, "{") => self.next = Scope::Table,
            Some(Scope::Enum) if starts && token.is_name() => {
                self.found.push(token.item());
                self.next = Scope::Variant;
            }
            Some(Scope::Variant) if starts && field => self.found.push(token.item()),
            Some(Scope::Trait) if ["fn", "type", "const"].contains(&token.text) => {
                self.keep(0);
                self.next = Scope::Plain;
            }
            _ if self.scopes.first() == Some(&Scope::Table) && token.is_camel_case() => {
                self.found.push(token.item());
            }
            _ => {}
        }
    }

    /// Records the name that is so many tokens ahead, if there is one.
    fn keep(&mut self, ahead: usize) {
        let token = self.tokens.get(self.at + ahead);
        let named = token.filter(|token| token.is_name() && token.text != "_");
        self.found.extend(named.map(|token| token.item()));
    }

    fn text(&self, ahead: usize) -> &'a str {
        let token = self.tokens.get(self.at + ahead);
        token.map_or("", |token| token.text)
    }

    fn is(&self, ahead: usize, text: &str) -> bool {
        self.text(ahead) == text
    }

    /// Returns true for a keyword of an item, or one that may stand before it.
    fn is_kind(&self, ahead: usize) -> bool {
        let text = self.text(ahead);
        KINDS.contains(&text) || QUALIFIERS.contains(&text)
    }
}

/// Name, keyword, number or punctuation mark. Comments, strings and lifetimes are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token<'a> {
    line: usize,
    text: &'a str,
}

impl<'a> Token<'a> {
    fn item(self) -> Item<'a> {
        Item { line: self.line, name: self.text }
    }

    fn is_name(self) -> bool {
        let first = self.text.chars().next();
        first.is_some_and(|first| first.is_alphabetic() || first == '_')
    }

    /// Returns true for a name of a type or variant, which starts with a capital letter.
    fn is_camel_case(self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let (length, counts) = measure(rest, first);
        let (token, after) = rest.split_at(length);
        if counts {
            found.push(Token { line, text: token });
        }
        line += token.matches('\n').count();
        rest = after;
    }
    found
}

/// Returns the length of the first token in bytes, and whether it is one for the scanner.
fn measure(rest: &str, first: char) -> (usize, bool) {
    let until = |end: &str| rest.find(end).unwrap_or(rest.len());
    if rest.starts_with("//") {
        return (until("\n"), false);
    }
    if rest.starts_with("/*") {
        return ((until("*/") + 2).min(rest.len()), false);
    }
    if let Some(length) = string(rest) {
        return (length, false);
    }
    if first == '\'' {
        return (quote(rest), false);
    }
    if first.is_alphanumeric() || first == '_' {
        let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
        return (end.unwrap_or(rest.len()), true);
    }
    (first.len_utf8(), !first.is_whitespace())
}

/// Returns the length of a string literal of any form.
fn string(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c", ""];
    let prefix = prefix.iter().find(|prefix| rest.starts_with(**prefix))?;
    let body = rest.get(prefix.len()..)?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let content = body.get(hashes..)?.strip_prefix('"')?;
    let start = rest.len() - content.len();
    if prefix.ends_with('r') {
        let end = format!("\"{}", "#".repeat(hashes));
        let length = content.find(&end).map(|at| at + end.len());
        return Some(start + length.unwrap_or(content.len()));
    }
    if hashes > 0 {
        return None;
    }
    let mut escaped = false;
    for (at, letter) in content.char_indices() {
        match letter {
            '"' if !escaped => return Some(start + at + 1),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    Some(rest.len())
}

/// Returns the length of a character literal or a lifetime.
fn quote(rest: &str) -> usize {
    let body = rest.get(1..).unwrap_or_default();
    let mut letters = body.char_indices();
    let first = letters.next().map(|(_, letter)| letter);
    if first == Some('\\') {
        let end = body.get(2..).and_then(|tail| tail.find('\''));
        return end.map_or(rest.len(), |end| end + 4);
    }
    match letters.next() {
        Some((at, '\'')) => at + 2,
        _ => {
            let end = body.find(|next: char| !next.is_alphanumeric() && next != '_');
            end.map_or(rest.len(), |end| end + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        public(text).iter().map(|item| item.name).collect()
    }

    #[test]
    fn items_fields_variants_and_methods_are_found_with_their_lines() {
        let text = "//! Doc.\npub mod a;\npub struct Point<T> {\n    pub x: T,\n    y: u8,\n}\n\
                    pub(crate) enum Own { No }\npub enum Shape<T> where T: Copy {\n    #[default]\n\
                    Dot,\n    Line(u8, u16),\n    Area { side: Map<u8, b::C>, top: u8 } = 3,\n}\n\
                    pub trait Draw {\n    const SIZE: u8;\n    type Ink;\n    fn draw(&self) { f(a) }\n}\n\
                    impl Point {\n    pub const unsafe fn go() {}\n    fn own() {}\n}\n\
                    pub const MAX: u8 = 1;\npub static mut COUNT: u8 = 2;\npub type Id = u8;\n\
                    enum Quiet { A }\nstruct Hidden { b: u8 }\n";
        let expected = [
            "a", "Point", "x", "Shape", "Dot", "Line", "Area", "side", "top", "Draw", "SIZE",
            "Ink", "draw", "go", "MAX", "COUNT", "Id",
        ];
        assert_eq!(names(text), expected);
        assert_eq!(public(text)[2], Item { line: 4, name: "x" });
        assert_eq!(public(text)[4].line, 10);
    }

    #[test]
    fn an_alias_and_the_rows_of_a_table_are_found() {
        assert_eq!(names("pub use a::{B as C, D as _, E};\n"), ["C"]);
        let table = "facts! {\n    /// Doc.\n    Session: SessionFact { Opened turn(a); }\n}\n";
        assert_eq!(names(table), ["Session", "SessionFact", "Opened"]);
        let macros =
            "macro_rules! facts {\n    ($name:ident) => { pub struct $name; pub fn go() {} };\n}\n";
        assert_eq!(names(macros), ["go"]);
    }

    #[test]
    fn tests_comments_and_strings_are_left_out() {
        let text = "#[cfg(test)]\nmod tests {\n    pub fn a() {}\n}\n#[cfg(test)]\npub mod b;\n\
                    // pub fn c() {}\n/* pub fn d() {} */\nconst E: &str = \"pub fn e() {} \\\" {\";\n\
                    const F: &str = r#\"pub fn f() {}\"#;\nconst G: [char; 3] = ['{', '\\'', '\"'];\n\
                    fn h<'a>(x: &'a str) {}\npub fn i() {}\n";
        assert_eq!(names(text), ["i"]);
    }
}
