//! The command in a terminal of tmux, which ends with the value.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::screen::Screen;
use super::svg::{COLUMNS, ROWS};

/// Longest wait for a screen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time after which a screen that did not change is at rest.
const REST: Duration = Duration::from_millis(60);

pub(super) struct Tmux {
    socket: String,
}

impl Tmux {
    /// Starts a conversation with the demo model in the folder `work`, with its state below `home`.
    pub(super) fn start(program: &Path, home: &Path, work: &Path) -> anyhow::Result<Self> {
        let tmux = Self { socket: format!("windlass-record-{}", std::process::id()) };
        let home = home.display();
        let line = format!(
            "env -i PATH=\"$PATH\" HOME='{home}' WINDLASS_HOME='{home}/state' TERM=tmux-256color \
             COLORTERM=truecolor LANG=C.UTF-8 '{}' chat --permissions ask; sleep 600",
            program.display()
        );
        let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
        let size = ["-x", &columns, "-y", &rows];
        let begin = ["-f", "/dev/null", "new-session", "-d", "-c"];
        let work = work.display().to_string();
        tmux.run(&[&begin[..], &[&work], &size, &[&line]].concat())?;
        Ok(tmux)
    }

    pub(super) fn types(&self, text: &str) -> anyhow::Result<()> {
        // tmux ends a command at a semicolon at the end of a word.
        let text = match text.strip_suffix(';') {
            Some(before) => format!("{before}\\;"),
            None => text.to_owned(),
        };
        self.run(&["send-keys", "-l", &text]).map(drop)
    }

    pub(super) fn press(&self, key: &str) -> anyhow::Result<()> {
        // A key within the guard of a question goes to the message, and with others it is a paste.
        std::thread::sleep(Duration::from_millis(800));
        self.run(&["send-keys", key]).map(drop)
    }

    /// Waits until the screen is as described and at rest, and returns it after a change.
    ///
    /// # Errors
    /// When it does not become so.
    pub(super) fn settled(
        &self,
        change: impl Fn(&mut Screen),
        is: &dyn Fn(&Screen) -> bool,
    ) -> anyhow::Result<Screen> {
        let began = Instant::now();
        let mut last = None;
        loop {
            let mut screen = self.screen()?;
            change(&mut screen);
            if is(&screen) && last.as_ref() == Some(&screen) {
                return Ok(screen);
            }
            let late = began.elapsed() > PATIENCE;
            anyhow::ensure!(!late, "the screen did not become so:\n{}", screen.text());
            last = Some(screen);
            std::thread::sleep(REST);
        }
    }

    fn screen(&self) -> anyhow::Result<Screen> {
        let place = "#{cursor_flag} #{cursor_x} #{cursor_y}";
        // One run of tmux, so that the cursor belongs to the rows.
        let all = self.run(&["display-message", "-p", place, ";", "capture-pane", "-e", "-p"])?;
        let (cursor, rows) = all.split_once('\n').context("tmux shows no cursor")?;
        Screen::parse(cursor, rows)
    }

    fn run(&self, words: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.socket]).args(words).env_remove("TMUX");
        let done = command.output().context("starting tmux")?;
        let errors = String::from_utf8_lossy(&done.stderr);
        anyhow::ensure!(done.status.success(), "tmux {}: {errors}", words.join(" "));
        Ok(String::from_utf8(done.stdout)?)
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ended = self.run(&["kill-server"]);
    }
}
