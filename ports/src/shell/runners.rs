//! Runners: programs that run other programs, and where those begin in their words.

use super::options;
use super::{Word, literal};

/// Program whose words begin with its own options and operands, followed by a command.
struct Runner {
    name: &'static str,
    /// Options of one letter that a value follows.
    valued: &'static str,
    /// Operands before the command.
    operands: usize,
    /// True if it runs the command with the same rights and in the same environment.
    transparent: bool,
}

const fn runner(
    name: &'static str,
    valued: &'static str,
    operands: usize,
    transparent: bool,
) -> Runner {
    Runner { name, valued, operands, transparent }
}

const RUNNERS: &[Runner] = &[
    runner("builtin", "", 0, true),
    runner("busybox", "", 0, false),
    runner("chroot", "", 1, false),
    runner("command", "", 0, true),
    runner("coproc", "", 0, false),
    runner("doas", "uC", 0, false),
    runner("env", "u", 0, true),
    runner("exec", "a", 0, false),
    runner("fakeroot", "", 0, false),
    runner("ionice", "cn", 0, true),
    runner("nice", "n", 0, true),
    runner("nohup", "", 0, true),
    runner("pkexec", "", 0, false),
    runner("setsid", "", 0, false),
    runner("stdbuf", "ioe", 0, true),
    runner("sudo", "ug", 0, false),
    runner("taskset", "", 1, false),
    runner("time", "", 0, true),
    runner("timeout", "ks", 1, true),
    runner("toybox", "", 0, false),
    runner("xargs", "IndLPs", 0, false),
];

/// Subcommands that run a command of the words after them.
const SUBCOMMANDS: &[(&str, &str)] = &[
    ("aws-vault", "exec"),
    ("bundle", "exec"),
    ("conda", "run"),
    ("direnv", "exec"),
    ("docker", "exec"),
    ("docker", "run"),
    ("ip", "exec"),
    ("kubectl", "exec"),
    ("mise", "exec"),
    ("nix", "develop"),
    ("nix", "shell"),
    ("npm", "exec"),
    ("op", "run"),
    ("pipenv", "run"),
    ("pnpm", "exec"),
    ("podman", "exec"),
    ("podman", "run"),
    ("poetry", "run"),
    ("pyenv", "exec"),
    ("rbenv", "exec"),
    ("uv", "run"),
    ("yarn", "exec"),
];

/// Programs that run a command of their words in some other way.
const OTHERS: &[&str] = &[
    "at",
    "batch",
    "bwrap",
    "capsh",
    "cgexec",
    "choom",
    "chpst",
    "chronic",
    "chrt",
    "cpulimit",
    "dbus-run-session",
    "dotenv",
    "dtach",
    "dumb-init",
    "eatmydata",
    "entr",
    "envdir",
    "expect",
    "faketime",
    "firejail",
    "flock",
    "gdb",
    "gosu",
    "hyperfine",
    "linux32",
    "linux64",
    "logsave",
    "ltrace",
    "newgrp",
    "nix-shell",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "runcon",
    "runuser",
    "screen",
    "script",
    "sem",
    "setarch",
    "setlock",
    "setpriv",
    "sg",
    "ssh",
    "ssh-agent",
    "start-stop-daemon",
    "strace",
    "su",
    "su-exec",
    "systemd-run",
    "timelimit",
    "tini",
    "tmux",
    "torsocks",
    "trickle",
    "tsocks",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "xterm",
    "xvfb-run",
];

const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "sh", "zsh"];

/// Builtins of bash that expand a subscript in a word, and with it the commands of a substitution.
const EXPANDING: &[&str] = &[
    "[",
    "[[",
    "declare",
    "export",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
    "wait",
];

/// What the words of a command run besides its program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// Nothing that the words show.
    Nothing,
    /// A command that begins at each of these places.
    Commands {
        starts: Vec<(usize, usize)>,
        transparent: bool,
        /// True if the command gets more words.
        extended: bool,
    },
    /// A command line: this word.
    Line(usize),
    /// All words after the program, joined to a line.
    Joined,
    /// Commands somewhere in the words.
    Somewhere,
    /// Commands that the words do not show.
    Hidden,
}

