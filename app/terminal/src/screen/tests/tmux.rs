//! The same in a real terminal: `tmux` breaks rows at a new width while the example `stream` writes.

use std::process::Command;
use std::time::{Duration, Instant};

/// A server of its own, which ends with the test.
struct Tmux(String);

impl Tmux {
    /// Starts a program in a terminal of 80 columns and 24 rows, or returns none without tmux.
    fn start(program: &str) -> Option<Self> {
        let tmux = Self(format!("windlass-screen-{}-{}", std::process::id(), program.len()));
        Command::new("tmux").arg("-V").output().ok()?;
        tmux.run(&[
            "set",
            "-g",
            "history-limit",
            "50000",
            ";",
            "set",
            "-g",
            "remain-on-exit",
            "on",
            ";",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            program,
        ]);
        Some(tmux)
    }

    fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-f", "/dev/null", "-L", &self.0, "start-server", ";"]).env_remove("TMUX");
        let output = command.args(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Text of scrollback and screen without spaces and breaks.
    fn letters(&self) -> String {
        self.run(&["capture-pane", "-p", "-S", "-"]).split_whitespace().collect()
    }

    fn wait_for(&self, text: &str) {
        let start = Instant::now();
        while !self.letters().contains(text) {
            assert!(start.elapsed() < Duration::from_secs(60), "no {text} within a minute");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.0, "kill-server"]).output();
    }
}

/// Resizes the terminal while the example streams, and returns all text at the end and all that is expected.
/// The shell goes on after the example: tmux drops output of a program that has ended.
fn stream(mode: &str) -> Option<(String, String)> {
    let mut example = std::env::current_exe().unwrap();
    example.pop();
    example.pop();
    example.push("examples/stream");
    let Some(tmux) = Tmux::start(&format!("{} 120 10 {mode}; cat", example.display())) else {
        println!("skipped: there is no tmux here");
        return None;
    };
    let sizes = ["60 24", "44 30", "100 20", "80 24", "50 22", "130 40"];
    for (index, size) in sizes.iter().enumerate() {
        tmux.wait_for(&format!("[{}]", 15 * (index + 1)));
        let (columns, rows) = size.split_once(' ').unwrap();
        tmux.run(&["resize-window", "-x", columns, "-y", rows]);
    }
    tmux.wait_for("END");
    let lines = (1..=120).map(|n| format!("[{n}]{}", "word".repeat(n * 7 % 71)));
    let text = tmux.letters();
    Some((text.split("END").next().unwrap().to_owned(), lines.collect()))
}

/// Lines with the number of their words, for short messages.
fn lines(letters: &str) -> Vec<String> {
    let lines =
        letters.split('[').map(|line| (line.matches("word").count(), line.replace("word", "")));
    lines.map(|(count, rest)| format!("{rest}{count}")).collect()
}

#[test]
fn a_real_terminal_has_each_line_once_and_no_live_row_behind() {
    if let Some((found, expected)) = stream("") {
        assert_eq!(lines(&found), lines(&expected));
    }
}

#[test]
fn a_real_terminal_keeps_all_lines_also_with_a_cursor_far_down() {
    if let Some((found, expected)) = stream("cursor") {
        // A resize that comes between a frame and its size may leave rows of the live area.
        assert_eq!(lines(&found.replace(['=', '#', '>'], "")), lines(&expected));
        println!("rows left behind: {}", found.matches('>').count());
    }
}
