//! Prefixes: the first words of a command, by which a person allows commands like it.
//!
//! A prefix names what runs and how: the program with its subcommand, or with the options that
//! follow it. Programs that run whatever they are given have none without the script that they run.

use super::form::base_name;
use super::runners::{Runs, is_shell, runs};
use super::{Redirect, SimpleCommand, literal, parse_at};

/// Most words of a prefix.
const MAX_WORDS: usize = 8;
/// Longest prefix, in bytes.
const MAX_BYTES: usize = 200;

/// Reason why a command line has no prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPrefix {
    /// The line has no certain reading.
    #[error("the command line has no certain reading")]
    Unreadable,
    /// The line has several commands.
    #[error("it has more than one command")]
    Several,
    /// It sets variables or writes to files.
    #[error("it sets variables or redirects into a file")]
    Changes,
    /// The program runs other programs or code.
    #[error("`{0}` runs whatever it is given, so its first words say nothing about what runs")]
    OpenEnded(String),
    /// The program has no subcommand here.
    #[error("`{0}` needs its subcommand as the next word")]
    Subcommand(String),
    /// The first words have characters that a shell or a pattern treats specially.
    #[error("its first words are not plain")]
    NotPlain,
}

/// Programs that interpret a language. A script or a module must follow.
const INTERPRETERS: &[&str] = &[
    "bun",
    "deno",
    "java",
    "julia",
    "lua",
    "luajit",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "R",
    "Rscript",
    "ruby",
    "tclsh",
    "ts-node",
    "tsx",
    "wish",
];

/// Programs whose words are code, or that run what their options or files name.
const OPEN_ENDED: &[&str] = &[
    "awk", "bc", "bunx", "cmake", "crontab", "dc", "ed", "emacs", "ex", "find", "gawk", "jshell",
    "less", "m4", "man", "mawk", "more", "mysql", "nano", "nc", "ncat", "npx", "nvim", "pnpx",
    "psql", "rsync", "scp", "sed", "sftp", "socat", "sqlite3", "ssh", "tar", "tee", "telnet",
    "uvx", "vi", "view", "vim",
];

/// Programs and subcommands that run whatever the words after them name.
const OPEN_SUBCOMMANDS: &[(&str, &str)] = &[
    ("bun", "x"),
    ("deno", "eval"),
    ("deno", "run"),
    ("go", "run"),
    ("nix", "run"),
    ("pipx", "run"),
    ("pnpm", "dlx"),
    ("uv", "tool"),
    ("yarn", "dlx"),
];

/// Programs with subcommands, and the most words of those.
const SUBCOMMANDS: &[(&str, usize)] = &[
    ("apt", 1),
    ("apt-get", 1),
    ("aws", 2),
    ("az", 2),
    ("bazel", 1),
    ("brew", 1),
    ("bundle", 1),
    ("cargo", 1),
    ("composer", 1),
    ("conda", 1),
    ("deno", 1),
    ("dnf", 1),
    ("docker", 2),
    ("dotnet", 1),
    ("flutter", 1),
    ("gcloud", 2),
    ("gem", 1),
    ("gh", 2),
    ("git", 1),
    ("glab", 2),
    ("go", 1),
    ("gradle", 1),
    ("helm", 1),
    ("jj", 1),
    ("just", 1),
    ("kubectl", 1),
    ("make", 1),
    ("mix", 1),
    ("mvn", 1),
    ("nix", 1),
    ("npm", 1),
    ("pip", 1),
    ("pip3", 1),
    ("pnpm", 1),
    ("podman", 2),
    ("poetry", 1),
    ("rails", 1),
    ("rake", 1),
    ("rustup", 1),
    ("stack", 1),
    ("svn", 1),
    ("swift", 1),
    ("systemctl", 1),
    ("task", 1),
    ("terraform", 1),
    ("uv", 1),
    ("yarn", 1),
    ("zig", 1),
];

/// Subcommands that a name of a script follows.
const SCRIPTS: &[(&str, &str)] =
    &[("bun", "run"), ("npm", "run"), ("npm", "run-script"), ("pnpm", "run"), ("yarn", "run")];

/// Returns the prefix of a command line.
///
/// # Errors
/// [`NoPrefix`] when no prefix says what such commands run.
pub fn command_prefix(line: &str) -> Result<Vec<String>, NoPrefix> {
    let commands = parse_at(line, 0).map_err(|_| NoPrefix::Unreadable)?;
    let [command] = &*commands else {
        return Err(if commands.is_empty() { NoPrefix::Unreadable } else { NoPrefix::Several });
    };
    let prefix = of_command(command)?;
    let bytes: usize = prefix.iter().map(String::len).sum();
    match prefix.iter().all(|word| is_plain(word)) && bytes <= MAX_BYTES {
        true => Ok(prefix),
        false => Err(NoPrefix::NotPlain),
    }
}

/// Returns true if these words can be a prefix of commands: as a pattern they are themselves.
#[must_use]
pub fn is_command_prefix(words: &[String]) -> bool {
    !words.is_empty() && words.len() <= MAX_WORDS && words.iter().all(|word| is_plain(word))
}

