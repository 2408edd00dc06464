//! Other programs at the terminal: the editor of a message, and the pager of a transcript.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Most bytes that an editor may return.
const LONGEST: u64 = 4 * 1024 * 1024;

/// Edits a text in the person's editor, and returns it.
///
/// # Errors
/// When the editor cannot be started, fails, or leaves no text.
pub(super) fn edit(text: &str, name: &str) -> io::Result<String> {
    let file = TemporaryFile::new(text.as_bytes(), &format!("windlass-{name}.md"))?;
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    let editor = editor.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".into());
    // A shell splits what people put into the variable, such as `code --wait`.
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(&file.0);
    let status = command.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("{editor} ended with {status}")));
    }
    let mut edited = String::new();
    OpenOptions::new().read(true).open(&file.0)?.take(LONGEST).read_to_string(&mut edited)?;
    Ok(edited.trim_end().to_owned())
}

/// Shows a text in the person's pager.
///
/// # Errors
/// When the pager cannot be started.
pub(super) fn page(text: &str) -> io::Result<()> {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let pager = pager.unwrap_or_else(|| "less -R".to_owned());
    let mut child = Command::new("sh").args(["-c", &pager]).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A pager that is left early reads no further.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().map(drop)
}

/// File readable for its owner alone, which is removed afterwards.
pub(super) struct TemporaryFile(PathBuf);

impl TemporaryFile {
    pub(super) fn new(content: &[u8], name: &str) -> io::Result<Self> {
        Self::at(&std::env::temp_dir().join(name), content)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn at(path: &Path, content: &[u8]) -> io::Result<Self> {
        // A file that is there already belongs to somebody else.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let file = file.write_all(content).map(|()| Self(path.to_owned()));
        if file.is_err() {
            let _ = std::fs::remove_file(path);
        }
        file
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
