//! `windlass mcp login` and `windlass mcp logout`.

use std::io::{BufRead as _, Read as _};
use std::time::{Duration, UNIX_EPOCH};

use tokio::sync::oneshot;
use tokio::time::timeout;
use windlass_mcp::{
    LoginFlow, LoginStatus, LoopbackRedirect, McpError, McpOptions, McpServer, Revocation,
    ServerName,
};

use super::{server_name, unknown, with_servers};
use crate::args::{LoginArgs, LogoutArgs};
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice, visible};
use crate::wiring::{Adapters, mcp};

/// Longest address that is pasted, in bytes.
const MAX_PASTED: u64 = 64 * 1024;
/// Last second that can be shown: the end of the year 9999.
const LAST_S: u64 = 253_402_300_799;

pub(super) fn login(args: &LoginArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let name = server_name(&args.name)?;
    let (server, options) = with_servers(&args.place, adapters, |servers, setup| {
        let server = servers.get(&name).ok_or_else(|| unknown(&name))?;
        Ok((mcp::resolve(&name, server, setup)?, mcp::options(setup)?))
    })?;
    let status = mcp::until_told_to_stop(authorize(&name, &server, &options, args));
    let status = status.map_err(|error| failed(&error))?;
    print_notice(&format!("{name}: {}", words(status)));
    Ok(ExitKind::Completed)
}

/// Prints the address to open, and waits for the answer.
async fn authorize(
    name: &ServerName,
    server: &McpServer,
    options: &McpOptions,
    args: &LoginArgs,
) -> Result<LoginStatus, McpError> {
    let redirect = LoopbackRedirect::bind(args.port).await?;
    let flow = LoginFlow::begin(name, server, options, &redirect.address()).await?;
    print_notice(&format!(
        "open this address to log in to {name}. If the browser is on another machine, paste the address \
         that it ends at here:"
    ));
    print_line(flow.address()).map_err(|error| McpError::new(error.to_string()))?;
    let answer = timeout(args.timeout, async {
        tokio::select! {
            received = redirect.receive(&flow) => received,
            pasted = pasted() => pasted,
        }
    });
    let answer = answer.await.map_err(|_| {
        let waited = humantime::format_duration(args.timeout);
        McpError::new(format!("nobody logged in to {name} within {waited}"))
    })?;
    flow.finish(&answer).await
}

/// Waits for a line of the standard input: for ever, if there is none.
async fn pasted() -> String {
    let (sender, receiver) = oneshot::channel();
    // Nothing can end a read of a terminal, so no task may wait for it.
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().take(MAX_PASTED).lines();
        let line = lines.map_while(Result::ok).find(|line| !line.trim().is_empty());
        // Nobody receives it after the time, or after an answer.
        let _ = line.map(|line| sender.send(line));
    });
    match receiver.await {
        Ok(line) => line,
        Err(_) => std::future::pending().await,
    }
}

pub(super) fn logout(args: &LogoutArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let name = server_name(&args.name)?;
    let (url, server, options) = with_servers(&args.place, adapters, |servers, setup| {
        let server = servers.get(&name).ok_or_else(|| unknown(&name))?;
        let resolved = mcp::resolve(&name, server, setup);
        Ok((server.entry.url.clone(), resolved, mcp::options(setup)?))
    })?;
    let revocation = match (server, url) {
        (Ok(server), _) => mcp::until_told_to_stop(windlass_mcp::logout(&name, &server, &options))
            .map_err(|error| failed(&error))?,
        // What is configured cannot be used, for example a variable that is not set.
        (Err(failure), Some(url)) => {
            forget(&name, &url)?.then_some(Revocation::Failed(failure.message))
        }
        (Err(_), None) => None,
    };
    match revocation {
        Some(revocation) => {
            print_notice(&format!("{name}: logged out{}", visible(&tokens_words(&revocation))));
            Ok(ExitKind::Completed)
        }
        None => Err(Failure::usage(format!("there is no login at {name}"))),
    }
}

/// Describes what became of the tokens.
fn tokens_words(revocation: &Revocation) -> String {
    match revocation {
        Revocation::NoTokens => String::new(),
        Revocation::Revoked => ", and its tokens are revoked".to_owned(),
        Revocation::Unsupported => {
            "; its authorization server revokes no tokens: they are valid until they expire"
                .to_owned()
        }
        Revocation::Failed(reason) => format!(
            "; its tokens are not revoked: {reason}. They are valid until they expire, or until you \
             end the access there"
        ),
    }
}

/// Removes the login at a server. Returns false if there is none.
pub(super) fn forget(name: &ServerName, url: &str) -> Result<bool, Failure> {
    let folder = mcp::logins()?;
    mcp::until_told_to_stop(windlass_mcp::forget_login(name, url, &folder))
        .map_err(|error| failed(&error))
}

fn failed(error: &McpError) -> Failure {
    Failure::new(ExitKind::Failed, visible(&error.to_string()))
}

/// Describes a login.
pub(super) fn words(status: LoginStatus) -> String {
    match status {
        LoginStatus::Needed => "needs login".to_owned(),
        LoginStatus::LoggedIn { until: None } => "logged in".to_owned(),
        LoginStatus::LoggedIn { until: Some(until) } => {
            let until = UNIX_EPOCH + Duration::from_secs((until.0 / 1_000).min(LAST_S));
            format!("logged in until {}", humantime::format_rfc3339_seconds(until))
        }
    }
}
