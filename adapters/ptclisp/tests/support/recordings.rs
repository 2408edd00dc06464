//! The recordings of another implementation, which are not part of this project.

use std::path::{Path, PathBuf};

/// Their folder: what `WINDLASS_PTC_LISP` names, which must be there, or `shared/ptc_lisp` beside the
/// checkout. Where there is none, the test that asks is skipped, and that is said.
pub(crate) fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ptc_lisp");
    let named = std::env::var_os("WINDLASS_PTC_LISP").map(PathBuf::from);
    let folder = named.or_else(|| beside.is_dir().then_some(beside));
    if folder.is_none() {
        eprintln!(
            "SKIPPED: no recorded programs; WINDLASS_PTC_LISP names their folder, and none is at \
             shared/ptc_lisp beside the checkout"
        );
    }
    folder
}
