//! Notices to the person on standard error, or held back while a live area has the terminal.

use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{end_status, visible};

/// Most notices that are held back. Later ones are dropped.
const MAX_HELD: usize = 1_000;

/// Notices that are held back; none while they are printed at once.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<Vec<String>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a notice on standard error.
pub(crate) fn print_notice(words: &str) {
    let words = visible(words);
    if let Some(held) = &mut *held() {
        if held.len() < MAX_HELD {
            held.push(words);
        }
        return;
    }
    end_status();
    let _ = writeln!(io::stderr(), "{words}");
}

/// Holds later notices back for whoever draws the terminal.
pub(crate) fn hold_notices() {
    held().get_or_insert_default();
}

/// Removes the notices that are held back, and returns them.
pub(crate) fn take_notices() -> Vec<String> {
    held().as_mut().map(std::mem::take).unwrap_or_default()
}

/// Prints the notices that are held back, and later ones at once.
pub(crate) fn release_notices() {
    let all = held().take();
    all.into_iter().flatten().for_each(|words| print_notice(&words));
}
