//! Context that the model receives with an input: the platform, the shell, the date, and the branch
//! and state of git. A part that is unchanged since the last input is not repeated.

use std::env::consts;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use windlass_engine::core::{ContextPart, Timestamp};

/// Longest wait for git. A repository that takes longer is described without its state.
const GIT_WAIT: Duration = Duration::from_secs(2);
/// Most bytes of git's report that are read.
const MAX_GIT_BYTES: u64 = 4 * 1024 * 1024;
/// The empty tree. Attributes are read from it, so that git runs no filter of the repository.
const NO_ATTRIBUTES: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Returns the context of an input at this time. Blocks for as long as git takes, at most two
/// seconds.
pub(crate) fn session_context(workspace: &Path, now: Timestamp) -> Vec<ContextPart> {
    let part = |from: &str, text: String| ContextPart { from: from.to_owned(), text: text.into() };
    let mut parts = vec![part("environment", environment(now))];
    parts.extend(git(workspace).map(|text| part("git", text)));
    parts
}

fn environment(now: Timestamp) -> String {
    let system = fs::read_to_string("/etc/os-release").ok();
    let system = system.as_deref().and_then(pretty_name);
    let shell = fs::canonicalize("/bin/sh").ok();
    let shell = shell.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    describe_environment(system, shell, &date(now))
}

fn describe_environment(system: Option<&str>, shell: Option<&str>, date: &str) -> String {
    let system = system.map(|name| format!(", {name}")).unwrap_or_default();
    let shell = match shell {
        Some(name) if name != "sh" => format!("/bin/sh, which is {name}"),
        Some(_) | None => "/bin/sh".to_owned(),
    };
    format!(
        "Platform: {} on {}{system}.\nShell: {shell}.\nDate: {date} (UTC).",
        consts::OS,
        consts::ARCH
    )
}

/// Returns the name of the system in the text of an `os-release` file.
fn pretty_name(release: &str) -> Option<&str> {
    let line = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = line.trim_matches(['"', '\'']);
    let plain = |c: char| c.is_ascii_alphanumeric() || " ()./_-".contains(c);
    (!name.is_empty() && name.len() <= 80 && name.chars().all(plain)).then_some(name)
}

fn date(now: Timestamp) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(now.0);
    let text = humantime::format_rfc3339_seconds(at).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

/// Describes the repository of a folder; `None` outside of one.
fn git(workspace: &Path) -> Option<String> {
    let mut command = Command::new("git");
    // Opening a repository must not run its code, so its monitor and its filters are turned off.
    command
        .args([
            "--no-optional-locks",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ])
        .args(["status", "--porcelain=v2", "--branch", "--ignore-submodules=all"])
        .env("GIT_ATTR_SOURCE", NO_ATTRIBUTES)
        .env("GIT_TERMINAL_PROMPT", "0")
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let report = output_within(command.spawn().ok()?, GIT_WAIT)?;
    describe_git(&report)
}

/// Returns the output of a process that succeeds in time; kills one that does not.
fn output_within(mut child: Child, wait: Duration) -> Option<String> {
    let output = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.take(MAX_GIT_BYTES).read_to_end(&mut text);
        // Nobody waits any more after the time-out.
        let _ = sender.send(read.map(|_| text));
    });
    let text = receiver.recv_timeout(wait);
    if text.is_err() {
        let _ = child.kill();
    }
    let ended = child.wait().ok()?;
    let text = text.ok()?.ok()?;
    ended.success().then(|| String::from_utf8_lossy(&text).into_owned())
}

