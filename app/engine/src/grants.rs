//! Grants: the calls that a person may allow beyond one, and whether a grant covers a call.
//!
//! The record of grants is a port. Without one nothing is remembered. A grant answers a question in
//! place of a person; it never changes the verdict of a rule, a hook, the mode or the permissions.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::watch;
use windlass_core::{
    ApprovalGrant, ApprovalReason, ArgumentPattern, GrantLifetime, Rule, RuleVerdict, SessionId,
    Settings, Timestamp,
};
use windlass_ports::{
    Grant, GrantOffer, GrantedCalls, Grants, GrantsError, GrantsErrorKind, NewGrant,
    arguments_sha256, command_prefix, is_command_prefix, normal_path,
};

use crate::arguments::Checker;
use crate::rules::{TextFormat, text_formats};

/// Most bytes of a granted path.
const MAX_PATH_BYTES: usize = 1_024;

/// Record of grants of an engine, with the news of its changes.
#[derive(Clone)]
pub(crate) struct GrantBook {
    grants: Option<Arc<dyn Grants>>,
    changed: watch::Sender<()>,
}

/// Call to compare with grants.
pub(crate) struct GrantQuery {
    pub(crate) session: SessionId,
    pub(crate) workspace: Option<Arc<str>>,
    pub(crate) tool: String,
    pub(crate) arguments: Arc<str>,
}

impl GrantBook {
    pub(crate) fn new(grants: Option<Arc<dyn Grants>>) -> Self {
        Self { grants, changed: watch::Sender::new(()) }
    }

    /// Returns the record.
    pub(crate) fn port(&self) -> Option<&Arc<dyn Grants>> {
        self.grants.as_ref()
    }

    /// Returns the offer to a person for calls like one that is asked about.
    pub(crate) fn offer(
        &self,
        reason: ApprovalReason,
        calls: &Result<GrantedCalls, String>,
    ) -> GrantOffer {
        let withheld = |why: &str| GrantOffer::Withheld { reason: why.to_owned() };
        match (&self.grants, reason, calls) {
            (None, _, _) => withheld("approvals are not remembered here"),
            (Some(_), ApprovalReason::Permissions, Ok(calls)) => {
                GrantOffer::Offered { text: calls.to_string() }
            }
            (Some(_), ApprovalReason::Permissions, Err(why)) => withheld(why),
            (Some(_), ApprovalReason::Rule, _) => withheld("a rule asks about it each time"),
            (Some(_), ApprovalReason::PossibleDenial, _) => {
                withheld("a rule that denies may match")
            }
            (Some(_), ApprovalReason::Hook, _) => withheld("a hook asks about it"),
            (Some(_), ApprovalReason::OutsideSandbox, _) => {
                withheld("each call outside of the sandbox is approved by itself")
            }
            (Some(_), ApprovalReason::Held, _) => withheld("an earlier process left the call"),
        }
    }

    /// Records a grant for calls like one that is asked about.
    pub(crate) async fn add(
        &self,
        query: &GrantQuery,
        lifetime: GrantLifetime,
        calls: GrantedCalls,
        at: Timestamp,
    ) -> Result<Grant, GrantsError> {
        let Some(port) = &self.grants else {
            let words = "approvals are not remembered here";
            return Err(GrantsError::new(GrantsErrorKind::Unsupported, words));
        };
        let grant = NewGrant { lifetime, tool: query.tool.clone(), calls, at_ms: at.0 };
        port.add(&query.session, query.workspace.as_deref(), grant).await
    }

    /// Compares the open questions with the grants.
    pub(crate) fn announce(&self) {
        self.changed.send_replace(());
    }

    /// Returns the news of grants that are given from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Waits until new grants cover a call, and returns their record for the log.
    pub(crate) async fn wait_covered(
        &self,
        mut changed: watch::Receiver<()>,
        query: &GrantQuery,
        checker: &Checker,
    ) -> ApprovalGrant {
        loop {
            let Ok(()) = changed.changed().await else {
                return std::future::pending().await;
            };
            if let Some(grant) = self.covering(query, checker).await {
                return grant;
            }
        }
    }

    /// Returns the record of the grants that cover a call, if they do.
    pub(crate) async fn covering(
        &self,
        query: &GrantQuery,
        checker: &Checker,
    ) -> Option<ApprovalGrant> {
        let found =
            self.grants.as_ref()?.of_session(&query.session, query.workspace.as_deref()).await;
        let mut grants = match found {
            Ok(grants) => grants,
            Err(error) => {
                tracing::error!(session = %query.session, %error, "no approval grant is used");
                return None;
            }
        };
        grants.retain(|grant| grant.tool == query.tool);
        let used = checker.covering_grants(&query.tool, &query.arguments, &grants)?;
        let session = used.iter().any(|grant| grant.lifetime == GrantLifetime::Session);
        let texts: Vec<String> = used.iter().map(|grant| grant.calls.to_string()).collect();
        Some(ApprovalGrant {
            used: true,
            lifetime: if session { GrantLifetime::Session } else { GrantLifetime::Always },
            text: texts.join(", "),
        })
    }
}

