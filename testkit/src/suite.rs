//! What the suites share: each is a list of cases, out of which come a table by name, for the
//! tests that show that the cases bite, and a module of tests, for those who write adapters.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write as _};

use crate::store::{Checked, Violation};

/// Variable that names a file to which each case that was not run is appended, one a line.
pub const NOT_RUN: &str = "WINDLASS_SUITE_NOT_RUN";

/// Passes over a case for which the fixture has no means, and names it: on standard error, past the
/// capture of the test runner, and in the file that [`NOT_RUN`] names.
pub(crate) fn not_run(suite: &str, case: &str, method: &str) -> Checked {
    let line = format!("NOT RUN: {suite}::{case}: the fixture has nothing in {method}\n");
    let told = io::stderr().write_all(line.as_bytes()).and_then(|()| match env::var_os(NOT_RUN) {
        None => Ok(()),
        Some(path) => {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            file.write_all(line.as_bytes())
        }
    });
    told.map_err(|error| Violation::new(format!("cannot report {line:?}: {error}")))
}

/// Makes the table of a suite's cases.
macro_rules! table {
    ([] $($case:ident,)*) => {
        /// All cases with their names.
        pub const CASES: &[(&str, Case)] = &[$((stringify!($case), $case),)*];
    };
}
pub(crate) use table;

/// Makes the tests of a suite: a module that is named after it, so that a test's path tells which
/// suite it is of, with one test for each case.
#[doc(hidden)]
#[macro_export]
macro_rules! suite_tests {
    ([$name:ident, $($path:ident)::+, $fixture:expr] $($case:ident,)*) => {
        mod $name {
            #[allow(unused_imports, reason = "a fixture may need no name from around it")]
            use super::*;
            use $crate::$($path)::+ as suite_under_test;

            $(
                #[test]
                fn $case() -> $crate::store::Checked {
                    suite_under_test::$case(&$fixture)
                }
            )*
        }
    };
}

/// Holds a suite to biting: each of its cases has a fault that it must find, and finds it, in
/// words that tell it from others.
///
/// `cases` is the suite's table. `bites` names for each case at least one fault, and words of what
/// the case must say of it. `run` holds a fake with that fault to the case.
///
/// # Errors
/// A violation that names every case without a fault, every fault that is not found or found for
/// another reason, every fault without words, and every name that is no case.
pub fn every_case_bites<C, F: std::fmt::Debug>(
    cases: &[(&str, C)],
    bites: &[(&str, F, &str)],
    run: impl Fn(&C, &F) -> Checked,
) -> Checked {
    let mut misses = Vec::new();
    for (name, _) in cases {
        if !bites.iter().any(|(bitten, ..)| bitten == name) {
            misses.push(format!("{name}: no fault shows that it bites"));
        }
    }
    for (name, fault, words) in bites {
        if words.trim().is_empty() {
            misses.push(format!(
                "{name}: on {fault:?} any words would do; name some of what the case must say"
            ));
            continue;
        }
        let Some((_, case)) = cases.iter().find(|(case, _)| case == name) else {
            misses.push(format!("{name}: the suite has no such case"));
            continue;
        };
        match run(case, fault) {
            Ok(()) => misses.push(format!("{name}: passes with the fault {fault:?}")),
            Err(violation) if violation.to_string().contains(words) => {}
            Err(violation) => misses.push(format!("{name}: on {fault:?} says {violation}")),
        }
    }
    if misses.is_empty() { Ok(()) } else { Err(Violation::new(misses.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case = fn(u32) -> Checked;

    fn even(number: u32) -> Checked {
        if number.is_multiple_of(2) {
            Ok(())
        } else {
            Err(Violation::new(format!("{number} is odd")))
        }
    }

    fn judged(bites: &[(&str, u32, &str)]) -> String {
        let cases: [(&str, Case); 1] = [("even", even)];
        let held = every_case_bites(&cases, bites, |case, number| case(*number));
        held.err().map(|missed| missed.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_does_not_bite_is_named() {
        assert_eq!(judged(&[("even", 3, "3 is odd")]), "");
        assert!(judged(&[]).contains("even: no fault"));
        assert!(judged(&[("even", 2, "odd")]).contains("passes with the fault 2"));
        assert!(judged(&[("even", 3, "5 is odd")]).contains("on 3 says 3 is odd"));
        assert!(judged(&[("even", 3, "")]).contains("even: on 3 any words would do"));
        assert!(judged(&[("even", 3, "odd"), ("odd", 2, "odd")]).contains("odd: the suite has no"));
    }
}
