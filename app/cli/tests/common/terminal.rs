//! A terminal of its own for one command, by `script` of util-linux: a session with a controlling
//! terminal, whose other end is the test's.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::{Done, Place};

/// A command at a terminal. Its standard output and error go to files, so that what is seen here
/// is what it says to the terminal itself.
pub(crate) struct TerminalProcess {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    folder: PathBuf,
}

impl TerminalProcess {
    pub(crate) fn run(place: &Place, words: &[&str]) -> Self {
        Self::with_output(place, words, "> out 2> err")
    }

    /// The same, but its standard output is the terminal.
    pub(crate) fn on_screen(place: &Place, words: &[&str]) -> Self {
        Self::with_output(place, words, "2> err")
    }

    /// The same, and its standard error too.
    pub(crate) fn on_screens(place: &Place, words: &[&str]) -> Self {
        Self::with_output(place, words, "")
    }

    fn with_output(place: &Place, words: &[&str], output: &str) -> Self {
        let quoted: Vec<String> = words
            .iter()
            .chain(super::model(words))
            .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
            .collect();
        let line = format!(
            "echo $$ > pid; exec '{}' {} {output}",
            env!("CARGO_BIN_EXE_windlass"),
            quoted.join(" ")
        );
        let mut child = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .current_dir(place.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", place.file("home"))
            .env("WINDLASS_HOME", place.state())
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Self {
            keys: child.stdin.take().unwrap(),
            screen: child.stdout.take().unwrap(),
            child,
            folder: place.path().to_owned(),
        }
    }

    /// Reads the screen until these words are on it, and answers what came up to their end.
    pub(crate) fn until(&mut self, words: &str) -> String {
        let mut seen = Vec::new();
        let mut byte = [0];
        while !seen.ends_with(words.as_bytes()) {
            let read = self.screen.read(&mut byte).unwrap();
            let text = String::from_utf8_lossy(&seen);
            assert_eq!(read, 1, "the screen ended before {words:?}: {text}");
            seen.push(byte[0]);
        }
        String::from_utf8(seen).unwrap()
    }

    /// Types a line.
    pub(crate) fn line(&mut self, words: &str) {
        writeln!(self.keys, "{words}").unwrap();
    }

    /// Presses keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Sends the command a signal.
    pub(crate) fn signal(&self, name: &str) {
        let pid = std::fs::read_to_string(self.folder.join("pid")).unwrap();
        let sent = Command::new("kill").args(["-s", name, pid.trim()]).status();
        assert!(sent.unwrap().success());
    }

    /// Reads the screen to the command's end.
    pub(crate) fn screen_to_end(mut self) -> String {
        let mut rest = Vec::new();
        self.screen.read_to_end(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        String::from_utf8(rest).unwrap()
    }

    /// Waits for the command's end.
    pub(crate) fn end(mut self) -> Done {
        let mut rest = Vec::new();
        self.screen.read_to_end(&mut rest).unwrap();
        let status = self.child.wait().unwrap();
        let text = |name: &str| std::fs::read_to_string(self.folder.join(name)).unwrap();
        Done { code: status.code().unwrap(), out: text("out"), err: text("err") }
    }
}
