//! Options of much used programs that make them run other programs or write files.
//!
//! A rule `git log *` means a program that reads. No star of a rule that allows matches such an
//! option, nor an expansion before `--` that may yield one. Incomplete by nature: what a program
//! does by its own language (`awk`, `sed`, `make`) is not looked at.

use super::{Symbol, Word, literal};

/// Options of a program. Long ones are written without their dashes.
struct ProgramOptions {
    name: &'static str,
    /// Options that run a program.
    running: &'static [&'static str],
    /// Letters of options that run a program.
    running_letters: &'static str,
    /// Options that write a file or change the system.
    writing: &'static [&'static str],
    /// Letters of options that write a file or change the system.
    writing_letters: &'static str,
}

const fn options(
    name: &'static str,
    (running_letters, running): (&'static str, &'static [&'static str]),
    (writing_letters, writing): (&'static str, &'static [&'static str]),
) -> ProgramOptions {
    ProgramOptions { name, running, running_letters, writing, writing_letters }
}

const PROGRAMS: &[ProgramOptions] = &[
    options("cargo", ("", &["config"]), ("", &[])),
    options(
        "curl",
        ("", &[]),
        (
            "oODcK",
            &[
                "output",
                "output-dir",
                "remote-name",
                "remote-name-all",
                "dump-header",
                "cookie-jar",
                "trace",
                "trace-ascii",
                "stderr",
                "config",
                "libcurl",
                "etag-save",
                "hsts",
                "alt-svc",
            ],
        ),
    ),
    options("date", ("", &[]), ("s", &["set"])),
    options("fd", ("xX", &["exec", "exec-batch"]), ("", &[])),
    options("fdfind", ("xX", &["exec", "exec-batch"]), ("", &[])),
    options("find", ("", &[]), ("", &["delete", "fprint", "fprint0", "fprintf", "fls"])),
    options(
        "git",
        (
            "",
            &[
                "ext-diff",
                "textconv",
                "open-files-in-pager",
                "upload-pack",
                "receive-pack",
                "exec",
                "extcmd",
            ],
        ),
        ("", &["output", "output-directory"]),
    ),
    options("go", ("", &["exec", "toolexec", "vettool"]), ("", &["o"])),
    options("iconv", ("", &[]), ("o", &["output"])),
    options("less", ("", &[]), ("oOk", &["log-file", "lesskey-file"])),
    options("man", ("PH", &["pager", "html"]), ("", &[])),
    options("rg", ("", &["pre", "hostname-bin"]), ("", &[])),
    options("rsync", ("e", &["rsh", "rsync-path"]), ("", &["log-file", "write-batch"])),
    options("scp", ("oSDF", &[]), ("", &[])),
    options("sed", ("", &[]), ("i", &["in-place"])),
    options("sftp", ("oSDF", &[]), ("", &[])),
    options("shuf", ("", &[]), ("o", &["output"])),
    options("sort", ("", &["compress-program"]), ("o", &["output"])),
    options(
        "tar",
        (
            "IF",
            &[
                "checkpoint-action",
                "to-command",
                "use-compress-program",
                "info-script",
                "new-volume-script",
                "rsh-command",
                "rmt-command",
            ],
        ),
        ("", &[]),
    ),
    options("tree", ("", &[]), ("o", &[])),
    options("wget", ("e", &["execute", "use-askpass"]), ("", &[])),
    options("xmllint", ("", &[]), ("", &["output"])),
    options("yq", ("", &[]), ("i", &["inplace", "in-place"])),
];

/// Subcommands that run a program of their words, with the option for it if they need one.
const RUNNING_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("git bisect", &["run"]),
    ("git difftool", &["-x", "--extcmd"]),
    ("git filter-branch", &["filter"]),
    ("git grep", &["-O"]),
    ("git rebase", &["-x", "--exec"]),
    ("git submodule", &["foreach"]),
];

fn program(name: &str) -> Option<&'static ProgramOptions> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// Returns true if options of the words make this program run another one.
pub(super) fn run_programs(name: &str, texts: &[Option<String>]) -> bool {
    let found = |program: &ProgramOptions| {
        let mut words = texts.iter().skip(1).flatten();
        words.any(|word| is_option(word, program.running_letters, program.running))
    };
    program(name).is_some_and(found) || runs_by_subcommand(name, texts)
}

fn runs_by_subcommand(name: &str, texts: &[Option<String>]) -> bool {
    let words = || texts.iter().skip(1).flatten();
    let runs = |word: &str, mark: &str| match mark.strip_prefix('-') {
        Some(letter) if letter.len() == 1 => is_option(word, letter, &[]),
        Some(_) | None => word.contains(mark),
    };
    RUNNING_SUBCOMMANDS.iter().any(|(command, marks)| {
        let subcommand = command.strip_prefix(name).and_then(|rest| rest.strip_prefix(' '));
        subcommand.is_some_and(|subcommand| words().any(|word| word == subcommand))
            && words().any(|word| marks.iter().any(|mark| runs(word, mark)))
    })
}

/// Returns true for each word that no star of an allowing pattern matches.
pub(super) fn fixed_words(words: &[Word]) -> Vec<bool> {
    let name = words.first().and_then(|program| literal(&super::form::base_name(program)));
    let Some(program) = name.as_deref().and_then(program) else {
        return Vec::new();
    };
    let mut subcommand = program.name != "git";
    let mut options = true;
    let fixed = |word: &Word| {
        options &= literal(word).as_deref() != Some("--");
        let global = !subcommand && is_global(word);
        subcommand |= word.first() != Some(&Symbol::Char('-'));
        match literal(word) {
            None => options,
            Some(word) => {
                global || options && is_option(&word, program.writing_letters, program.writing)
            }
        }
    };
    std::iter::once(false).chain(words.iter().skip(1).map(fixed)).collect()
}

/// Returns true for options before the subcommand of git that change what it runs or where.
fn is_global(word: &Word) -> bool {
    let text = literal(word).unwrap_or_default();
    text.starts_with('-') && !matches!(text.as_str(), "--no-pager" | "-P" | "--version" | "--help")
}

/// Returns true if a word is one of these options, also abbreviated, with a value or among other
/// letters.
fn is_option(word: &str, letters: &str, names: &[&str]) -> bool {
    let Some(option) = word.strip_prefix('-') else {
        return false;
    };
    let name = option.strip_prefix('-');
    let text = name.unwrap_or(option).split('=').next().unwrap_or_default();
    match name {
        Some(_) => !text.is_empty() && names.iter().any(|name| name.starts_with(text)),
        None => names.contains(&text) || option.contains(|c| letters.contains(c)),
    }
}
