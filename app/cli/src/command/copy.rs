//! `windlass copy`: copies sessions from one store to another, byte for byte, with their outputs.

use windlass_engine::core::SessionId;
use windlass_engine::ports::SessionFilter;
use windlass_engine::{CopyError, CopyReport, CopyTarget};

use super::{closed, damage, session_checks};
use crate::args::CopyArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_line, print_notice};
use crate::wiring::Adapters;

/// Sessions of one listing.
const PAGE: usize = 1_000;

pub(super) async fn copy(args: CopyArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let from = adapters.named_store(&args.from, args.from_key.as_deref())?;
    let to = adapters.named_store(&args.to, args.to_key.as_deref())?;
    if from.store == to.store {
        let words = format!("cannot copy {} to itself: name two stores", from.store);
        return Err(Failure::usage(words));
    }
    if to.store.ends_with_process() {
        return Err(Failure::usage(format!(
            "cannot copy to a {} store, which is lost when the process ends: name another store",
            to.store.scheme()
        )));
    }
    let source = from.open_to_read().await?.copy_target();
    let target = to.open().await?.copy_target();
    let mut failed = Vec::new();
    let mut named = Vec::new();
    for name in &args.session {
        named.push(name.resolve(&from, &*source.store).await?);
    }
    for session in &named {
        copy_one(&source, &target, session, &mut failed).await?;
    }
    let carry = |agent: &SessionId| format!("name {agent} too, or no session to copy all");
    session_checks::warn_agents_left_behind(source.store.as_ref(), &named, carry).await;
    let mut after: Option<SessionId> = None;
    while named.is_empty() {
        let listed = source.store.sessions(SessionFilter::ALL_TENANTS, after.as_ref(), PAGE);
        let heads = listed.await?;
        if after.is_none() && heads.is_empty() {
            print_notice(&format!("there are no sessions in {}", from.store));
        }
        for head in &heads {
            copy_one(&source, &target, &head.id, &mut failed).await?;
        }
        let Some(last) = heads.last() else { break };
        after = Some(last.id.clone());
    }
    // Without named sessions, damage may hide some of them.
    let stretches = match named.is_empty() {
        true => damage::report_damage(&from).await?,
        false => 0,
    };
    if stretches > 0 {
        let sessions = match failed.len() {
            0 => "all sessions that are listed were copied".to_owned(),
            1 => "1 session was not copied".to_owned(),
            many => format!("{many} sessions were not copied"),
        };
        return Err(damage::verdict(sessions, stretches));
    }
    match failed.as_slice() {
        [] => Ok(ExitKind::Completed),
        [exit] => Err(Failure::new(*exit, "1 session was not copied; copy again to continue")),
        many => Err(Failure::new(
            ExitKind::Store,
            format!("{} sessions were not copied; copy again to continue", many.len()),
        )),
    }
}

/// Copies one session and prints the result.
async fn copy_one(
    from: &CopyTarget,
    to: &CopyTarget,
    session: &SessionId,
    failed: &mut Vec<ExitKind>,
) -> Result<(), Failure> {
    match windlass_engine::copy(from, to, session).await {
        Ok(copied) => {
            if let Some(why) = &copied.unclaimed {
                print_notice(&format!(
                    "cannot claim session {session}, so it was copied up to its current end: {why}"
                ));
            }
            print_line(&words(session, &copied)).map_err(closed)
        }
        Err(error) => {
            let failure = Failure::from(error);
            print_error(&failure.message);
            failed.push(failure.exit);
            Ok(())
        }
    }
}

fn words(session: &SessionId, copied: &CopyReport) -> String {
    let CopyReport { last, facts, blobs, missing: left, chain, .. } = copied;
    let outputs = match blobs {
        0 => String::new(),
        1 => ", 1 long output or image".to_owned(),
        many => format!(", {many} long outputs or images"),
    };
    let left = match left {
        0 => String::new(),
        1 => ", 1 long output or image is not in the target".to_owned(),
        many => format!(", {many} long outputs or images are not in the target"),
    };
    format!("{session}: {last} facts, {facts} of them copied now{outputs}{left}, chain {chain}")
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Source(error) | CopyError::Target(error) => error.into(),
            CopyError::OtherSession { .. } | CopyError::TargetAhead { .. } => {
                Self::usage(error.to_string())
            }
            CopyError::Blob { .. }
            | CopyError::SourceDiffers { .. }
            | CopyError::TargetDiffers { .. } => Self::new(ExitKind::Store, error.to_string()),
        }
    }
}
