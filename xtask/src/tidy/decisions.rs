//! Checks decision records: numbers from 0001 without a gap, and a title in the first line.

use crate::tidy::Finding;
use crate::tidy::workspace::Workspace;

const FOLDER: &str = "docs/decisions/";

/// Finds records whose number is missing, doubled or out of order.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut next = 1;
    let records =
        workspace.paths.iter().filter_map(|path| Some((path, path.strip_prefix(FOLDER)?)));
    for (path, name) in records.filter(|(_, name)| name.ends_with(".md") && *name != "README.md") {
        let Some(number) = number(name) else {
            findings.push(Finding::new(
                path,
                "the name is not NNNN-words.md",
                "number it after the last record",
            ));
            continue;
        };
        if number != next {
            findings.push(Finding::new(
                path,
                format!("the record is numbered {number:04} where {next:04} is due"),
                "records are numbered from 0001 without a gap or a double",
            ));
        }
        if !workspace.texts.get(path).is_some_and(|text| text.starts_with("# ")) {
            findings.push(Finding::new(path, "the record has no title", "open it with `# ...`"));
        }
        next = number.saturating_add(1);
    }
    findings
}

/// Returns the number of `NNNN-words.md`.
fn number(name: &str) -> Option<u32> {
    let (number, words) = name.split_once('-')?;
    let digits = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || words == ".md" {
        return None;
    }
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::build::workspace;

    fn findings(names: &[&str]) -> Vec<String> {
        let paths: Vec<String> = names.iter().map(|name| format!("{FOLDER}{name}")).collect();
        let texts: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "# T\n")).collect();
        check(&workspace(&[], &texts)).into_iter().map(|finding| finding.wrong).collect()
    }

    #[test]
    fn numbers_without_a_gap_are_fine() {
        assert_eq!(findings(&["0001-a.md", "0002-b.md", "README.md"]), [""; 0]);
        assert_eq!(findings(&[]), [""; 0]);
    }

    #[test]
    fn a_gap_a_double_and_a_late_start_are_found_once_each() {
        let gap = findings(&["0001-a.md", "0003-c.md", "0004-d.md"]);
        assert_eq!(gap, ["the record is numbered 0003 where 0002 is due"]);
        let double = findings(&["0001-a.md", "0001-b.md", "0002-c.md"]);
        assert_eq!(double, ["the record is numbered 0001 where 0002 is due"]);
        let late = findings(&["0002-a.md"]);
        assert_eq!(late, ["the record is numbered 0002 where 0001 is due"]);
    }

    #[test]
    fn a_name_without_a_number_is_found() {
        for name in ["why.md", "1-a.md", "00x1-a.md", "0001-.md"] {
            assert_eq!(findings(&[name]), ["the name is not NNNN-words.md"], "{name}");
        }
    }

    #[test]
    fn a_record_without_a_title_is_found() {
        let found = check(&workspace(&[], &[("docs/decisions/0001-a.md", "words\n")]));
        assert_eq!(found[0].wrong, "the record has no title");
    }
}
