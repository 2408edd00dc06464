//! The tool by which a model reads skills.

use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use windlass_core::{EffectClass, Observation, ObservationStatus, ToolSpec};
use windlass_ports::{ToolCall, ToolContext, ToolError, ToolExecutor};

use crate::catalogue::Catalogue;
use crate::find::{SKILL_FILE, open_without_links, read_text};
use crate::skill::Skill;

/// Name of the tool that activates a skill.
pub const ACTIVATE_SKILL_TOOL: &str = "activate_skill";
/// Most bytes of a skill's file.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Most files of a skill that are listed.
const MAX_FILES: usize = 100;
/// Levels of folders whose files are listed.
const MAX_DEPTH: usize = 3;

/// The tool `activate_skill`.
#[derive(Clone)]
pub struct SkillTools {
    read: Arc<ReadCatalogue>,
}

type ReadCatalogue = dyn Fn() -> Result<Catalogue, String> + Send + Sync;

/// Arguments of the tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
    #[serde(default)]
    file: Option<String>,
}

impl SkillTools {
    /// Creates the tool for the skills that `read` returns, which is called for each activation: skills
    /// may come and go while a process runs. An error of it is shown to the model.
    pub fn new(read: impl Fn() -> Result<Catalogue, String> + Send + Sync + 'static) -> Self {
        Self { read: Arc::new(read) }
    }

    /// Returns the result of a call. Instructions last: compactions retain them.
    fn answer(&self, arguments: &str) -> Result<Observation, String> {
        let invalid = |error| format!("the arguments do not fit the tool's schema: {error}");
        let asked: Arguments = serde_json::from_str(arguments).map_err(invalid)?;
        let skills = (self.read)()?.skills;
        let skill = skills.get(&asked.name).ok_or_else(|| {
            let names: Vec<&str> = skills.keys().map(String::as_str).collect();
            let there = match names.is_empty() {
                true => "there are none".to_owned(),
                false => format!("there are: {}", names.join(", ")),
            };
            format!("there is no skill `{}`; {there}", asked.name)
        })?;
        match asked.file {
            None => Ok(Observation {
                lasting: Some(format!("skill {}", skill.name)),
                ..Observation::new(ObservationStatus::Done, activated(skill))
            }),
            Some(file) => {
                file_of(skill, &file).map(|text| Observation::new(ObservationStatus::Done, text))
            }
        }
    }
}

impl fmt::Debug for SkillTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillTools").finish_non_exhaustive()
    }
}

#[async_trait]
impl ToolExecutor for SkillTools {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![activate_skill()]
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        if call.name != ACTIVATE_SKILL_TOOL {
            return Err(ToolError::unsupported(format!("the tool `{}`", call.name)));
        }
        if context.cancel.is_cancelled() {
            let words = "cancelled before the skill was read";
            return Ok(Observation::new(ObservationStatus::Aborted, words));
        }
        let tools = self.clone();
        let read = tokio::task::spawn_blocking(move || tools.answer(&call.arguments)).await;
        Ok(match read {
            Ok(Ok(observation)) => observation,
            Ok(Err(why)) => Observation::new(ObservationStatus::Failed, why),
            Err(error) => Observation::new(ObservationStatus::Failed, error.to_string()),
        })
    }
}

fn activate_skill() -> ToolSpec {
    ToolSpec::new(ACTIVATE_SKILL_TOOL, EffectClass::ReadOnly).with(|it| {
        it.description = "Returns the instructions of a skill and the names of its files; or, with \
                          `file`, one of these files. The available skills are listed in the \
                          context. Activate a skill again if its instructions are no longer in the \
                          conversation."
            .to_owned();
        it.parameters = r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":1024,"description":"Name of the skill."},"file":{"type":"string","minLength":1,"maxLength":1024,"description":"Path of a file of the skill, relative to its folder. Default: its instructions."}},"required":["name"],"additionalProperties":false}"#.to_owned();
    })
}

/// Returns a skill's instructions for the model, with the names of its files.
#[must_use]
pub fn activated(skill: &Skill) -> String {
    let folder = skill.folder.display();
    let mut text = format!("Skill {} in {folder}:\n\n{}\n", skill.name, skill.body);
    let mut files = Vec::new();
    list(&skill.folder, Path::new(""), 0, &mut files);
    if !files.is_empty() {
        text.push_str("\nFiles of the skill (activate_skill with `file` returns one):\n");
        for file in files.iter().take(MAX_FILES) {
            text.push_str(&format!("- {}\n", file.display()));
        }
        if files.len() > MAX_FILES {
            text.push_str("- and more\n");
        }
    }
    text
}

/// Lists the plain files below a folder, without hidden ones, links and the skill's own file; at most
/// one more than are shown.
fn list(folder: &Path, below: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder.join(below)) else {
        return;
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let path = below.join(&name);
        let hidden = name.to_string_lossy().starts_with('.');
        let Ok(found) = fs::symlink_metadata(folder.join(&path)) else { continue };
        if hidden || files.len() > MAX_FILES {
            continue;
        }
        if found.is_dir() && depth + 1 < MAX_DEPTH {
            list(folder, &path, depth + 1, files);
        } else if found.is_file() && path != Path::new(SKILL_FILE) {
            files.push(path);
        }
    }
}

/// Reads a file of a skill. A path that leads out of the skill's folder is refused.
fn file_of(skill: &Skill, file: &str) -> Result<String, String> {
    let said = |why: &dyn fmt::Display| format!("cannot read {file} of the skill: {why}");
    let below = Path::new(file);
    if !below.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(said(&"it is not in the folder of the skill"));
    }
    let opened = open_without_links(&skill.folder.join(below)).map_err(|error| said(&error))?;
    read_text(opened, MAX_FILE_BYTES).map_err(|why| said(&why))
}
