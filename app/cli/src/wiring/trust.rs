//! Trust in a workspace: instructions of a folder are used only after the user has trusted them.
//!
//! `AGENTS.md` files and skills are all that is read from a workspace for the model, and `.mcp.json` all
//! that may start something, all only while they are trusted. Other tools, hooks, providers and settings are read
//! from the user's own folder or a named file, never from a workspace.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use windlass_engine::core::ContextPart;

use super::project_context::{ProjectFile, is_project_file, project_files, user_instructions};
use super::skills;
use super::trust_record::{FileTrust, TrustRecord};
use crate::approver::Terminal;
use crate::exit::Failure;
use crate::present::{print_error, print_notice, visible};

/// Description of the keys.
const KEYS: &str = "Use them as instructions for the model? [y]es, [n]o, [s]how them: ";

/// Person who decides about new instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustAsker {
    /// The person at the terminal.
    Terminal,
    /// Nobody is there.
    Nobody,
}

impl TrustAsker {
    /// Returns the person of this process: at least one of its streams must be a terminal.
    pub(crate) fn of_process() -> Self {
        let present =
            io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
        match present {
            true => Self::Terminal,
            false => Self::Nobody,
        }
    }
}

/// Returns the trusted instructions of a workspace and the list of skills as context, after it has
/// asked about new ones. Reports the files that are not used. Without `agents`, `AGENTS.md` files are
/// left out.
pub(crate) async fn instructions(
    workspace: &Path,
    asker: TrustAsker,
    agents: bool,
) -> Result<Vec<ContextPart>, Failure> {
    let files = instruction_files(workspace, agents);
    let mut record = match TrustRecord::load() {
        Ok(record) => record,
        Err(failure) => {
            if !files.is_empty() {
                print_error(&format!("{}; nothing is trusted", failure.message));
            }
            return Ok(Vec::new());
        }
    };
    let open = |file: &&ProjectFile| match record.of(file) {
        FileTrust::Changed | FileTrust::Unknown => true,
        FileTrust::Trusted | FileTrust::Refused => false,
    };
    let new: Vec<ProjectFile> = files.iter().filter(open).cloned().collect();
    if !new.is_empty()
        && asker == TrustAsker::Terminal
        && let Ok(mut terminal) = Terminal::open()
        && let Ok(trusted) = ask(&mut terminal, &record, &new, workspace).await
    {
        new.iter().for_each(|file| record.decide(file, trusted));
        record.save()?;
    }
    let (used, unused) = split(&record, files, agents);
    if let Some(words) = untrusted_words(&record, &unused, workspace) {
        print_notice(&words);
    }
    let skills = skills::usable_skills(workspace, &record)?;
    for words in skills::complaints(&skills) {
        print_notice(&format!("  {}", visible(&words)));
    }
    Ok(used.into_iter().chain(skills::listed(&skills)).collect())
}

/// Returns the trusted instructions of a workspace and the list of skills as context, and the files
/// that are not trusted. Without `agents`, `AGENTS.md` files are left out.
#[cfg(feature = "server")]
pub(crate) fn trusted(
    record: &TrustRecord,
    workspace: &Path,
    agents: bool,
) -> Result<(Vec<ContextPart>, Vec<ProjectFile>), Failure> {
    let (mut used, unused) = split(record, instruction_files(workspace, agents), agents);
    used.extend(skills::listed(&skills::usable_skills(workspace, record)?));
    Ok((used, unused))
}

/// Returns the files of a project with instructions for the model.
fn instruction_files(workspace: &Path, agents: bool) -> Vec<ProjectFile> {
    let mut files = match agents {
        true => project_files(workspace),
        false => Vec::new(),
    };
    let found = skills::project_skills(workspace).files;
    files.extend(found.iter().map(|file| skills::as_project_file(file, workspace)));
    files
}

/// Returns all files of a project that trust decides about.
pub(crate) fn trustable_files(workspace: &Path) -> Vec<ProjectFile> {
    let files = instruction_files(workspace, true).into_iter();
    #[cfg(feature = "mcp")]
    let files = files.chain(super::mcp::project_file(workspace));
    files.collect()
}

/// Returns the context of the user's and the trusted files, and the files that are not trusted.
fn split(
    record: &TrustRecord,
    files: Vec<ProjectFile>,
    agents: bool,
) -> (Vec<ContextPart>, Vec<ProjectFile>) {
    let (used, unused): (Vec<ProjectFile>, Vec<ProjectFile>) =
        files.into_iter().partition(|file| record.of(file) == FileTrust::Trusted);
    // The list of skills is one part.
    let used = used.into_iter().filter(|file| is_project_file(&file.from));
    let own = agents.then(user_instructions).flatten();
    (own.into_iter().chain(used.map(ProjectFile::context)).collect(), unused)
}

/// Describes the files that are not used, in one line; `None` if there are none.
pub(crate) fn untrusted_words(
    record: &TrustRecord,
    unused: &[ProjectFile],
    workspace: &Path,
) -> Option<String> {
    if unused.is_empty() {
        return None;
    }
    let names: Vec<String> = unused.iter().map(|file| named(record, file)).collect();
    Some(format!(
        "instructions that you have not trusted are not used: {}; read them, then trust them with: \
         windlass trust {}",
        names.join(", "),
        workspace.display()
    ))
}

fn named(record: &TrustRecord, file: &ProjectFile) -> String {
    match record.of(file) {
        FileTrust::Changed => format!("{} (changed)", file.from),
        FileTrust::Trusted | FileTrust::Refused | FileTrust::Unknown => file.from.clone(),
    }
}

/// Asks whether the files may be used. Only a plain yes is one.
async fn ask(
    terminal: &mut Terminal,
    record: &TrustRecord,
    files: &[ProjectFile],
    workspace: &Path,
) -> io::Result<bool> {
    terminal.discard_input();
    let named =
        files.iter().map(|file| format!("{} ({} bytes)", named(record, file), file.text.len()));
    let named: Vec<String> = named.collect();
    let mut words = format!(
        "{}\n{KEYS}",
        visible(&format!("\n{} has instructions: {}", workspace.display(), named.join(", ")))
    );
    loop {
        let typed = terminal.ask(words).await?;
        match typed.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            "s" | "show" => words = format!("{}{KEYS}", shown(files)),
            _ => words = KEYS.to_owned(),
        }
    }
}

/// Returns the text of the files, with control characters made visible.
fn shown(files: &[ProjectFile]) -> String {
    let mut shown = String::new();
    for file in files {
        shown.push_str(&visible(&format!("--- {}\n", file.from)));
        for line in file.text.lines() {
            shown.push_str(&visible(line));
            shown.push('\n');
        }
    }
    shown
}
