//! The recordings of another implementation, which are not part of this project.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses some of it, and fails by panicking"
)]

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The selection of programs that the tests were written with: their number, and what `selection` makes
/// of their ids.
const WRITTEN_WITH: (usize, u64) = (1_770, 0x7225_7b3c_e55d_3511);

/// Their folder: what `WINDLASS_PTC_LISP` names, which must be there, or `shared/ptc_lisp` beside the
/// checkout. Where there is none, the test that asks is skipped, and that is said.
pub(crate) fn folder() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    let beside = root.map(|root| root.join("../shared/ptc_lisp"));
    let named = std::env::var_os("WINDLASS_PTC_LISP").map(PathBuf::from);
    let folder = named.or_else(|| beside.filter(|folder| folder.is_dir()));
    if folder.is_none() {
        eprintln!(
            "SKIPPED: no recorded programs; WINDLASS_PTC_LISP names their folder, and none is at \
             shared/ptc_lisp beside the checkout"
        );
    }
    folder
}

/// The rows of a file.
pub(crate) fn rows(folder: &Path, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whether these are the programs that the tests were written with. Of any others less is known: a rule
/// judges them, and a share of them may differ.
pub(crate) fn written_with(programs: &[Value]) -> bool {
    let found = selection(programs);
    let known = found == WRITTEN_WITH;
    if !known {
        eprintln!("these are other recorded programs than the tests were written with: {found:?}");
    }
    known
}

/// How many there are, and a digest of their ids (FNV-1a), whatever their order.
fn selection(rows: &[Value]) -> (usize, u64) {
    let mut ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let bytes = ids.iter().flat_map(|id| id.bytes().chain([b'\n']));
    let digest = bytes.fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (ids.len(), digest)
}
