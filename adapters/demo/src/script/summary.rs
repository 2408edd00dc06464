//! Summarises results of tools in words: counts, names, headings, first lines.

/// The entries of a folder as `list_dir` shows them: `name/`, `name (N bytes)`,
/// `name -> target`, and remarks in brackets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FolderListing<'a> {
    folders: Vec<&'a str>,
    files: Vec<&'a str>,
    cut: bool,
}

/// Entries named in an answer.
const NAMED: usize = 12;
/// Characters of a quotation.
const QUOTED: usize = 200;
/// Lines and characters of an excerpt.
const EXCERPT: (usize, usize) = (20, 2_000);

impl<'a> FolderListing<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let mut listing = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if line.starts_with('[') && line.ends_with(']') {
                listing.cut |= line.contains("more entries") || line.contains("not all");
            } else if let Some(folder) = line.strip_suffix('/') {
                listing.folders.push(folder);
            } else if let Some((file, _)) = line.rsplit_once(" (").filter(|_| line.ends_with(')')) {
                listing.files.push(file);
            } else if line.contains(" -> ") {
                listing.files.extend(line.split(" -> ").next());
            }
        }
        listing
    }

    /// The file that tells most about a folder: its README, else the first one.
    pub(super) fn sensible_file(&self) -> Option<&'a str> {
        let readme = |file: &&&str| file.to_ascii_lowercase().starts_with("readme");
        self.files.iter().find(readme).or(self.files.first()).copied()
    }

    /// Describes the listing; `None` if it is empty or cannot be read as one.
    pub(super) fn words(&self) -> Option<String> {
        let count = self.folders.len() + self.files.len();
        if count == 0 {
            return None;
        }
        let folders = self.folders.iter().map(|folder| format!("{folder}/"));
        let files = self.files.iter().map(|file| (*file).to_owned());
        let mut names: Vec<String> = folders.chain(files).collect();
        names.truncate(NAMED);
        let rest = if count > NAMED { ", ..." } else { "" };
        let least = if self.cut { "at least " } else { "" };
        let (entries, files, folders) = (
            counted(count, "entry", "entries"),
            counted(self.files.len(), "file", "files"),
            counted(self.folders.len(), "folder", "folders"),
        );
        Some(format!(
            "The folder has {least}{entries} ({files}, {folders}): {}{rest}.",
            names.join(", ")
        ))
    }
}

/// Describes the result of reading a file: its length and first line. The result of a failed call
/// has the same form, so the text does not claim success.
pub(super) fn summary(path: &str, text: &str) -> String {
    let lines = text.lines().count();
    let heading = text.lines().find_map(|line| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.trim()).filter(|title| !title.is_empty())
    });
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let returned = format!(
        "read_file on {path} returned {} ({} bytes)",
        counted(lines, "line", "lines"),
        text.len()
    );
    match (heading.filter(|_| is_markdown(path)), first) {
        (Some(heading), _) => {
            format!("{returned}; the first heading in it is {}", quoted(heading))
        }
        (None, Some(first)) => format!("{returned}; it begins with {}", quoted(first)),
        (None, None) => format!("read_file on {path} returned nothing."),
    }
}

/// In Markdown a line that starts with `#` is a heading; elsewhere it is a comment.
fn is_markdown(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.ends_with(".md") || lower.ends_with(".markdown") || !lower.contains('.')
}

/// A text on one line, between quotation marks, bounded.
pub(super) fn quoted(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    let mut start: String = line.chars().take(QUOTED).collect();
    if start.len() < line.len() {
        start.push_str(" ...");
    }
    format!("“{start}”.")
}

/// The start of a text, indented, bounded in lines and characters.
pub(super) fn excerpt(text: &str) -> String {
    let (most_lines, most) = EXCERPT;
    let start: String = text.chars().take(most).collect();
    let lines: Vec<String> =
        start.lines().take(most_lines).map(|line| format!("    {line}")).collect();
    let whole = start.len() == text.len() && text.lines().count() <= most_lines;
    let more = if whole { "" } else { "\n    ..." };
    if lines.is_empty() {
        return "    (nothing)".into();
    }
    lines.join("\n") + more
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_counted_and_its_readme_found() {
        let text = ".git/\nCargo.toml (120 bytes)\nREADME.md (5 bytes)\nlatest -> a/b\n\
                    sock (socket)\n[... 7 more entries]\n";
        let listing = FolderListing::parse(text);
        assert_eq!(listing.sensible_file(), Some("README.md"));
        assert_eq!(
            listing.words().unwrap(),
            "The folder has at least 5 entries (4 files, 1 folder): .git/, Cargo.toml, \
             README.md, latest, sock."
        );
        assert_eq!(FolderListing::parse("[the folder is empty]"), FolderListing::default());
        assert_eq!(FolderListing::parse("a b.txt (1 bytes)").sensible_file(), Some("a b.txt"));
    }

    #[test]
    fn a_file_is_summed_up_by_its_heading_or_first_line() {
        let read = summary("README.md", "intro\n\n# Winch\ntext\n");
        assert_eq!(
            read,
            "read_file on README.md returned 4 lines (20 bytes); the first heading in it is “Winch”."
        );
        let read = summary("a.toml", "\n# comment\nx = 1\n");
        assert!(read.ends_with("begins with “# comment”."), "{read}");
        assert!(summary("a", "").contains("nothing"));
    }

    #[test]
    fn quotations_and_excerpts_are_bounded() {
        assert!(quoted(&"ö ".repeat(10_000)).chars().count() < QUOTED + 10);
        let long = "line\n".repeat(1_000);
        assert_eq!(excerpt(&long).lines().count(), 21);
        assert_eq!(excerpt("a\nb\n"), "    a\n    b");
    }
}
