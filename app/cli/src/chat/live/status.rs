//! Status line: the model, the permissions, the window, the cost and the place of a session.

use std::path::{Path, PathBuf};

use windlass_terminal::{Line, Theme};

use crate::chat::calls::grouped;
use crate::chat::calls::one_line;
use crate::chat::conversation::SessionInfo;
use crate::config::StatusPart;

/// Most bytes of the file that names a branch.
const HEAD_BYTES: usize = 1_000;

/// Parts of the line with what does not depend on the session.
#[derive(Debug)]
pub(super) struct StatusLine {
    parts: Vec<StatusPart>,
    folder: Option<PathBuf>,
    sandbox: Option<String>,
    /// Model before there is a session.
    model: Option<String>,
}

impl StatusLine {
    /// Creates a line with these parts.
    pub(super) fn new(
        parts: Vec<StatusPart>,
        folder: Option<PathBuf>,
        sandbox: Option<String>,
        model: Option<String>,
    ) -> Self {
        Self { parts, folder, sandbox, model }
    }

    /// Returns the line.
    pub(super) fn line(&self, info: Option<&SessionInfo>, theme: &Theme) -> Line {
        let parts = self.parts.iter().filter_map(|part| self.part(*part, info));
        Line::styled(format!("  {}", parts.collect::<Vec<_>>().join(" · ")), theme.dim)
    }

    fn part(&self, part: StatusPart, info: Option<&SessionInfo>) -> Option<String> {
        match part {
            StatusPart::Model => {
                let model =
                    info.and_then(|info| info.model.as_deref()).or(self.model.as_deref())?;
                let effort = info.and_then(|info| info.effort.as_deref());
                Some(one_line(
                    &[Some(model), effort].into_iter().flatten().collect::<Vec<_>>().join(" "),
                ))
            }
            StatusPart::Mode => {
                let info = info?;
                match (info.mode.as_deref(), info.permissions.as_deref()?) {
                    (Some("plan"), _) => Some("plan".to_owned()),
                    (_, "auto") => Some("auto: nothing is asked".to_owned()),
                    (_, "read_only") => Some("read-only".to_owned()),
                    (_, permissions) => Some(one_line(permissions)),
                }
            }
            StatusPart::Sandbox => self.sandbox.clone(),
            StatusPart::Tokens => {
                let used = info?.context_tokens?;
                Some(match info?.window {
                    Some(window) if window > 0 => {
                        let share = used.saturating_mul(100) / window;
                        format!("{} of {} tokens ({share}%)", grouped(used), grouped(window))
                    }
                    _ => format!("{} tokens", grouped(used)),
                })
            }
            StatusPart::Cost => {
                let micros = info?.cost_micros?;
                Some(format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000))
            }
            StatusPart::Folder => Some(shown(self.folder.as_deref()?)),
            StatusPart::Branch => branch(self.folder.as_deref()?),
        }
    }
}

/// Returns a path with the home folder as `~`.
fn shown(path: &Path) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    one_line(&match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    })
}

/// Returns the branch of the folder's repository, if its `HEAD` names one.
fn branch(folder: &Path) -> Option<String> {
    let head = folder.ancestors().find_map(|folder| {
        let mut text = String::new();
        let file = std::fs::File::open(folder.join(".git/HEAD")).ok()?;
        let mut start = std::io::Read::take(file, HEAD_BYTES as u64);
        std::io::Read::read_to_string(&mut start, &mut text).ok()?;
        Some(text)
    })?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(format!("({})", one_line(branch)))
}
