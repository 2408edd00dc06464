//! Check: a `SKILL.md` compared with the specification.

use std::path::Path;

use crate::skill::{mapping, split, text_of};

/// Fields that front matter may have.
const FIELDS: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
/// Most characters of a name.
pub(crate) const MAX_NAME: usize = 64;
/// Most characters of a description.
const MAX_DESCRIPTION: usize = 1_024;
/// Most characters of a note on compatibility.
const MAX_COMPATIBILITY: usize = 500;

/// Returns what the specification does not allow in the `SKILL.md` of a folder, a sentence each.
#[must_use]
pub fn faults(folder: &Path, text: &str) -> Vec<String> {
    let Some((head, _)) = split(text) else {
        return vec![crate::InvalidSkill::NoFrontMatter.to_string()];
    };
    let fields = match mapping(head) {
        Ok(fields) => fields,
        Err(error) => return vec![error.to_string()],
    };
    let mut faults = Vec::new();
    for key in fields.keys() {
        let key = key.as_str().unwrap_or("?");
        if !FIELDS.contains(&key) {
            faults.push(format!("it has the field `{key}`; allowed are: {}", FIELDS.join(", ")));
        }
    }
    match text_of(&fields, "name").filter(|name| !name.is_empty()) {
        None => faults.push("it has no name: add the field `name`".to_owned()),
        Some(name) => faults.extend(name_faults(folder, &name)),
    }
    match text_of(&fields, "description").filter(|text| !text.is_empty()) {
        None => faults.push(crate::InvalidSkill::NoDescription.to_string()),
        Some(text) => faults.extend(too_long("description", &text, MAX_DESCRIPTION)),
    }
    match text_of(&fields, "compatibility") {
        Some(text) => faults.extend(too_long("compatibility", &text, MAX_COMPATIBILITY)),
        None if fields.contains_key("compatibility") => {
            faults.push("the field `compatibility` is no text".to_owned());
        }
        None => {}
    }
    faults
}

fn name_faults(folder: &Path, name: &str) -> Vec<String> {
    let mut faults: Vec<String> = too_long("name", name, MAX_NAME).into_iter().collect();
    if name.chars().any(char::is_uppercase) {
        faults.push(format!("the name `{name}` has an upper case letter"));
    }
    if !name.chars().all(|c| c.is_alphanumeric() || c == '-') {
        faults.push(format!("the name `{name}` has more than letters, digits and hyphens"));
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        faults.push(format!("the name `{name}` has a hyphen at an end, or two in a row"));
    }
    if folder.file_name().is_some_and(|own| own.to_string_lossy() != name) {
        faults.push(format!("the name `{name}` is not that of the folder"));
    }
    faults
}

fn too_long(field: &str, text: &str, most: usize) -> Option<String> {
    let long = text.chars().count() > most;
    long.then(|| format!("the field `{field}` has more than {most} characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdicts are those of the reference validator `skills-ref` 0.1.1.
    #[test]
    fn each_sample_is_judged_as_the_specification_has_it() {
        let [long, note] = [1_025, 501].map(|many| "x".repeat(many));
        for (name, head, valid) in [
            ("pdf", "name: pdf\ndescription: d".to_owned(), true),
            (
                "pdf-2",
                "name: pdf-2\ndescription: d\nlicense: MIT\nmetadata:\n  a: b".to_owned(),
                true,
            ),
            ("pdf", "name: pdf\ndescription: d\nallowed-tools: Bash(git:*)".to_owned(), true),
            ("other", "name: pdf\ndescription: d".to_owned(), false),
            ("Pdf", "name: Pdf\ndescription: d".to_owned(), false),
            ("-pdf", "name: -pdf\ndescription: d".to_owned(), false),
            ("a--b", "name: a--b\ndescription: d".to_owned(), false),
            ("a_b", "name: a_b\ndescription: d".to_owned(), false),
            ("pdf", "name: pdf".to_owned(), false),
            ("pdf", "description: d".to_owned(), false),
            ("pdf", "name: pdf\ndescription: d\nversion: 1".to_owned(), false),
            ("pdf", format!("name: pdf\ndescription: {long}"), false),
            ("pdf", format!("name: pdf\ndescription: d\ncompatibility: {note}"), false),
            ("pdf", "name: pdf\ndescription: d\ncompatibility: 3".to_owned(), true),
            ("pdf", "name: pdf\ndescription: 5".to_owned(), true),
            ("pdf", "name: pdf\ndescription: ''".to_owned(), false),
            ("żółw", "name: żółw\ndescription: d".to_owned(), true),
            ("pdf", "name: pdf\ndescription: Use when: always".to_owned(), false),
        ] {
            let text = format!("---\n{head}\n---\nbody\n");
            let found = faults(&Path::new("/skills").join(name), &text);
            assert_eq!(found.is_empty(), valid, "{head}: {found:?}");
        }
        assert_eq!(faults(Path::new("/skills/pdf"), "no front matter").len(), 1);
    }
}
