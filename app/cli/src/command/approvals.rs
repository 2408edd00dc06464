//! `windlass approvals`: lists the calls that are allowed without a question, and revokes that.

use windlass_engine::core::GrantLifetime;

use super::closed;
use crate::args::{ApprovalsArgs, ApprovalsCommand, ListApprovalsArgs};
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice, visible};
use crate::wiring::{Adapters, GrantEntry, grant_file, grant_place};

pub(super) fn approvals(args: &ApprovalsArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    match &args.command {
        ApprovalsCommand::List(args) => list(args, adapters),
        ApprovalsCommand::Revoke { id } => revoke(id),
    }
}

fn list(args: &ListApprovalsArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let place = grant_place(&adapters.workspace(&args.place)?);
    let mut entries = grant_file::load().map_err(|error| record_failure(&error))?;
    entries.retain(|entry| args.all || entry.is_of(&place));
    if entries.is_empty() {
        print_notice("no approval is remembered");
    }
    for entry in &entries {
        let line = if args.json { json(entry) } else { visible(&line(entry, args.all)) };
        print_line(&line).map_err(closed)?;
    }
    Ok(ExitKind::Completed)
}

fn line(entry: &GrantEntry, all: bool) -> String {
    let lifetime = match &entry.session {
        Some(session) => format!("session {}", session.id),
        None => "always".to_owned(),
    };
    let tenant = entry.tenant.as_ref().map(|tenant| format!(" (tenant {tenant})"));
    let tenant = tenant.unwrap_or_default();
    let place = if all { format!("  in {}", entry.workspace) } else { String::new() };
    format!("{}  {lifetime}{tenant}  {}: {}{place}", entry.id, entry.tool, entry.calls)
}

fn json(entry: &GrantEntry) -> String {
    let lifetime = match entry.lifetime() {
        GrantLifetime::Session => "session",
        GrantLifetime::Always => "always",
    };
    let session = entry.session.as_ref().map(|session| session.id.as_str());
    let line = serde_json::json!({
        "id": entry.id, "lifetime": lifetime, "session": session, "tenant": entry.tenant,
        "workspace": entry.workspace, "tool": entry.tool, "calls": entry.calls.to_string(),
        "at_ms": entry.at_ms,
    });
    line.to_string()
}

fn revoke(id: &str) -> Result<ExitKind, Failure> {
    let removed = grant_file::remove(|entry| entry.id == id);
    match removed.map_err(|error| record_failure(&error))? {
        0 => Err(Failure::usage(format!(
            "no approval has the id {id}: windlass approvals list --all shows them"
        ))),
        _ => {
            print_notice(&format!("revoked: {id}"));
            Ok(ExitKind::Completed)
        }
    }
}

fn record_failure(error: &windlass_engine::ports::GrantsError) -> Failure {
    Failure::new(ExitKind::Failed, error.to_string())
}
