//! Checks that links in Markdown lead to existing files.

use crate::tidy::Finding;
use crate::tidy::workspace::Workspace;

/// Finds links to files that are not there.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let pages = workspace.texts.iter().filter(|(path, _)| path.ends_with(".md"));
    for (page, text) in pages {
        for (line, target) in targets(text) {
            let there = resolve(page, target).is_some_and(|path| exists(workspace, &path));
            if !there {
                findings.push(Finding::new(
                    format!("{page}:{line}"),
                    format!("the link to `{target}` leads nowhere"),
                    "links are relative to the page they stand on",
                ));
            }
        }
    }
    findings
}

fn exists(workspace: &Workspace, path: &str) -> bool {
    path.is_empty() || workspace.paths.contains(path)
}

/// Returns the targets of links into the checkout, with their line numbers, outside code.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        // Every other piece between backticks is code.
        let prose = line.split('`').step_by(2);
        let inline = prose.flat_map(|piece| piece.split("](").skip(1));
        let inline = inline.filter_map(|rest| rest.split([')', ' ']).next());
        let listed = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        let listed = listed.and_then(|(_, rest)| rest.split_whitespace().next());
        let into_checkout = inline.chain(listed).filter(|target| is_path(target));
        found.extend(into_checkout.map(|target| (index + 1, target)));
    }
    found
}

/// Returns true for a path: no URL, no anchor on the same page, no Rust item.
fn is_path(target: &str) -> bool {
    let elsewhere = target.contains("://") || target.starts_with("mailto:");
    let item = target.contains("::");
    !target.is_empty() && !elsewhere && !item && !target.starts_with('#')
}

/// Resolves a target on a page to a path from the root; `None` outside of the checkout.
fn resolve(page: &str, target: &str) -> Option<String> {
    let target = target.split('#').next().unwrap_or(target);
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::build::workspace;

    fn findings(page: &str) -> Vec<String> {
        let texts = [("docs/a.md", page), ("docs/b.md", ""), ("README.md", "")];
        check(&workspace(&[], &texts)).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let page = "[b](b.md) [top](../README.md#map) [here](#x) [w](https://example.com/x)\n\
                    `[code](gone.md)` [item](crate::Gone) [t](b.md \"title\")\n\
                    ```\n[fenced](gone.md)\n```\n[ref]: b.md\n[root](..)\n";
        assert_eq!(findings(page), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found_with_their_line() {
        let found = findings("fine\n[x](gone.md) and [y](sub/b.md#z)\n[ref]: lost.md\n");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("docs/a.md:2: the link to `gone.md` leads nowhere"));
        assert!(found[1].contains("`sub/b.md#z`"));
        assert!(found[2].starts_with("docs/a.md:3: the link to `lost.md`"));
    }

    #[test]
    fn a_link_out_of_the_checkout_is_found() {
        assert_eq!(findings("[x](../../b.md)\n").len(), 1);
    }
}
