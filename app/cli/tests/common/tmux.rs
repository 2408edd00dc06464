//! A terminal of its own: a session of tmux, with the keys of a person and what they see.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Longest wait for a text.
const WAIT: Duration = Duration::from_secs(30);

/// A terminal, which ends with the value.
pub(crate) struct Tmux {
    socket: String,
}

impl Tmux {
    /// Returns true if tmux is installed. Without it a test says that it was skipped.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(crate) fn is_installed() -> bool {
        let found = Command::new("tmux").arg("-V").output().is_ok();
        if !found {
            eprintln!("skipped: tmux is not installed");
        }
        found
    }

    /// Starts a command in a terminal of this size.
    pub(crate) fn start(columns: u16, rows: u16, command: &Command) -> Self {
        let socket = format!("windlass-{}-{:?}", std::process::id(), std::thread::current().id());
        let socket: String =
            socket.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let terminal = Self { socket: format!("{socket}-{}", unique()) };
        let mut words: Vec<String> = vec!["env".into(), "-i".into()];
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                words.push(quoted(&format!("{}={}", name.display(), value.display())));
            }
        }
        words.push("TERM=screen-256color".into());
        words.push("LANG=C.UTF-8".into());
        words.push(quoted(&command.get_program().display().to_string()));
        words.extend(command.get_args().map(|word| quoted(&word.display().to_string())));
        // The shell stays after the command, so that its last words can be read.
        let line = format!("{}; echo ended with $?; sleep 600", words.join(" "));
        let folder = command.get_current_dir().unwrap_or(Path::new("/")).to_owned();
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let started = Command::new("tmux")
            .args(["-L", &terminal.socket, "-f", "/dev/null", "new-session", "-d"])
            .args(["-x", &columns, "-y", &rows, "-c"])
            .arg(&folder)
            .arg(line)
            .env_remove("TMUX")
            .output()
            .unwrap();
        assert!(started.status.success(), "{started:?}");
        terminal.tmux(&["set-option", "-g", "history-limit", "100000"]);
        terminal
    }

    fn tmux(&self, words: &[impl AsRef<OsStr>]) -> Output {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.socket]).args(words);
        command.output().unwrap()
    }

    /// Presses keys, as tmux names them.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a text.
    pub(crate) fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Types a text and sends it.
    pub(crate) fn send(&self, text: &str) {
        self.type_text(text);
        // A burst of keys that ends with Enter is a paste.
        std::thread::sleep(Duration::from_millis(150));
        self.press(&["Enter"]);
    }

    /// Pastes a text as a terminal does.
    pub(crate) fn paste(&self, text: &str) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        self.tmux(&[OsStr::new("load-buffer"), file.path().as_os_str()]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// Sets the size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// The visible screen, with broken lines joined.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-J"]).stdout).into_owned()
    }

    /// Everything that was written, with broken lines joined.
    pub(crate) fn scrollback(&self) -> String {
        let all = self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]);
        String::from_utf8_lossy(&all.stdout).into_owned()
    }

    /// Waits until the screen has a text, and returns it.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("the screen has {text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen is as described, and returns it.
    pub(crate) fn wait_until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if is(&screen) {
                return screen;
            }
            assert!(began.elapsed() < WAIT, "waited in vain until {what}:\n{}", self.scrollback());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// The process that runs in the terminal, below its shell.
    pub(crate) fn process(&self) -> u32 {
        let shell = self.tmux(&["list-panes", "-F", "#{pane_pid}"]).stdout;
        let shell = String::from_utf8_lossy(&shell).trim().to_owned();
        let below = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
        let below = below.unwrap_or_default();
        below.split_whitespace().next().and_then(|pid| pid.parse().ok()).unwrap()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn unique() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
