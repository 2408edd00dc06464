//! Patterns of file names: the arguments `pattern` of `glob` and `glob` of `grep`.

use globset::{GlobBuilder, GlobMatcher};

use crate::fault::CallFailure;

/// Pattern of file names.
#[derive(Debug)]
pub(super) struct NamePattern {
    matcher: GlobMatcher,
    whole: bool,
}

impl NamePattern {
    /// Reads a pattern. One with a `/` is compared with the path below a folder, another one with
    /// the name.
    pub(super) fn new(pattern: &str) -> Result<Self, CallFailure> {
        let relative = pattern.trim_start_matches("./").trim_start_matches('/');
        let glob = GlobBuilder::new(relative).literal_separator(true).build().map_err(|error| {
            CallFailure::Message(format!(
                "the file name pattern does not read: {error}; it has *, **, ?, [a-z] and \
                 {{a,b}}, and \\ before what is meant literally"
            ))
        })?;
        Ok(Self { matcher: glob.compile_matcher(), whole: pattern.contains('/') })
    }

    /// Returns true if a file matches, by its path below the folder.
    pub(super) fn fits(&self, path: &[u8]) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let compared = if self.whole { path } else { name };
        self.matcher.is_match(std::ffi::OsStr::from_bytes(compared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names_or_paths() {
        let fits =
            |pattern: &str, path: &str| NamePattern::new(pattern).unwrap().fits(path.as_bytes());
        for (pattern, path, expected) in [
            ("*.rs", "src/a/b.rs", true),
            ("*.rs", "src/b.rsx", false),
            ("src/*.rs", "src/b.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**/*.rs", "src/b.rs", true),
            ("src/**/*.rs", "src/a/c/b.rs", true),
            ("**/b.rs", "b.rs", true),
            ("?.rs", "bb.rs", false),
            ("*.{rs,toml}", "a/Cargo.toml", true),
            ("[ab].rs", "c.rs", false),
            ("./src/**", "src/a/b", true),
            ("/src/**", "src/a/b", true),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
        assert!(NamePattern::new("a[").is_err());
    }
}
