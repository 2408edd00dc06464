//! Environment of a child process: an allow-list without secrets.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Variables that child processes usually need. A secret in any other variable does not reach them.
const PASSED: [&str; 23] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ADDRESS",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];

/// Returns the part of `vars` that a child process receives: the usual variables and those in
/// `named`.
#[must_use]
pub fn allowed(
    vars: impl Iterator<Item = (OsString, OsString)>,
    named: &[String],
) -> Vec<(OsString, OsString)> {
    let wanted = |name: &OsStr| {
        PASSED.iter().any(|passed| name == *passed) || named.iter().any(|n| name == n.as_str())
    };
    let cleaned = |(name, value): (OsString, OsString)| {
        let value = if name == "PATH" { absolute_only(&value) } else { value };
        // An empty search path means the workspace; without one the shell uses its default.
        (name != "PATH" || !value.is_empty()).then_some((name, value))
    };
    let mut passed: Vec<_> = vars.filter(|(name, _)| wanted(name)).filter_map(cleaned).collect();
    // Without this, git asks on the terminal and waits for an answer that cannot come.
    passed.push((OsString::from("GIT_TERMINAL_PROMPT"), OsString::from("0")));
    passed
}

/// Removes relative folders from a search path.
///
/// They would be folders of the workspace, and a program there could take the name of another.
#[must_use]
pub fn absolute_only(path: &OsStr) -> OsString {
    let folders = path.as_bytes().split(|byte| *byte == b':');
    let absolute = folders.filter(|folder| Path::new(OsStr::from_bytes(folder)).is_absolute());
    OsString::from_vec(absolute.collect::<Vec<_>>().join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(vars: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        vars.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn only_what_is_listed_or_named_passes() {
        let vars = [
            ("PATH", "/bin"),
            ("OPENAI_API_KEY", "k"),
            ("AWS_SECRET_ACCESS_KEY", "k"),
            ("LC_SECRET", "k"),
            ("SSH_AUTH_SOCK", "k"),
            ("CARGO_HOME", "/c"),
        ];
        let passed = allowed(pairs(&vars).into_iter(), &[String::from("CARGO_HOME")]);
        let expected = [("PATH", "/bin"), ("CARGO_HOME", "/c"), ("GIT_TERMINAL_PROMPT", "0")];
        assert_eq!(passed, pairs(&expected));
    }

    #[test]
    fn the_search_path_holds_no_folder_of_the_workspace() {
        assert_eq!(absolute_only(OsStr::new(".:/bin::bin:/usr/bin:")), "/bin:/usr/bin");
    }
}
