//! `windlass skills`: lists the skills of a workspace, and compares skills with the specification.

use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_skills::{Catalogue, SKILL_FILE, Skill, faults};

use super::closed;
use crate::args::{SkillsArgs, SkillsCommand};
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice, visible};
use crate::wiring::{
    FileTrust, TrustRecord, skill_as_project_file, untrusted_skills, usable_skills,
};

/// A skill in the list.
#[derive(Serialize)]
struct Row {
    name: String,
    state: SkillState,
    /// File of the skill; `None` for a disabled one.
    path: Option<PathBuf>,
    /// Description, or the reason why it is not used.
    about: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum SkillState {
    Used,
    Untrusted,
    Disabled,
    Hidden,
    Invalid,
}

impl SkillState {
    fn word(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Untrusted => "untrusted",
            Self::Disabled => "disabled",
            Self::Hidden => "hidden",
            Self::Invalid => "invalid",
        }
    }
}

pub(super) fn skills_of(args: &SkillsArgs) -> Result<ExitKind, Failure> {
    if let Some(SkillsCommand::Check { paths }) = &args.command {
        return check(paths);
    }
    let folder = args.folder.as_deref().unwrap_or(Path::new("."));
    let folder = folder
        .canonicalize()
        .map_err(|error| Failure::usage(format!("cannot open {}: {error}", folder.display())))?;
    let record = TrustRecord::load()?;
    let mut rows = rows(usable_skills(&folder, &record)?);
    for file in untrusted_skills(&folder, &record) {
        let changed = record.of(&skill_as_project_file(&file, &folder)) == FileTrust::Changed;
        let about = match changed {
            true => "it changed since you decided about it: windlass trust",
            false => "you have not trusted it: windlass trust",
        };
        let folder = file.path.parent().unwrap_or(Path::new("/"));
        let name = match Skill::parse(folder, &file.text) {
            Ok(skill) => skill.name,
            Err(_) => file_name(folder),
        };
        let (path, about) = (Some(file.path), about.to_owned());
        rows.push(Row { name, state: SkillState::Untrusted, path, about });
    }
    if rows.is_empty() && !args.json {
        print_notice("there are no skills");
    }
    for row in rows {
        let line = match args.json {
            true => {
                serde_json::to_string(&row).map_err(|error| Failure::usage(error.to_string()))?
            }
            false => visible(&line(&row)),
        };
        print_line(&line).map_err(closed)?;
    }
    Ok(ExitKind::Completed)
}

fn rows(catalogue: Catalogue) -> Vec<Row> {
    let mut rows = Vec::new();
    for skill in catalogue.skills.into_values() {
        let path = Some(skill.folder.join(SKILL_FILE));
        let (name, about) = (skill.name, skill.description);
        rows.push(Row { name, state: SkillState::Used, path, about });
    }
    for name in catalogue.disabled {
        let about = "skills.toml disables it".to_owned();
        rows.push(Row { name, state: SkillState::Disabled, path: None, about });
    }
    for one in catalogue.shadowed {
        let path = Some(one.folder.join(SKILL_FILE));
        let about = format!("used is {}", one.by.join(SKILL_FILE).display());
        rows.push(Row { name: one.name, state: SkillState::Hidden, path, about });
    }
    for one in catalogue.problems {
        let name = file_name(one.path.parent().unwrap_or(Path::new("/")));
        let (path, about) = (Some(one.path), one.reason);
        rows.push(Row { name, state: SkillState::Invalid, path, about });
    }
    rows
}

fn file_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn line(row: &Row) -> String {
    let path = row.path.as_ref().map(|path| format!("  {}", path.display())).unwrap_or_default();
    format!("{:<9}  {}{path}  {}", row.state.word(), row.name, row.about)
}

/// Prints the faults of each skill. Fails if there are any.
fn check(paths: &[PathBuf]) -> Result<ExitKind, Failure> {
    let mut worst = ExitKind::Completed;
    for path in paths {
        let file = match path.is_dir() {
            true => path.join(SKILL_FILE),
            false => path.clone(),
        };
        let text = std::fs::read_to_string(&file)
            .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
        let folder = file.canonicalize().ok();
        let folder = folder.as_deref().and_then(Path::parent).unwrap_or(Path::new("/"));
        let found = faults(folder, &text);
        if found.is_empty() {
            print_line(&visible(&format!("valid  {}", file.display()))).map_err(closed)?;
        }
        for fault in found {
            worst = ExitKind::Failed;
            let line = format!("invalid  {}: {fault}", file.display());
            print_line(&visible(&line)).map_err(closed)?;
        }
    }
    Ok(worst)
}
