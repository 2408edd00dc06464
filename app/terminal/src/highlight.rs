//! Colors of code. Without the feature `highlight`, and for languages that are not known, code has one style.

use crate::text::{Span, Style};
use crate::theme::Theme;

#[cfg(feature = "highlight")]
mod syntax;

/// Lines of a block that are colored. Later ones are plain.
#[cfg(feature = "highlight")]
const LINES: usize = 1_000;

/// Bytes of a line that is colored. After a longer one all is plain.
#[cfg(feature = "highlight")]
const LINE: usize = 2_000;

/// Styles the lines of a block of code, in order.
#[derive(Debug, Clone)]
pub(crate) struct Highlighter {
    plain: Style,
    #[cfg(feature = "highlight")]
    syntax: Option<syntax::Syntax>,
    #[cfg(feature = "highlight")]
    lines: usize,
}

impl Highlighter {
    /// Starts a block in a language by its name or the ending of its files. The syntaxes are loaded with the
    /// first block of a known language.
    pub(crate) fn new(language: &str, theme: &Theme) -> Self {
        #[cfg(not(feature = "highlight"))]
        let _ = language;
        Self {
            plain: theme.code,
            #[cfg(feature = "highlight")]
            syntax: syntax::Syntax::new(language, theme),
            #[cfg(feature = "highlight")]
            lines: 0,
        }
    }

    /// Returns the spans of the next line, which has no line break.
    #[cfg(feature = "highlight")]
    pub(crate) fn line(&mut self, code: &str) -> Vec<Span> {
        self.lines += 1;
        if self.lines > LINES || code.len() > LINE {
            self.syntax = None;
        }
        match self.syntax.as_mut().and_then(|syntax| syntax.line(code)) {
            Some(spans) => spans,
            None => self.plain(code),
        }
    }

    /// Returns the spans of the next line, which has no line break.
    #[cfg(not(feature = "highlight"))]
    pub(crate) fn line(&mut self, code: &str) -> Vec<Span> {
        self.plain(code)
    }

    fn plain(&self, code: &str) -> Vec<Span> {
        let span = Span { text: code.to_owned(), style: self.plain };
        if code.is_empty() { Vec::new() } else { vec![span] }
    }
}

/// Code whose lines need the patterns of common languages.
#[cfg(feature = "highlight")]
const COMMON: &[(&str, &str)] = &[
    ("bash", "if [ -n \"$a\" ]; then echo 'b' | cat; fi # c\n"),
    ("diff", "@@ -1 +1 @@\n-a\n+b\n"),
    ("go", "func f(a int) (b string) { return \"c\" + fmt.Sprint(1) } // d\n"),
    ("html", "<p class=\"a\">b</p>\n"),
    ("java", "class A { int f(String a) { return 1 + b.c(\"d\"); } } // e\n"),
    ("js", "const f = async (a) => { return `b ${a.c}` + 1; } // d\n"),
    ("json", "{\"a\": [1, true, \"b\"]}\n"),
    ("python", "def f(a: int = 1) -> str:\n    return f\"b {a}\" + 'c' # d\n"),
    ("rust", "pub fn f<'a>(b: &'a str) -> Option<u32> { Some(b.len() + 1) } // c\n"),
    ("yaml", "a:\n  - b: 1 # c\n"),
];

/// Compiles the patterns of common languages in a thread of its own, once in a process, so that their
/// first block of code is not drawn late. Without the feature `highlight` there are none.
pub fn prepare_highlighting() {
    #[cfg(feature = "highlight")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        let prepare = || {
            for (language, code) in COMMON {
                let mut block = Highlighter::new(language, &Theme::dark());
                code.lines().for_each(|line| drop(block.line(line)));
            }
        };
        let thread = || std::thread::Builder::new().name("highlight".to_owned()).spawn(prepare);
        // Without the thread a first block takes its time.
        ONCE.call_once(|| drop(thread()));
    }
}

#[cfg(all(test, feature = "highlight"))]
mod tests {
    use super::*;

    fn styles(language: &str, code: &str) -> Vec<(String, Style)> {
        let mut block = Highlighter::new(language, &Theme::dark());
        let spans = code.lines().flat_map(|line| block.line(line));
        spans.map(|span| (span.text, span.style)).collect()
    }

    #[test]
    fn words_of_a_language_have_their_styles_across_lines() {
        let theme = Theme::dark();
        let spans = styles("rust", "/* one\ntwo */ fn name() -> u32 { 12; \"text\" }");
        let style = |word: &str| spans.iter().find(|span| span.0.contains(word)).unwrap().1;
        assert_eq!((style("one"), style("two")), (theme.comment, theme.comment));
        assert_eq!((style("fn"), style("name")), (theme.keyword, theme.function));
        assert_eq!((style("12"), style("text")), (theme.number, theme.string));
        assert_eq!(style("{"), theme.text);
        let text: String = spans.iter().map(|span| span.0.as_str()).collect();
        assert_eq!(text, "/* onetwo */ fn name() -> u32 { 12; \"text\" }");
        other_languages_and_too_long_code_are_plain();
    }

    /// Loading the syntaxes takes longer than all else, so there is one test.
    fn other_languages_and_too_long_code_are_plain() {
        let code = Theme::dark().code;
        assert_eq!(styles("no-such-language", "let x"), [("let x".to_owned(), code)]);
        let long = "let x = 1; ".repeat(200);
        assert_eq!(
            styles("rust", &format!("{long}\nlet")),
            [(long, code), ("let".to_owned(), code)]
        );
        let mut block = Highlighter::new("rust", &Theme::dark());
        let counts = [block.line("let x").len(), (1..1_000).map(|_| block.line("")).count()];
        assert_eq!((counts, block.line("let x").len()), ([2, 999], 1));
        assert_eq!(styles("jsonc", "[1]"), styles("json", "[1]"));
        for (language, code) in COMMON {
            assert!(styles(language, code).len() > 1, "{language} has colors");
        }
    }
}
