//! Paths of a workspace in their normal form, as rules compare them.

/// Returns a path without `.`, `..` and repeated slashes, relative to the workspace if it lies in
/// it. Reads no file, so a symbolic link is a name like any other. Of a path that leads out of the
/// workspace the leading `..` stay.
#[must_use]
pub fn normal_path(path: &str, workspace: Option<&str>) -> String {
    let absolute = path.starts_with('/');
    let mut names = names(path, absolute);
    if absolute {
        let root =
            workspace.filter(|root| root.starts_with('/')).map(|root| self::names(root, true));
        let Some(root) = root.filter(|root| names.starts_with(root)) else {
            return format!("/{}", names.join("/"));
        };
        names.drain(..root.len());
    }
    if names.is_empty() { ".".to_owned() } else { names.join("/") }
}

fn names(path: &str, absolute: bool) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => match names.last() {
                Some(last) if *last != ".." => {
                    names.pop();
                }
                Some(_) | None if absolute => {}
                Some(_) | None => names.push(".."),
            },
            name => names.push(name),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_normal_form() {
        for (path, normal) in [
            ("a/b", "a/b"),
            ("./a//b/", "a/b"),
            ("a/./x/../b", "a/b"),
            ("x/../../a", "../a"),
            ("../../a", "../../a"),
            ("", "."),
            ("/w/s/a", "a"),
            ("/w/./s/x/../a", "a"),
            ("//w//s", "."),
            ("/../w/s/a", "a"),
            ("/w/sx/a", "/w/sx/a"),
            ("/w", "/w"),
        ] {
            assert_eq!(normal_path(path, Some("/w/s/")), normal, "{path}");
        }
        assert_eq!(normal_path("/w/s/a", None), "/w/s/a");
    }
}
