//! Context that the model receives with an input: the platform, the shell, the date, and the branch
//! and state of git. A part that is unchanged since the last input is not repeated.

use std::env::consts;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use windlass_engine::core::{ContextPart, Timestamp};

/// Names of the parts.
const ENVIRONMENT: &str = "environment";
const GIT: &str = "git";
/// Longest wait for git. A repository that takes longer is described without its state.
const GIT_WAIT: Duration = Duration::from_secs(2);
/// Most bytes of git's report that are read.
const MAX_GIT_BYTES: u64 = 4 * 1024 * 1024;
/// Exit code of `git config` without a matching key.
const NO_KEY: i32 = 1;

/// Returns the context of an input at this time. Blocks for as long as git takes, at most two
/// seconds.
pub(crate) fn session_context(workspace: &Path, now: Timestamp) -> Vec<ContextPart> {
    let part = |from: &str, text: String| ContextPart { from: from.to_owned(), text: text.into() };
    let mut parts = vec![part(ENVIRONMENT, environment(now))];
    parts.extend(git(workspace).map(|text| part(GIT, text)));
    parts
}

/// Returns true if a part has this name.
pub(crate) fn is_session_context(from: &str) -> bool {
    [ENVIRONMENT, GIT].contains(&from)
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
///
/// Opening a repository must not run its code. So its monitor, its hooks and each filter that its
/// configuration names are turned off, and no missing object is fetched.
fn git(workspace: &Path) -> Option<String> {
    let mut command = git_command(workspace);
    command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    command.args(["status", "--porcelain=v2", "--branch", "--ignore-submodules=all"]);
    let filters = filter_keys(workspace)?;
    // By environment: the name of a driver may contain the `=` that ends a key after `-c`.
    command.env("GIT_CONFIG_COUNT", filters.len().to_string());
    for (at, key) in filters.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{at}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{at}"), "");
    }
    let (ended, report) = output_within(command.spawn().ok()?, GIT_WAIT)?;
    ended.success().then(|| describe_git(&report)).flatten()
}

/// Returns the keys of all filters that are configured for a repository, from any file.
fn filter_keys(workspace: &Path) -> Option<Vec<String>> {
    let mut command = git_command(workspace);
    command.args(["config", "-z", "--name-only", "--get-regexp", r"^filter\."]);
    let (ended, keys) = output_within(command.spawn().ok()?, GIT_WAIT)?;
    let read = ended.success() || ended.code() == Some(NO_KEY);
    let keys = keys.split('\0').filter(|key| !key.is_empty());
    read.then(|| keys.map(str::to_owned).collect())
}

/// Returns a git command that takes no locks, asks nothing, uses no network, and looks at the
/// repository of the folder, whatever repository this process was started for.
fn git_command(workspace: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("--no-optional-locks")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "")
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS"] {
        command.env_remove(variable);
    }
    command
}

/// Returns the exit status and the output of a process that ends in time; kills one that does not.
fn output_within(mut child: Child, wait: Duration) -> Option<(ExitStatus, String)> {
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
    Some((ended, String::from_utf8_lossy(&text).into_owned()))
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
    use std::path::PathBuf;

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

    /// A repository with one commit, and a trap that creates a file when git runs code of it.
    struct Trapped {
        dir: tempfile::TempDir,
    }

    impl Trapped {
        fn new() -> Self {
            let trapped = Self { dir: tempfile::TempDir::new().unwrap() };
            fs::create_dir(trapped.repository()).unwrap();
            trapped.git(&["init", "-q", "-b", "main"]);
            trapped.write("file", "one\n");
            trapped.git(&["add", "file"]);
            trapped.git(&["commit", "-q", "-m", "one"]);
            // Of the same length, so that git compares the content.
            trapped.write("file", "two\n");
            trapped
        }

        fn repository(&self) -> PathBuf {
            self.dir.path().join("repository")
        }

        fn write(&self, file: &str, text: &str) {
            fs::write(self.repository().join(file), text).unwrap();
        }

        fn git(&self, arguments: &[&str]) -> String {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
            let ended = command.args(arguments).current_dir(self.repository()).output().unwrap();
            assert!(ended.status.success(), "{arguments:?}: {ended:?}");
            String::from_utf8(ended.stdout).unwrap()
        }

        /// Code that notes that it ran.
        fn code(&self, then: &str) -> String {
            format!("touch {}; {then}", self.dir.path().join("ran").display())
        }

        /// Takes the note that the code ran.
        fn ran(&self) -> bool {
            fs::remove_file(self.dir.path().join("ran")).is_ok()
        }
    }

    fn monitor(trapped: &Trapped) {
        trapped.git(&["config", "core.fsmonitor", &trapped.code("true")]);
    }

    fn filter_of_the_tree(trapped: &Trapped) {
        trapped.git(&["config", "filter.x.clean", &trapped.code("cat")]);
        trapped.write(".gitattributes", "* filter=x\n");
    }

    /// Its name has the character that ends a key on the command line.
    fn filter_of_the_clone(trapped: &Trapped) {
        trapped.git(&["config", "filter.a=b.clean", &trapped.code("cat")]);
        fs::create_dir_all(trapped.repository().join(".git/info")).unwrap();
        trapped.write(".git/info/attributes", "* filter=a=b\n");
    }

    fn required_process_by_a_file_of_attributes(trapped: &Trapped) {
        trapped.git(&["config", "filter.x.process", &trapped.code("false")]);
        trapped.git(&["config", "filter.x.required", "true"]);
        trapped.git(&["config", "core.attributesFile", ".git/more"]);
        trapped.write(".git/more", "* filter=x\n");
    }

    fn filter_of_an_included_file(trapped: &Trapped) {
        trapped
            .write(".git/more", &format!("[filter \"x\"]\nclean = \"{}\"\n", trapped.code("cat")));
        trapped.git(&["config", "include.path", "more"]);
        trapped.write(".gitattributes", "* filter=x\n");
    }

    fn missing_object(trapped: &Trapped) {
        let tree = trapped.git(&["rev-parse", "HEAD^{tree}"]);
        let (folder, name) = tree.trim().split_at(2);
        fs::remove_file(trapped.repository().join(".git/objects").join(folder).join(name)).unwrap();
        for (key, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", "."),
            ("remote.origin.uploadpack", &trapped.code("false")),
        ] {
            trapped.git(&["config", key, value]);
        }
    }

    #[test]
    fn no_code_of_the_repository_runs() {
        type Trap = (fn(&Trapped), Option<&'static str>);
        let traps: [Trap; 6] = [
            (monitor, Some("files: 1 changed")),
            (filter_of_the_tree, Some("files: 1 changed, 1 untracked")),
            (filter_of_the_clone, Some("files: 1 changed")),
            (required_process_by_a_file_of_attributes, Some("files: 1 changed")),
            (filter_of_an_included_file, Some("files: 1 changed, 1 untracked")),
            (missing_object, None),
        ];
        for (at, (trap, state)) in traps.into_iter().enumerate() {
            let trapped = Trapped::new();
            trap(&trapped);
            let told = git(&trapped.repository());
            assert!(!trapped.ran(), "trap {at} ran");
            let state =
                state.map(|state| format!("Git at the start of this turn: branch main; {state}."));
            assert_eq!(told, state, "trap {at}");
            // The trap is one: plain git runs its code.
            let mut plain = Command::new("git");
            plain.arg("status").current_dir(trapped.repository()).output().unwrap();
            assert!(trapped.ran(), "trap {at} is none");
        }
    }
}
