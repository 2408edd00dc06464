//! Skill: the front matter and the body of a `SKILL.md`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use yaml_serde::{Mapping, Value};

/// Most characters of a name or a description that the catalogue shows; longer ones are cut.
const MAX_SHOWN: usize = 1_024;

/// A skill that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Name, by which it is activated.
    pub name: String,
    /// Description: what it does, and when to use it.
    pub description: String,
    /// Folder of the skill. Its files are read through no link, so give its canonical path.
    pub folder: PathBuf,
    /// Instructions for the model.
    pub body: String,
    /// Differences from the specification, a sentence each. The skill is used all the same.
    pub warnings: Vec<String>,
}

/// A `SKILL.md` that is no skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSkill {
    /// The file does not begin with front matter.
    #[error("it has no front matter: begin it with a line `---`, its fields, and a line `---`")]
    NoFrontMatter,
    /// The front matter is not YAML, or not a mapping.
    #[error("its front matter is no YAML mapping: {0}")]
    Yaml(String),
    /// The description is missing or empty.
    #[error("it has no description: add the field `description` to its front matter")]
    NoDescription,
}

impl Skill {
    /// Reads the text of the `SKILL.md` in this folder.
    ///
    /// Lenient: a missing name is that of the folder; a value that only lacks quotes, such as
    /// `description: Use when: always`, is read as text; unknown fields are passed over.
    ///
    /// # Errors
    /// [`InvalidSkill`] when there is nothing to describe the skill by.
    pub fn parse(folder: &Path, text: &str) -> Result<Self, InvalidSkill> {
        let (head, body) = split(text).ok_or(InvalidSkill::NoFrontMatter)?;
        let mut warnings = Vec::new();
        let fields = match mapping(head) {
            Ok(fields) => fields,
            Err(error) => {
                let fields = mapping(&quoted(head)).map_err(|_| error)?;
                warnings.push("a value with `: ` in it has no quotes".to_owned());
                fields
            }
        };
        let description = text_of(&fields, "description").filter(|text| !text.is_empty());
        let description = description.ok_or(InvalidSkill::NoDescription)?;
        let own = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let own = own.unwrap_or_default();
        let name = match text_of(&fields, "name").filter(|name| !name.is_empty()) {
            Some(name) => name,
            None => {
                warnings.push("it has no name, so that of its folder is used".to_owned());
                own.clone()
            }
        };
        if name != own {
            warnings.push(format!("its name is not that of its folder, `{own}`"));
        }
        if name.chars().count() > crate::check::MAX_NAME {
            warnings.push(format!("its name has more than {} characters", crate::check::MAX_NAME));
        }
        let body = body.trim().to_owned();
        let folder = folder.to_owned();
        Ok(Self { name: shown(&name), description: shown(&description), folder, body, warnings })
    }
}

/// Returns the front matter and the body; `None` without front matter.
pub(crate) fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---")?;
    let rest = rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((rest.get(..at)?, rest.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

pub(crate) fn mapping(head: &str) -> Result<Mapping, InvalidSkill> {
    let invalid = |error: &dyn std::fmt::Display| InvalidSkill::Yaml(error.to_string());
    let value: Value = yaml_serde::from_str(head).map_err(|error| invalid(&error))?;
    Mapping::deserialize(value).map_err(|error| invalid(&error))
}

/// Returns a field as text; `None` for one that is missing or of another type.
pub(crate) fn text_of(fields: &Mapping, name: &str) -> Option<String> {
    match fields.get(name)? {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => None,
    }
}

/// Returns front matter with quotes around each plain value at the first level that has `: ` in it.
fn quoted(head: &str) -> String {
    let quote = |line: &str| -> Option<String> {
        let (key, value) = line.split_once(": ")?;
        let plain = !value.trim_start().starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '!']);
        let top = key.starts_with(|c: char| c.is_ascii_alphabetic());
        let value = value.trim().replace('\\', "\\\\").replace('"', "\\\"");
        (top && plain && value.contains(": ")).then(|| format!("{key}: \"{value}\""))
    };
    let lines = head.lines().map(|line| quote(line).unwrap_or_else(|| line.to_owned()));
    lines.map(|line| line + "\n").collect()
}

/// Returns one line of text without control characters.
fn shown(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| !c.is_control()).take(MAX_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Skill, InvalidSkill> {
        Skill::parse(Path::new("/skills/pdf"), text)
    }

    #[test]
    fn the_front_matter_and_the_body_are_read() {
        let text = "---\nname: pdf\ndescription: >\n  Reads\n  PDF.\nmetadata:\n  x: 1\n---\n\n# A\n---\nb\n";
        let skill = parse(text).unwrap();
        assert_eq!((&*skill.name, &*skill.description), ("pdf", "Reads PDF."));
        assert_eq!(skill.body, "# A\n---\nb");
        assert_eq!(skill.warnings, [""; 0]);
        let windows = "\u{feff}---\r\nname: pdf\r\ndescription: d\r\n---\r\nbody\r\n";
        assert_eq!(parse(windows).unwrap().body, "body");
    }

    #[test]
    fn what_people_often_get_wrong_is_read_with_a_warning() {
        let skill = parse("---\ndescription: Use when: \"always\": yes\n---\n").unwrap();
        assert_eq!(skill.description, "Use when: \"always\": yes");
        assert_eq!((skill.name.as_str(), skill.warnings.len()), ("pdf", 2));
        let other = parse("---\nname: Other\ndescription: d\nunknown: 1\n---\n").unwrap();
        assert_eq!((other.name.as_str(), other.warnings.len()), ("Other", 1));
    }

    #[test]
    fn what_describes_nothing_is_no_skill() {
        for (text, error) in [
            ("", InvalidSkill::NoFrontMatter),
            ("# pdf\n", InvalidSkill::NoFrontMatter),
            ("---\nname: pdf\ndescription: d\n", InvalidSkill::NoFrontMatter),
            ("---\n---\n", InvalidSkill::NoDescription),
            ("---\nname: pdf\n---\n", InvalidSkill::NoDescription),
            ("---\nname: pdf\ndescription: ' '\n---\n", InvalidSkill::NoDescription),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        for text in ["---\n- a\n---\n", "---\n{\n---\n"] {
            assert!(matches!(parse(text), Err(InvalidSkill::Yaml(_))), "{text}: {:?}", parse(text));
        }
    }
}
