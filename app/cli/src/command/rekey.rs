//! `windlass rekey`: encrypts the keys of sessions with another master key.

use crate::args::RekeyArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_notice};
use crate::wiring::Adapters;

pub(super) async fn rekey(args: RekeyArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let Some(rotation) = site.rotate_keys(args.new_key.as_deref()).await? else {
        let words = format!(
            "{} is not encrypted: copy it with windlass copy --to-key into a new store",
            site.store
        );
        return Err(Failure::usage(words));
    };
    print_notice(&format!(
        "{}: keys encrypted again: {}, already current: {}",
        site.store, rotation.rotated, rotation.current
    ));
    for (session, error) in &rotation.failed {
        print_error(&format!("  session {session}: {error}"));
    }
    match rotation.failed.len() {
        0 => Ok(ExitKind::Completed),
        failed => Err(Failure::new(
            ExitKind::Store,
            format!(
                "{failed} keys are unchanged: name the earlier master keys after the new one in one \
                 source, and rekey again"
            ),
        )),
    }
}
