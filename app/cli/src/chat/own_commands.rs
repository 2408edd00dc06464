//! Commands of the person's own: prompts in files, and skills by their names.
//!
//! A prompt is a file `prompts/NAME.md` in the user's configuration folder, and `/NAME words` sends its
//! text with `$ARGUMENTS` replaced by the words. A skill is named as `/NAME words` too.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::present::first_words;
use crate::wiring;

/// Most prompts that are read.
const PROMPTS: usize = 200;
/// Most bytes of a prompt.
const PROMPT_BYTES: u64 = 64 * 1024;
/// Place of the words in a prompt.
const ARGUMENTS: &str = "$ARGUMENTS";

/// Prompts and skills by name.
#[derive(Debug, Default)]
pub(super) struct OwnCommands {
    prompts: BTreeMap<String, String>,
    /// Names of skills with what they are for.
    skills: BTreeMap<String, String>,
}

impl OwnCommands {
    /// Reads the prompts of a folder, and the skills that sessions of a workspace may use. What cannot be
    /// read is left out.
    pub(super) fn load(folder: Option<&Path>, workspace: Option<&Path>) -> Self {
        let prompts = folder.map(prompts).unwrap_or_default();
        let skills = workspace.map(wiring::skill_names).unwrap_or_default();
        Self { prompts, skills }
    }

    /// Returns the names with what they are for.
    pub(super) fn hints(&self) -> impl Iterator<Item = (&str, String)> {
        let line = |text: &String| first_words(text.lines().next().unwrap_or_default(), 70);
        let prompts = self.prompts.iter().map(move |(name, text)| (name.as_str(), line(text)));
        let skills = self.skills.iter().map(|(name, about)| (name.as_str(), about.clone()));
        prompts.chain(skills)
    }

    /// Returns the message that a line stands for, if it names a prompt or a skill.
    pub(super) fn expand(&self, line: &str) -> Option<String> {
        let rest = line.strip_prefix('/')?;
        let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let words = words.trim();
        if let Some(prompt) = self.prompts.get(name) {
            return Some(match (prompt.contains(ARGUMENTS), words) {
                (true, words) => prompt.replace(ARGUMENTS, words),
                (false, "") => prompt.clone(),
                (false, words) => format!("{prompt}\n\n{words}"),
            });
        }
        self.skills.contains_key(name).then(|| format!("${name} {words}").trim_end().to_owned())
    }
}

/// Reads the prompts of a folder.
fn prompts(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let prompt = |path: &Path| {
        let name = path.file_stem()?.to_str()?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_prompt = path.extension().is_some_and(|ending| ending == "md");
        if !is_prompt || name.is_empty() || !name.bytes().all(is_name) || !path.is_file() {
            return None;
        }
        let mut text = String::new();
        File::open(path).ok()?.take(PROMPT_BYTES).read_to_string(&mut text).ok()?;
        let text = text.trim().to_owned();
        (!text.is_empty()).then(|| (name.to_owned(), text))
    };
    entries.take(PROMPTS).filter_map(|entry| prompt(&entry.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_takes_its_words_where_it_says() {
        let folder = tempfile::TempDir::new().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("review.md", "Review $ARGUMENTS with care.\nTwice.\n");
        write("tests.md", "Write tests.");
        write("empty.md", " \n");
        write("not a name.md", "x");
        write("other.txt", "x");
        let own = OwnCommands::load(Some(folder.path()), None);
        let names: Vec<(&str, String)> = own.hints().collect();
        let first = "Review $ARGUMENTS with care.".to_owned();
        assert_eq!(names, [("review", first), ("tests", "Write tests.".to_owned())]);
        let expanded = |line: &str| own.expand(line);
        assert_eq!(expanded("/review the diff").unwrap(), "Review the diff with care.\nTwice.");
        assert_eq!(expanded("/tests").unwrap(), "Write tests.");
        assert_eq!(expanded("/tests of a.rs").unwrap(), "Write tests.\n\nof a.rs");
        assert_eq!(expanded("/empty"), None);
        assert_eq!(expanded("review"), None);
        assert!(OwnCommands::load(Some(Path::new("/nowhere")), None).expand("/x").is_none());
    }
}
