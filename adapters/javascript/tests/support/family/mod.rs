//! Programs that mean harm: the suite runs them within tight limits, and the example `hostile` within the
//! default ones.

mod language;
mod library;
mod nested;
mod values;

/// The programs by name.
pub(crate) fn family() -> Vec<(&'static str, String)> {
    let written = library::HOSTILE.iter().chain(language::HOSTILE).chain(values::HOSTILE);
    let mut all: Vec<_> = written.map(|(name, source)| (*name, (*source).to_owned())).collect();
    all.extend(nested::programs());
    all
}
