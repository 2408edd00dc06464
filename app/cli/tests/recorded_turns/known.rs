//! What comes to something else here than was recorded, by what it is about. The table of the runtime's
//! README says why, with the same ids.

mod design;
mod theirs;

pub(crate) use design::DESIGN;
pub(crate) use theirs::THEIRS;

/// Differences of one kind.
pub(crate) struct Known {
    /// What differs, as the table calls it.
    pub(crate) what: &'static str,
    /// In which releases' recordings, in which turn, and what each field comes to here.
    pub(crate) turns: &'static [(Releases, &'static str, Fields)],
}

type Releases = &'static [&'static str];
type Fields = &'static [(&'static str, &'static str)];

const BOTH: Releases = &["v0.13.0", "v0.7.0"];
const NEW: Releases = &["v0.13.0"];
const OLD: Releases = &["v0.7.0"];

/// All of them.
pub(crate) fn known() -> impl Iterator<Item = &'static Known> {
    THEIRS.iter().chain(DESIGN)
}
