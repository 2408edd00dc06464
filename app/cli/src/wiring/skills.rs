//! Skills: those of the project, once the user trusts them, and the user's own.
//!
//! Folders of the project are searched from the working folder up to the project's root; the nearest
//! skill of a name is used, and the project's before the user's. `skills.toml` in the user's
//! configuration folder hides some.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use windlass::BoxError;
use windlass_engine::core::ContextPart;
use windlass_skills::{Catalogue, FoundSkills, SKILL_FILE, SkillFile, SkillTools, find};

use super::project_context::{ProjectFile, root};
use super::tool_scheme::{ReadyTools, ToolSetup};
use super::tools::configured;
use super::trust_record::{FileTrust, TrustRecord};
use crate::exit::Failure;

/// Folders with skills, in a folder of a project.
const FOLDERS: [&str; 3] = [".windlass/skills", ".agents/skills", ".claude/skills"];
/// The same in the user's home.
const OF_HOME: [&str; 2] = [".agents/skills", ".claude/skills"];
/// Name of the file that hides skills.
const CONFIG: &str = "skills.toml";
/// Most lines about what is wrong with skills.
const MAX_COMPLAINTS: usize = 20;
/// Name of the context that lists the skills.
const SKILLS: &str = "skills";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillConfig {
    /// Names of skills that are not used; `*` for all.
    #[serde(default)]
    disabled: BTreeSet<String>,
}

/// Returns the skills of a project, the nearest folder's first, trusted or not.
pub(super) fn project_skills(workspace: &Path) -> FoundSkills {
    let root = root(workspace);
    let below = workspace.ancestors().take_while(|folder| folder.starts_with(root));
    below.fold(FoundSkills::default(), |mut all, folder| {
        for name in FOLDERS {
            let found = find(&folder.join(name), Some(root));
            all.files.extend(found.files);
            all.problems.extend(found.problems);
        }
        all
    })
}

/// Returns a skill's file as one that trust decides about.
pub(crate) fn as_project_file(file: &SkillFile, workspace: &Path) -> ProjectFile {
    let from = file.path.strip_prefix(root(workspace)).unwrap_or(&file.path);
    let from = from.display().to_string();
    ProjectFile { path: file.path.clone(), from, text: file.text.clone() }
}

/// Returns the skills that sessions of this workspace may use, with what was left out of them.
pub(crate) fn usable_skills(workspace: &Path, record: &TrustRecord) -> Result<Catalogue, Failure> {
    let project = project_skills(workspace);
    let trusted =
        |file: &SkillFile| record.of(&as_project_file(file, workspace)) == FileTrust::Trusted;
    let mut files: Vec<SkillFile> = project.files.into_iter().filter(trusted).collect();
    let mut problems = project.problems;
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let of_home = home.into_iter().flat_map(|home| OF_HOME.map(|name| home.join(name)));
    for folder in configured(SKILLS).into_iter().chain(of_home) {
        let found = find(&folder, None);
        // A project may be the user's home.
        let new = |file: &SkillFile| files.iter().all(|one| one.path != file.path);
        let new: Vec<SkillFile> = found.files.into_iter().filter(new).collect();
        files.extend(new);
        problems.extend(found.problems);
    }
    let mut made = Catalogue::new(files, &config()?.disabled);
    made.problems.extend(problems);
    Ok(made)
}

/// Returns the skills of a project that the user does not trust.
pub(crate) fn untrusted_skills(workspace: &Path, record: &TrustRecord) -> Vec<SkillFile> {
    let open =
        |file: &SkillFile| record.of(&as_project_file(file, workspace)) != FileTrust::Trusted;
    project_skills(workspace).files.into_iter().filter(open).collect()
}

fn config() -> Result<SkillConfig, Failure> {
    let Some(path) = configured(CONFIG) else {
        return Ok(SkillConfig::default());
    };
    let failed = |error: &dyn std::fmt::Display| {
        let path = path.display();
        Failure::usage(format!("cannot read {path}: {error}; it may have: disabled = [\"name\"]"))
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).map_err(|error| failed(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(SkillConfig::default()),
        Err(error) => Err(failed(&error)),
    }
}

/// Returns the context that lists the skills; `None` without any.
pub(super) fn listed(skills: &Catalogue) -> Option<ContextPart> {
    let text = skills.text()?;
    Some(ContextPart { from: SKILLS.to_owned(), text: text.into() })
}

/// Returns the instructions of the skills that a prompt names as `$name`, as context: a compaction
/// retains it.
pub(crate) fn named_skills(workspace: &Path, prompt: &str) -> Result<Vec<ContextPart>, Failure> {
    if !prompt.contains('$') {
        return Ok(Vec::new());
    }
    let Ok(record) = TrustRecord::load() else {
        return Ok(Vec::new());
    };
    let skills = usable_skills(workspace, &record)?;
    let named = skills.named_in(prompt).into_iter();
    let part = named.map(|skill| ContextPart {
        from: format!("skill {}", skill.name),
        text: windlass_skills::activated(skill).into(),
    });
    Ok(part.collect())
}

/// Returns the names of the skills that sessions of this workspace may use, with what they are for.
pub(crate) fn skill_names(workspace: &Path) -> BTreeMap<String, String> {
    let usable = TrustRecord::load().and_then(|record| usable_skills(workspace, &record));
    let skills = usable.map(|catalogue| catalogue.skills).unwrap_or_default().into_iter();
    skills.map(|(name, skill)| (name, skill.description)).collect()
}

/// Returns true if a part of context has a name of this form.
pub(super) fn is_skill_context(from: &str) -> bool {
    from == SKILLS || from.starts_with("skill ")
}

/// Returns the tool that reads skills. A command that runs one turn has it if there are any. A server
/// always has it: skills come and go while it runs, and its sessions must not lose a tool by that.
pub(super) fn skill_tools(setup: &ToolSetup<'_>) -> Result<Option<ReadyTools>, BoxError> {
    let workspace = setup.workspace.to_owned();
    let read =
        move || -> Result<Catalogue, Failure> { usable_skills(&workspace, &TrustRecord::load()?) };
    if setup.answers && read().is_ok_and(|skills| skills.skills.is_empty()) {
        return Ok(None);
    }
    let tools = SkillTools::new(move || read().map_err(|failure| failure.message));
    Ok(Some(ReadyTools::new(Arc::new(tools))))
}

/// Describes what is wrong with the skills, a line each, of which there are a few at most: a project
/// must not flood the terminal.
pub(super) fn complaints(skills: &Catalogue) -> Vec<String> {
    let file = |folder: &Path| folder.join(SKILL_FILE).display().to_string();
    let problems = skills.problems.iter();
    let mut lines: Vec<String> =
        problems.map(|one| format!("{} is left out: {}", one.path.display(), one.reason)).collect();
    for one in &skills.shadowed {
        let (hidden, by): (String, PathBuf) = (file(&one.folder), one.by.join(SKILL_FILE));
        lines.push(format!("{hidden} is hidden by {}", by.display()));
    }
    for skill in skills.skills.values() {
        let warn = |words: &String| format!("{}: {words}", file(&skill.folder));
        lines.extend(skill.warnings.iter().map(warn));
    }
    let more = lines.len().saturating_sub(MAX_COMPLAINTS);
    lines.truncate(MAX_COMPLAINTS);
    if more > 0 {
        lines.push(format!("{more} more remarks on skills: windlass skills"));
    }
    lines
}
