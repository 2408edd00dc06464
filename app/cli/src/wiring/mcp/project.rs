//! A project's file of servers, `.mcp.json`: used only while the user trusts it.

use std::path::Path;

use windlass_mcp::{ServerTable, parse_project};

use crate::exit::Failure;
use crate::present::{print_error, print_notice};
use crate::wiring::project_context::{ProjectFile, project_file_named};
use crate::wiring::trust_record::{FileTrust, TrustRecord};

/// Name of the file.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";
/// Longest file, in bytes. A longer one is not read.
const MAX_BYTES: u64 = 64 * 1024;

/// Returns the file nearest to a workspace, up to the project's root.
pub(crate) fn project_file(workspace: &Path) -> Option<ProjectFile> {
    project_file_named(workspace, PROJECT_FILE, MAX_BYTES)
}

/// Returns the servers of the file if the user trusts it. Reports one that is not trusted.
pub(super) fn trusted_servers(workspace: &Path) -> Result<ServerTable, Failure> {
    let Some(file) = project_file(workspace) else {
        return Ok(ServerTable::new());
    };
    let trust = match TrustRecord::load() {
        Ok(record) => record.of(&file),
        Err(failure) => {
            print_error(&format!("{}; nothing is trusted", failure.message));
            FileTrust::Unknown
        }
    };
    let said = match trust {
        FileTrust::Trusted => {
            let servers = parse_project(&file.text, &|name| std::env::var(name).ok());
            return servers.map_err(|error| {
                Failure::usage(format!("cannot read {}: {error}", file.path.display()))
            });
        }
        FileTrust::Refused => return Ok(ServerTable::new()),
        FileTrust::Changed => "changed since you trusted it",
        FileTrust::Unknown => "not trusted",
    };
    print_notice(&format!(
        "the MCP servers of {} are not used, since it is {said}: read it, then trust it with: windlass \
         trust {}",
        file.path.display(),
        workspace.display()
    ));
    Ok(ServerTable::new())
}
