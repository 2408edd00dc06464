//! Programs that mean harm by what they end with, print and throw.

/// The programs by name.
pub(crate) const HOSTILE: &[(&str, &str)] = &[
    ("a last value that never is", "({ then(settle) { for (;;) ; } })"),
    ("a last value that is always another", "const o = { then(settle) { settle(o); } }; o"),
    ("a map within itself, twice", "const m = new Map(); m.set(1, m); m.set(2, m); return m;"),
    (
        "sets that are nested deep",
        "let s = new Set(); for (let i = 0; i < 100; i++) s = new Set([[s], [s]]); return s;",
    ),
    (
        "large maps that are printed",
        "const m = new Map(); for (let i = 0; i < 20000; i++) m.set(i, i); for (;;) print([m, m, m]);",
    ),
    (
        "an error that always says more",
        "const e = new Error(); Object.defineProperty(e, 'message', { get() { for (;;) ; } }); return [e];",
    ),
    ("the texts of functions", "const f = () => 1; for (;;) String(f);"),
];
