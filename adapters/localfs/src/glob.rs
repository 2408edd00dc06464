//! File name patterns for `search`: `*`, `**` and `?`, made a regular expression.

use regex::bytes::Regex;

/// A file name pattern.
#[derive(Debug)]
pub(crate) struct Glob {
    regex: Regex,
    whole: bool,
}

impl Glob {
    /// Reads a pattern. One with a `/` is held against the path, another against the name.
    pub(crate) fn new(pattern: &str) -> Result<Self, regex::Error> {
        let mut text = String::from("(?s-u)^");
        let mut rest = pattern.trim_start_matches('/');
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("**/") {
                text.push_str("(?:.*/)?");
                rest = after;
                continue;
            }
            if let Some(after) = rest.strip_prefix("**") {
                text.push_str(".*");
                rest = after;
                continue;
            }
            let (one, after) = rest.split_at(c.len_utf8());
            match c {
                '*' => text.push_str("[^/]*"),
                '?' => text.push_str("[^/]"),
                _ => text.push_str(&regex::escape(one)),
            }
            rest = after;
        }
        text.push('$');
        Ok(Self { regex: Regex::new(&text)?, whole: pattern.contains('/') })
    }

    /// Returns true if a file matches.
    pub(crate) fn fits(&self, path: &[u8], name: &[u8]) -> bool {
        self.regex.is_match(if self.whole { path } else { name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names_or_paths() {
        let fits = |pattern: &str, path: &str| {
            let name = path.rsplit('/').next().unwrap();
            Glob::new(pattern).unwrap().fits(path.as_bytes(), name.as_bytes())
        };
        assert!(fits("*.rs", "src/a/b.rs"));
        assert!(!fits("*.rs", "src/b.rsx"));
        assert!(fits("src/*.rs", "src/b.rs"));
        assert!(!fits("src/*.rs", "src/a/b.rs"));
        assert!(fits("src/**/*.rs", "src/b.rs"));
        assert!(fits("src/**/*.rs", "src/a/c/b.rs"));
        assert!(fits("**/b.rs", "b.rs"));
        assert!(fits("?.rs", "b.rs"));
        assert!(!fits("?.rs", "bb.rs"));
        assert!(fits("grün[1].txt", "x/grün[1].txt"));
        assert!(fits("/src/**", "src/a/b"));
    }
}
