//! Catalogue: the skills that a model may activate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::find::{SKILL_FILE, SkillFile, SkillProblem};
use crate::skill::Skill;

/// Most bytes of the text for the model.
const MAX_TEXT: usize = 32 * 1024;

/// What the model is told about the skills.
const HEADING: &str = "\
Skills are instructions for one kind of work each. If a skill fits the task, or the user names it as \
$name, activate it with the tool activate_skill before you begin, and follow it.";

/// Skills of a workspace, each name once.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Skills by name.
    pub skills: BTreeMap<String, Skill>,
    /// Skills that another one of the same name hides.
    pub shadowed: Vec<Shadowed>,
    /// Files that are no skills.
    pub problems: Vec<SkillProblem>,
    /// Names of skills that the user has disabled.
    pub disabled: BTreeSet<String>,
}

/// A skill that another one hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadowed {
    /// Name of both.
    pub name: String,
    /// Folder of the hidden one.
    pub folder: PathBuf,
    /// Folder of the one that is used.
    pub by: PathBuf,
}

impl Catalogue {
    /// Reads files, those that take precedence first, without the skills that `disabled` names.
    pub fn new(files: impl IntoIterator<Item = SkillFile>, disabled: &BTreeSet<String>) -> Self {
        let mut made = Self::default();
        for file in files {
            let folder = file.path.parent().unwrap_or(Path::new("/"));
            match Skill::parse(folder, &file.text) {
                Err(error) => {
                    let reason = error.to_string();
                    made.problems.push(SkillProblem { path: file.path, reason });
                }
                Ok(skill) if disabled.contains(&skill.name) || disabled.contains("*") => {
                    made.disabled.insert(skill.name);
                }
                Ok(skill) => made.add(skill),
            }
        }
        made
    }

    fn add(&mut self, skill: Skill) {
        if let Some(used) = self.skills.get(&skill.name) {
            if used.folder != skill.folder {
                let by = used.folder.clone();
                self.shadowed.push(Shadowed { name: skill.name, folder: skill.folder, by });
            }
            return;
        }
        self.skills.insert(skill.name.clone(), skill);
    }

    /// Returns the text for the model: each skill with its description and its file, as the
    /// specification suggests it. `None` without a skill. Skills beyond 32 KiB are only counted.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        if self.skills.is_empty() {
            return None;
        }
        let mut text = format!("{HEADING}\n\n<available_skills>\n");
        let mut more = 0;
        for skill in self.skills.values() {
            let entry = entry(skill);
            match text.len() + entry.len() <= MAX_TEXT {
                true => text.push_str(&entry),
                false => more += 1,
            }
        }
        text.push_str("</available_skills>");
        if more > 0 {
            text.push_str(&format!("\n[{more} more skills are not listed]"));
        }
        Some(text)
    }

    /// Returns the skills that a text names as `$name`, in the order of the text.
    pub fn named_in<'a>(&'a self, text: &'a str) -> Vec<&'a Skill> {
        let part = |c: char| c.is_alphanumeric() || "-_.:".contains(c);
        let mut named: Vec<&Skill> = Vec::new();
        for (at, _) in text.match_indices('$') {
            let alone = text[..at].chars().next_back().is_none_or(|c| !part(c) && c != '$');
            let rest = &text[at + 1..];
            let end = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
            let name = rest[..end].trim_end_matches(['.', ':']);
            if let Some(skill) = self.skills.get(name).filter(|_| alone)
                && !named.iter().any(|one| one.name == skill.name)
            {
                named.push(skill);
            }
        }
        named
    }
}

fn entry(skill: &Skill) -> String {
    let file = skill.folder.join(SKILL_FILE);
    let [name, description] = [&skill.name, &skill.description].map(|text| escaped(text));
    let file = file.display();
    format!(
        "<skill>\n<name>\n{name}\n</name>\n<description>\n{description}\n</description>\n\
         <location>\n{file}\n</location>\n</skill>\n"
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#x27;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &str, name: &str, description: &str) -> SkillFile {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nbody\n");
        SkillFile { path: Path::new(folder).join(name).join(SKILL_FILE), text }
    }

    #[test]
    fn the_first_of_a_name_is_used_and_disabled_ones_are_hidden() {
        let files = [file("/p", "a", "of p"), file("/u", "a", "of u"), file("/u", "b", "x < 'y'")];
        let made = Catalogue::new(files.clone(), &BTreeSet::new());
        assert_eq!(made.skills["a"].description, "of p");
        assert_eq!(made.shadowed.len(), 1);
        assert_eq!(made.shadowed[0].by, Path::new("/p/a"));
        let text = made.text().unwrap();
        let b = "<skill>\n<name>\nb\n</name>\n<description>\nx &lt; &#x27;y&#x27;\n</description>\n\
                 <location>\n/u/b/SKILL.md\n</location>\n</skill>\n</available_skills>";
        assert!(text.ends_with(b), "{text}");
        let made = Catalogue::new(files.clone(), &BTreeSet::from(["a".to_owned()]));
        assert_eq!(made.skills.keys().collect::<Vec<_>>(), ["b"]);
        assert!(made.disabled.contains("a"));
        let made = Catalogue::new(files, &BTreeSet::from(["*".to_owned()]));
        assert_eq!(made.text(), None);
    }

    #[test]
    fn a_text_names_skills_by_a_dollar_sign() {
        let files = [file("/p", "pdf", "d"), file("/p", "code-review", "d")];
        let made = Catalogue::new(files, &BTreeSet::new());
        let named = |text: &str| -> Vec<String> {
            made.named_in(text).into_iter().map(|skill| skill.name.clone()).collect()
        };
        assert_eq!(named("Use $pdf, then $code-review. And $pdf."), ["pdf", "code-review"]);
        assert_eq!(named("$pdf"), ["pdf"]);
        for text in ["", "pdf", "a$pdf", "$$pdf", "$pdfs", "$PDF", "$HOME", "$"] {
            assert_eq!(named(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn more_than_fits_is_counted() {
        let files = (0..60).map(|at| file("/p", &format!("s{at}"), &"x".repeat(1_000)));
        let text = Catalogue::new(files, &BTreeSet::new()).text().unwrap();
        assert!(text.len() <= MAX_TEXT + 100, "{}", text.len());
        assert!(text.ends_with(" more skills are not listed]"));
    }
}
