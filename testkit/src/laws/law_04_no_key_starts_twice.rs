//! Law 4: no effect key starts twice.
//!
//! A key names one run. It comes back only when the fact that caused it was lost with a process,
//! before it was durable: then, for every log that there will ever be, that run never was.
//!
//! It kills: a recovery that takes up a run again without a fact that says so.

use windlass_core::Seq;

use super::{Begun, Held, Loss, hold};

/// Checks all effects that were begun, over all the processes that a session has had.
///
/// # Errors
/// [`Broken`](super::Broken) with the first key that started twice.
pub fn check(begun: &[Begun], losses: &[Loss]) -> Held {
    for (at, later) in begun.iter().enumerate() {
        let earlier = begun.iter().take(at).rev();
        let Some(earlier) = earlier.clone().find(|earlier| earlier.key == later.key) else {
            continue;
        };
        let kept = losses
            .iter()
            .filter(|loss| (earlier.life..later.life).contains(&loss.life))
            .map(|loss| loss.kept)
            .min();
        let lost = kept.is_some_and(|kept: Seq| kept < later.key.started());
        hold(4, lost, || {
            format!(
                "{:?} started in process {} and again in process {}",
                later.key, earlier.life, later.life
            )
        })?;
    }
    Ok(())
}
