//! Damage of a store that belongs to no known session: a listing may lack whole sessions.

use windlass_file::{UnattributedDamage, UnfinishedMaintenance};

use crate::exit::{ExitKind, Failure};
use crate::present::print_error;
use crate::wiring::Workspace;

/// Prints an error for each damaged stretch, and returns their number.
pub(super) async fn report_damage(site: &Workspace) -> Result<u64, Failure> {
    let damage = site.damage().await?;
    for stretch in &damage {
        print_error(&words(stretch));
    }
    Ok(damage.len() as u64)
}

/// Prints an error for each interrupted erasure and discard, and returns their number. An
/// interrupted truncation is an error of its session.
pub(super) async fn report_unfinished(site: &Workspace) -> Result<u64, Failure> {
    let mut found = 0;
    for unfinished in site.unfinished_maintenance().await? {
        let words = match unfinished {
            UnfinishedMaintenance::Erasure(id) => format!(
                "session {id} is being erased, and its facts may still be in the files: if nothing \
                 does that now, finish it with `windlass erase {id} --yes`"
            ),
            UnfinishedMaintenance::Discard(at) => format!(
                "the damage at {at} is being given up: if nothing does that now, finish it with \
                 `windlass repair --lost {at}`"
            ),
            UnfinishedMaintenance::Truncation(..) => continue,
        };
        print_error(&words);
        found += 1;
    }
    Ok(found)
}

/// Returns the failure of a command that found damage.
pub(super) fn verdict(sessions: String, stretches: u64) -> Failure {
    let damaged = match stretches {
        0 => None,
        1 => Some("1 damaged part of the store belongs to no known session".to_owned()),
        many => Some(format!("{many} damaged parts of the store belong to no known session")),
    };
    let parts = Some(sessions).filter(|words| !words.is_empty());
    let parts: Vec<String> = parts.into_iter().chain(damaged).collect();
    Failure::new(ExitKind::Store, parts.join("; "))
}

fn words(stretch: &UnattributedDamage) -> String {
    let UnattributedDamage { at, bytes, of_one_session, description } = stretch;
    let whose = match of_one_session {
        true => "they belonged to one session, whose name is lost and which is not listed",
        false => {
            "their sessions are unknown: whole sessions may be missing, and none can be started \
             until this is resolved"
        }
    };
    format!(
        "{} is damaged: {bytes} bytes at {at} ({description}); {whose}. Restore the file from a \
         backup, or accept the loss with `windlass repair --lost {at}`, which saves the bytes \
         first",
        at.file()
    )
}