/// Returns true if a program of this path is a shell.
pub(super) fn is_shell(path: &str) -> bool {
    SHELLS.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// Finds what a command runs. `name` is that of its program, without folders.
pub(super) fn runs(name: &str, words: &[Word]) -> Runs {
    let texts: Vec<Option<String>> = words.iter().map(|word| literal(word)).collect();
    let text = |place: usize| texts.get(place).and_then(Option::as_deref);
    if SHELLS.contains(&name) {
        return shell(&texts);
    }
    if let Some(runner) = RUNNERS.iter().find(|runner| runner.name == name) {
        return begin(runner, &texts, 1);
    }
    if OTHERS.contains(&name) || name.starts_with("ld-linux") || name.starts_with("ld.so") {
        return Runs::Somewhere;
    }
    if let Some(from) = after_subcommand(name, &texts) {
        return begin(&runner("", "", 0, false), &texts, from);
    }
    let substitutes = |text: &String| text.contains("$(") || text.contains('`');
    match name {
        "eval" if words.len() < 2 => Runs::Nothing,
        "eval" if texts.iter().all(Option::is_some) => Runs::Joined,
        "trap" if words.len() < 3 => Runs::Nothing,
        "trap" if matches!(text(1), Some("-" | "" | "-l" | "-p")) => Runs::Nothing,
        "trap" if text(1) == Some("--") && text(2).is_some() => Runs::Line(2),
        "trap" if text(1).is_some() => Runs::Line(1),
        "eval" | "trap" | "alias" | "enable" | "hash" => Runs::Hidden,
        "." | "source" => match text(1) {
            Some(script) if !is_descriptor(script) => Runs::Nothing,
            Some(_) | None => Runs::Hidden,
        },
        "find" => find(&texts),
        name if options::run_programs(name, &texts) => Runs::Somewhere,
        "git" if texts.iter().flatten().any(|text| text.contains("=!")) => Runs::Hidden,
        name if EXPANDING.contains(&name) && texts.iter().flatten().any(substitutes) => {
            Runs::Hidden
        }
        _ => Runs::Nothing,
    }
}

/// Finds the command line of a shell. A shell that reads its commands hides them.
fn shell(texts: &[Option<String>]) -> Runs {
    let mut place = 1;
    let mut line = false;
    while let Some(word) = texts.get(place) {
        let Some(option) = word.as_deref() else {
            return Runs::Hidden;
        };
        let Some(letters) = option.strip_prefix(['-', '+']).filter(|rest| !rest.is_empty()) else {
            break;
        };
        place = place.saturating_add(1);
        if option == "--" {
            break;
        }
        if option.starts_with("--") {
            if matches!(option, "--rcfile" | "--init-file") {
                return Runs::Hidden;
            }
            continue;
        }
        line |= letters.contains('c');
        if letters.contains('s') {
            return Runs::Hidden;
        }
        if letters.ends_with(['o', 'O']) {
            if texts.get(place).is_some_and(Option::is_none) {
                return Runs::Hidden;
            }
            place = place.saturating_add(1);
        }
    }
    match (texts.get(place).map(Option::as_deref), line) {
        (Some(Some(_)), true) => Runs::Line(place),
        (Some(Some(script)), false) if !is_descriptor(script) => Runs::Nothing,
        (Some(Some(_) | None) | None, _) => Runs::Hidden,
    }
}

/// Returns true if a script of this name is what the shell reads: its commands are in no file.
fn is_descriptor(script: &str) -> bool {
    script == "-" || ["/dev/", "/proc/"].iter().any(|folder| script.contains(folder))
}

/// Finds the begin of a runner's command, after so many words of it.
fn begin(runner: &Runner, texts: &[Option<String>], from: usize) -> Runs {
    let mut place = from;
    let mut transparent = runner.transparent;
    while let Some(Some(option)) = texts.get(place) {
        let Some(letters) = option.strip_prefix('-') else {
            break;
        };
        place = place.saturating_add(1);
        let mut letters = letters.chars();
        match (letters.next(), letters.next()) {
            (Some('-'), None) => break,
            (Some(letter), value) if runner.valued.contains(letter) => {
                // Without a variable, as `PATH`, the command may be another one.
                transparent &= runner.name != "env";
                place = place.saturating_add(usize::from(value.is_none()));
            }
            (Some('v' | 'V'), None) if runner.name == "command" => return Runs::Nothing,
            (Some('p'), None) if matches!(runner.name, "command" | "time") => {}
            (Some('n' | 'E'), None) if runner.name == "sudo" => {}
            (Some('0' | 'r' | 't'), None) if runner.name == "xargs" => {}
            (Some('0'..='9'), _) if runner.name == "nice" => {}
            _ => return Runs::Somewhere,
        }
    }
    let assigns = |text: &String| text.contains('=');
    while matches!(runner.name, "env" | "sudo" | "doas")
        && texts.get(place).and_then(Option::as_ref).is_some_and(assigns)
    {
        transparent = false;
        place = place.saturating_add(1);
    }
    place = place.saturating_add(runner.operands);
    // What an expansion yields may hold the command.
    if texts.iter().take(place.saturating_add(1)).any(Option::is_none) {
        return Runs::Hidden;
    }
    match texts.get(place) {
        None => Runs::Nothing,
        Some(_) => Runs::Commands {
            starts: vec![(place, texts.len())],
            transparent,
            extended: runner.name == "xargs",
        },
    }
}

/// Returns the place after the subcommand that runs a command.
fn after_subcommand(name: &str, texts: &[Option<String>]) -> Option<usize> {
    let found = |word: &Option<String>| {
        let word = word.as_deref().unwrap_or_default();
        SUBCOMMANDS.contains(&(name, word))
    };
    texts.iter().position(found).map(|place| place.saturating_add(1))
}

fn find(texts: &[Option<String>]) -> Runs {
    let mut starts = Vec::new();
    let executes = |text: &&str| matches!(*text, "-exec" | "-execdir" | "-ok" | "-okdir");
    for (place, text) in texts.iter().enumerate() {
        match text.as_deref() {
            // An expansion may yield such an option.
            None => return Runs::Hidden,
            text if text.as_ref().is_some_and(executes) => {
                let begin = place.saturating_add(1);
                let ends = |text: &Option<String>| matches!(text.as_deref(), Some(";" | "+"));
                let rest = texts.get(begin..).unwrap_or_default();
                let end = rest.iter().position(ends).unwrap_or(rest.len());
                starts.push((begin, begin.saturating_add(end)));
            }
            _ => {}
        }
    }
    if starts.is_empty() {
        return Runs::Nothing;
    }
    Runs::Commands { starts, transparent: false, extended: false }
}
