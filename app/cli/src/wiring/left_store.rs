//! Store that is found in a workspace: it is named, and never opened by itself.
//!
//! It may have come with a repository. Its sessions would run commands that somebody else chose.

use std::path::Path;

use crate::present::{print_notice, visible};

/// Folder in which earlier versions stored sessions of a workspace.
const FOLDER: &str = ".windlass";

/// Says how to use the sessions of a store in the workspace, if there is one.
pub(super) fn report(workspace: &Path, store: &Path) {
    let found = workspace.join(FOLDER);
    if found == store {
        return;
    }
    let Some(kind) = kind_of_store(&found) else {
        return;
    };
    let url = format!("{kind}:{}", found.display());
    print_notice(&visible(&format!(
        "the store {url} is not opened, since it may have come with the folder: read it with \
         --store {url}, or bring its sessions in with: windlass copy --from {url} --to file:{}",
        store.display()
    )));
}

/// Returns the URL scheme of the store in a folder.
fn kind_of_store(folder: &Path) -> Option<&'static str> {
    let has = |name: &str| folder.join(name).is_dir();
    if has("lanes") || has("sessions") {
        return Some("file");
    }
    if has("db") {
        return Some("sled");
    }
    folder.join("windlass.sqlite3").is_file().then_some("sqlite")
}
