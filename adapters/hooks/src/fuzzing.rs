//! Entry points of the fuzz targets and of the tests over their seeds: properties of a hook's output and of the
//! file that declares hooks, for any bytes.

use windlass_core::HookVerdict;

use crate::event::ALL;
use crate::file::{HooksFile, MOST_HOOKS};
use crate::process::{CapturedOutput, HookResult, ProcessExit};
use crate::verdict::read;

/// Checks any output at every event: exit code 2 is a denial where one is possible, any other failure allows
/// and changes nothing, and no denial is without a reason.
///
/// # Panics
/// When a property does not hold.
pub fn output(data: &[u8]) {
    let half = data.len() / 2;
    for cut in [None, Some(half)] {
        for &event in ALL {
            for code in [0, 2, 1, 127] {
                let ran = HookResult {
                    end: ProcessExit::Code(code),
                    out: captured(data, cut),
                    err: captured(data, cut),
                };
                let Ok(answer) = read(event, &ran) else {
                    assert!(code != 2 || !event.can_block(), "{}", event.name());
                    continue;
                };
                let denied = matches!(answer.verdict, HookVerdict::Deny | HookVerdict::Halt);
                assert!(!denied || !answer.reason.is_empty(), "{answer:?}");
                if code == 2 && event.can_block() {
                    assert!(denied && answer.input.is_none() && answer.prompt.is_none());
                }
                if code != 0 {
                    assert_ne!(answer.verdict, HookVerdict::Allow);
                }
            }
        }
    }
}

/// Any text as a hooks file: it is refused, or declares a bounded number of hooks.
///
/// # Panics
/// When a property does not hold.
pub fn hooks_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match HooksFile::parse(text) {
        Ok(file) => assert!(file.entries.len() <= MOST_HOOKS),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Bytes that were kept whole, or of which so many were kept.
fn captured(data: &[u8], cut: Option<usize>) -> CapturedOutput {
    let bytes = data.get(..cut.unwrap_or(data.len())).unwrap_or_default();
    CapturedOutput { bytes: bytes.to_vec(), total: data.len() as u64 }
}
