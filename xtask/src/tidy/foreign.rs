//! Checks the crates that the product is built with, also indirectly: their licences, their sources,
//! and crates that must not be among them.
//!
//! Known vulnerabilities are not checked here, since their list is a download: `cargo audit` reads
//! the same lock file.

use crate::tidy::Finding;
use crate::tidy::rules::{BANNED, LICENCES, REGISTRY};
use crate::tidy::workspace::Workspace;

const LOCK: &str = "Cargo.lock";

/// Finds foreign crates that must not be used.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in &workspace.foreign {
        let name = format!("{} {}", one.name, one.version);
        if one.source.as_deref() != Some(REGISTRY) {
            findings.push(Finding::new(
                LOCK,
                format!("{name} comes from {}", one.source.as_deref().unwrap_or("a path")),
                "use a release from the registry",
            ));
        }
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == one.name) {
            findings.push(Finding::new(
                LOCK,
                format!("{name} is banned: {why}"),
                "turn off the feature that needs it",
            ));
        }
        let licence = one.license.as_deref().unwrap_or("no licence");
        if !is_allowed(licence) {
            findings.push(Finding::new(
                LOCK,
                format!("{name} has the licence `{licence}`"),
                "use another crate, or add the licence to LICENCES in xtask/src/tidy/rules.rs",
            ));
        }
    }
    findings
}

/// Returns true if an SPDX expression can be met with the allowed licences. `/` is the older form of
/// `OR`, which binds weaker than `AND`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Expression { words: &words };
    parser.any() == Some(true) && parser.words.is_empty()
}

/// Words of an expression that were not read yet. Its parts are `None` if they are invalid.
struct Expression<'a> {
    words: &'a [&'a str],
}

impl<'a> Expression<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut allowed = self.all()?;
        while self.takes("OR") {
            allowed |= self.all()?;
        }
        Some(allowed)
    }

    fn all(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.takes("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.takes("(") {
            let allowed = self.any()?;
            return self.takes(")").then_some(allowed);
        }
        let licence = self.next()?;
        let whole = match self.takes("WITH") {
            true => format!("{licence} WITH {}", self.next()?),
            false => licence.to_owned(),
        };
        Some(LICENCES.contains(&whole.as_str()))
    }

    fn takes(&mut self, word: &str) -> bool {
        let is = self.words.first() == Some(&word);
        if is {
            self.next();
        }
        is
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::ForeignCrate;

    #[test]
    fn an_expression_is_met_by_allowed_licences() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 / MIT",
            "GPL-3.0-only OR MIT",
            "(MIT OR GPL-2.0-only) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR BSL-1.0",
        ] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in [
            "",
            "no licence",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT WITH Bison-exception-2.2",
        ] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn each_rule_has_its_finding() {
        let crates = [
            ("good", "MIT", Some(REGISTRY)),
            ("forked", "MIT", Some("git+https://example.org/forked")),
            ("copyleft", "GPL-3.0-only", Some(REGISTRY)),
            (BANNED[0].0, "MIT", Some(REGISTRY)),
        ];
        let foreign = crates.map(|(name, license, source)| ForeignCrate {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: Some(license.to_owned()),
            source: source.map(str::to_owned),
        });
        let found = check(&Workspace { foreign: foreign.to_vec(), ..Workspace::default() });
        let found: Vec<&str> = found.iter().map(|finding| finding.wrong.as_str()).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("forked 1.0.0 comes from git"), "{found:?}");
        assert!(found[1].contains("copyleft 1.0.0 has the licence"), "{found:?}");
        assert!(found[2].contains("is banned"), "{found:?}");
    }
}