/// Returns the calls that a grant about this call would cover.
///
/// # Errors
/// The reason why there can be no grant, in words.
pub(crate) fn calls_like(
    settings: &Settings,
    workspace: Option<&str>,
    tool: &str,
    arguments: &str,
) -> Result<GrantedCalls, String> {
    let spec = settings.tool(tool).ok_or("its tool is not offered any more")?;
    if tool.contains('*') {
        return Err("the name of its tool has a star".to_owned());
    }
    let schema: Value = serde_json::from_str(&spec.parameters).unwrap_or_default();
    let given: Map<String, Value> =
        serde_json::from_str(arguments).map_err(|_| "its arguments are not an object")?;
    let formats = text_formats(&schema);
    let mut formatted = formats.iter();
    let exact = GrantedCalls::Arguments { sha256: arguments_sha256(arguments) };
    let (Some((name, format)), None) = (formatted.next(), formatted.next()) else {
        return Ok(exact);
    };
    let Some(Value::String(text)) = given.get(name) else {
        return Ok(exact);
    };
    match format {
        TextFormat::Shell if only_numbers_beside(name, &given) => command_prefix(text)
            .map(|words| GrantedCalls::Command { argument: name.clone(), words })
            .map_err(|why| why.to_string()),
        TextFormat::Shell | TextFormat::Patch => Ok(exact),
        TextFormat::Path => {
            let path = normal_path(text, workspace);
            match path.contains('*') || path.len() > MAX_PATH_BYTES {
                true => Ok(exact),
                false => Ok(GrantedCalls::Path { argument: name.clone(), path }),
            }
        }
    }
}

/// Returns true if all arguments but one are numbers, such as limits. Others may change what a
/// command does.
fn only_numbers_beside(name: &str, arguments: &Map<String, Value>) -> bool {
    let mut others = arguments.iter().filter(|(other, _)| *other != name);
    others.all(|(_, value)| matches!(value, Value::Number(_) | Value::Null))
}

impl Checker {
    /// Returns the grants by which a call is allowed, together with the rules that allow. `None` if
    /// they leave a part of it out.
    fn covering_grants<'g>(
        &self,
        tool: &str,
        arguments: &str,
        grants: &'g [Grant],
    ) -> Option<Vec<&'g Grant>> {
        let sha256 = arguments_sha256(arguments);
        let exact = |grant: &&Grant| grant.calls == GrantedCalls::Arguments { sha256 };
        if let Some(grant) = grants.iter().find(exact) {
            return Some(vec![grant]);
        }
        let given: Map<String, Value> = serde_json::from_str(arguments).ok()?;
        let mut rules = Vec::new();
        let mut sources = Vec::new();
        for (place, grant) in grants.iter().enumerate() {
            for pattern in patterns(&grant.calls, &given) {
                rules.push(Rule {
                    verdict: RuleVerdict::Allow,
                    tool: tool.to_owned(),
                    argument: Some(pattern),
                });
                sources.push(place);
            }
        }
        rules.extend(self.allowing_rules());
        let matched = self.matched(&rules, tool, arguments).certain;
        let places = matched.into_iter().filter_map(|rule| usize::try_from(rule).ok());
        let mut used: Vec<usize> = places.filter_map(|rule| sources.get(rule).copied()).collect();
        used.dedup();
        (!used.is_empty()).then(|| used.into_iter().filter_map(|place| grants.get(place)).collect())
    }
}

/// Returns the patterns of rules that a grant is compared as.
fn patterns(calls: &GrantedCalls, given: &Map<String, Value>) -> Vec<ArgumentPattern> {
    let pattern = |name: &str, pattern: String| ArgumentPattern { name: name.to_owned(), pattern };
    match calls {
        GrantedCalls::Command { argument, words }
            if is_command_prefix(words) && only_numbers_beside(argument, given) =>
        {
            let words = words.join(" ");
            vec![pattern(argument, format!("{words} *")), pattern(argument, words)]
        }
        GrantedCalls::Path { argument, path } if !path.contains('*') => {
            vec![pattern(argument, path.clone())]
        }
        GrantedCalls::Command { .. }
        | GrantedCalls::Path { .. }
        | GrantedCalls::Arguments { .. } => Vec::new(),
    }
}