/// Describes a report of `git status --porcelain=v2 --branch`.
fn describe_git(report: &str) -> Option<String> {
    let header = |name: &str| report.lines().find_map(|line| line.strip_prefix(name));
    let head = header("# branch.head ")?;
    let branch = match head {
        "(detached)" => "no branch (detached HEAD)".to_owned(),
        name => format!("branch {name}"),
    };
    let count = |kinds: &[&str]| {
        let is = |line: &&str| kinds.iter().any(|kind| line.starts_with(kind));
        report.lines().filter(is).count()
    };
    let counts = [
        (count(&["1 ", "2 "]), "changed"),
        (count(&["u "]), "in conflict"),
        (count(&["? "]), "untracked"),
    ];
    let told = counts.iter().filter(|(files, _)| *files > 0);
    let told: Vec<String> = told.map(|(files, what)| format!("{files} {what}")).collect();
    let state = match told.is_empty() {
        true => "no uncommitted changes".to_owned(),
        false => format!("files: {}", told.join(", ")),
    };
    let commits = match header("# branch.oid ") {
        Some("(initial)") => ", no commit yet",
        Some(_) | None => "",
    };
    Some(format!("Git at the start of this turn: {branch}{commits}; {state}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_platform_the_shell_and_the_date() {
        let text = describe_environment(Some("Debian GNU/Linux 12"), Some("dash"), "2026-11-25");
        let platform =
            format!("Platform: {} on {}, Debian GNU/Linux 12.", consts::OS, consts::ARCH);
        let rest = "\nShell: /bin/sh, which is dash.\nDate: 2026-11-25 (UTC).";
        assert_eq!(text, format!("{platform}{rest}"));
        let plain = describe_environment(None, Some("sh"), "2026-11-25");
        assert!(plain.contains("Shell: /bin/sh.\n") && !plain.contains(", ."), "{plain}");
        assert_eq!(date(Timestamp(1_764_072_000_000)), "2025-11-25");
        assert_eq!(
            pretty_name("ID=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            Some("Debian GNU/Linux 12")
        );
        assert_eq!(pretty_name("PRETTY_NAME=\"a <b>\"\n"), None);
    }

    #[test]
    fn git_is_told_by_branch_and_counts() {
        let clean = "# branch.oid 0a1b\n# branch.head main\n";
        assert_eq!(
            describe_git(clean).unwrap(),
            "Git at the start of this turn: branch main; no uncommitted changes."
        );
        let busy = "# branch.oid (initial)\n# branch.head (detached)\n1 .M N... a\n2 R. N... b\tc\n\
                    u UU N... d\n? e\n? f\n";
        assert_eq!(
            describe_git(busy).unwrap(),
            "Git at the start of this turn: no branch (detached HEAD), no commit yet; files: 2 \
             changed, 1 in conflict, 2 untracked."
        );
        assert_eq!(describe_git(""), None);
    }

    #[test]
    fn a_folder_outside_of_git_and_a_git_that_takes_too_long_are_left_out() {
        let dir = tempfile::TempDir::new().unwrap();
        // The folder of temporary files may itself be below a repository.
        fs::write(dir.path().join(".git"), "gitdir: /nonexistent").unwrap();
        assert_eq!(git(dir.path()), None);
        let mut sleeping = Command::new("sleep");
        let child = sleeping.arg("600").stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(output_within(child, Duration::from_millis(1)), None);
    }

    /// A monitor, a filter or a hook of the repository would write the file.
    #[test]
    fn no_code_of_the_repository_runs() {
        let dir = tempfile::TempDir::new().unwrap();
        let ran = dir.path().join("ran");
        let repository = dir.path().join("repository");
        fs::create_dir(&repository).unwrap();
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
            let ended = command.args(arguments).current_dir(&repository).output().unwrap();
            assert!(ended.status.success(), "{arguments:?}: {ended:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        fs::write(repository.join("file"), "one\n").unwrap();
        git(&["add", "file"]);
        git(&["commit", "-q", "-m", "one"]);
        let code = format!("touch {}; cat", ran.display());
        git(&["config", "core.fsmonitor", &code]);
        git(&["config", "filter.x.clean", &code]);
        fs::write(repository.join(".gitattributes"), "* filter=x\n").unwrap();
        // Of the same length, so that git compares the content.
        fs::write(repository.join("file"), "two\n").unwrap();
        let told = super::git(&repository).unwrap();
        assert_eq!(
            told,
            "Git at the start of this turn: branch main; files: 1 changed, 1 untracked."
        );
        assert!(!ran.exists());
    }
}