fn of_command(command: &SimpleCommand) -> Result<Vec<String>, NoPrefix> {
    if !command.assignments.is_empty() || command.redirects.iter().any(Redirect::writes) {
        return Err(NoPrefix::Changes);
    }
    let texts: Vec<Option<String>> = command.words.iter().map(|word| literal(word)).collect();
    let program = command.words.first().ok_or(NoPrefix::Changes)?;
    let name = literal(&base_name(program)).ok_or(NoPrefix::NotPlain)?;
    let first = texts.first().cloned().flatten().ok_or(NoPrefix::NotPlain)?;
    let rest = texts.get(1..).unwrap_or_default();
    let next = rest.first().cloned().flatten().unwrap_or_default();
    let open = OPEN_ENDED.contains(&&*name) || OPEN_SUBCOMMANDS.contains(&(&name, &next));
    if open || runs(&name, &command.words) != Runs::Nothing {
        return Err(NoPrefix::OpenEnded(name));
    }
    let more = match SUBCOMMANDS.iter().find(|(program, _)| *program == name) {
        _ if is_shell(&name) || is_interpreter(&name) => {
            script(rest).ok_or(NoPrefix::OpenEnded(name))?
        }
        Some((_, most)) => {
            subcommand(&name, rest, *most).ok_or_else(|| NoPrefix::Subcommand(name.clone()))?
        }
        None => leading(rest, |word| word.starts_with('-') && word != "--"),
    };
    Ok([vec![first], more].concat())
}

/// Returns true for an interpreter, also with its version as in `python3.12`.
fn is_interpreter(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&bare)
}

/// Returns the words that name what an interpreter runs.
fn script(rest: &[Option<String>]) -> Option<Vec<String>> {
    match rest {
        [Some(option), Some(module), ..] if option == "-m" => {
            Some(vec![option.clone(), module.clone()])
        }
        [Some(script), ..] if !script.starts_with(['-', '+']) => {
            // What a shell or an interpreter reads from a descriptor is in no file.
            let in_file = !script.contains("/dev/") && !script.contains("/proc/");
            in_file.then(|| vec![script.clone()])
        }
        _ => None,
    }
}

fn subcommand(name: &str, rest: &[Option<String>], most: usize) -> Option<Vec<String>> {
    let plain = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'))
    };
    let first = rest.first().cloned().flatten()?;
    let most = most.saturating_add(usize::from(SCRIPTS.contains(&(name, &*first))));
    let words = leading(rest.get(..most).unwrap_or(rest), plain);
    (!words.is_empty()).then_some(words)
}

fn leading(words: &[Option<String>], fits: impl Fn(&str) -> bool) -> Vec<String> {
    let words = words.iter().map_while(|word| word.clone().filter(|word| fits(word)));
    words.take(MAX_WORDS.saturating_sub(1)).collect()
}

fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    !word.is_empty() && word.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_names_what_runs() {
        for (line, prefix) in [
            ("git log --oneline -3", "git log"),
            ("  git   status", "git status"),
            ("cargo test -p x", "cargo test"),
            ("npm run build -- --watch", "npm run build"),
            ("gh pr list --limit 3", "gh pr list"),
            ("aws s3", "aws s3"),
            ("touch a b", "touch"),
            ("ls -la src", "ls -la"),
            ("rm -rf build", "rm -rf"),
            ("/usr/bin/git log", "/usr/bin/git log"),
            ("python3 tools/gen.py x", "python3 tools/gen.py"),
            ("python3.12 -m pytest -q", "python3.12 -m pytest"),
            ("bash scripts/build.sh", "bash scripts/build.sh"),
            ("grep -rn 'a b' . 2>/dev/null", "grep -rn"),
        ] {
            let words: Vec<&str> = prefix.split(' ').collect();
            assert_eq!(command_prefix(line).unwrap(), words, "{line}");
        }
    }

    #[test]
    fn nothing_that_runs_anything_has_one() {
        let several = ["git log; touch x", "git log | head", "echo $(rm x)", "a && b", "a\nb"];
        for line in several {
            assert_eq!(command_prefix(line), Err(NoPrefix::Several), "{line}");
        }
        for line in ["echo 'x", "((1))", "", "#"] {
            assert_eq!(command_prefix(line), Err(NoPrefix::Unreadable), "{line}");
        }
        for line in ["X=1 make", "git log > x", "PATH=."] {
            assert_eq!(command_prefix(line), Err(NoPrefix::Changes), "{line}");
        }
        for line in [
            "sh",
            "bash -c ls",
            "bash -l",
            "sudo ls",
            "env ls",
            "xargs rm",
            "python",
            "python -c x",
            "node -e x",
            "perl -e x",
            "python3.12",
            "nice ls",
            "time ls",
            "find . -name x",
            "eval ls",
            "ssh host ls",
            "docker run x",
            "npm exec x",
            "uv run x",
            "go run ./x",
            "deno run x.ts",
            "npx x",
            "yarn dlx x",
            "watch ls",
            "awk x",
            "sed -n p x",
            "python /dev/stdin",
            "/usr/bin/env ls",
            "git rebase -x ls",
        ] {
            assert!(matches!(command_prefix(line), Err(NoPrefix::OpenEnded(_))), "{line}");
        }
        for line in ["git", "git -c a=b log", "git -C /x log", "cargo --config x build", "make"] {
            let found = command_prefix(line);
            let refused = matches!(found, Err(NoPrefix::Subcommand(_) | NoPrefix::OpenEnded(_)));
            assert!(refused, "{line}: {found:?}");
        }
        for line in ["$X y", "'a b' c", "git* x", "./a*b"] {
            assert_eq!(command_prefix(line), Err(NoPrefix::NotPlain), "{line}");
        }
    }
}
