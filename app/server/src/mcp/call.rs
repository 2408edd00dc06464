//! Calls of tools: each is carried out as a request of the API would be.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, InputRequiredResult, InputResponses, JsonObject,
    ProtocolVersion,
};
use rmcp::service::RequestContext;
use windlass_engine::NewInput;
use windlass_engine::core::{SessionId, TurnId};

use super::answer::{Reply, answer, is_over};
use super::elicit::{Response, requests, responses};
use super::report::{Report, WorkState};
use super::task;
use super::tools::{
    AnswerArguments, ResumeArguments, RunArguments, StatusArguments, arguments, ask_user,
};
use super::wait::wait;
use super::work::{Work, WorkName};
use crate::access::Right;
use crate::api::{
    ClientKey, InterruptRequest, ReadRight, RunRight, SessionAccess, accept, continue_session,
    open_session, stop_turn,
};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{Problem, ProblemCode};
use crate::tenant::SessionOptions;

/// One request of a client.
pub(super) struct McpCall<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) caller: Caller,
    pub(super) context: &'a RequestContext<RoleServer>,
}

/// What the client can do, besides waiting for a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interaction {
    /// Poll a task.
    Tasks,
    /// Answer requests for input.
    Input,
    /// Nothing.
    Plain,
}

impl McpCall<'_> {
    /// Calls a tool; `None` if there is none of this name. A retried request has the name of its work:
    /// it goes on where it asked, and does nothing a second time.
    pub(super) async fn tool(
        self,
        request: CallToolRequestParams,
        retried: Option<WorkName>,
    ) -> Option<Result<CallToolResponse, Problem>> {
        let CallToolRequestParams { name, arguments, input_responses, .. } = request;
        Some(match (&*name, retried) {
            ("run" | "resume" | "answer", Some(work)) => {
                self.retry(work, input_responses.unwrap_or_default(), arguments).await
            }
            ("run", None) => self.run(arguments).await,
            ("resume", None) => self.resume(arguments).await,
            ("status", _) => self.status(arguments).await,
            ("answer", None) => self.answer(arguments).await,
            _ => return None,
        })
    }

    async fn run(self, sent: Option<JsonObject>) -> Result<CallToolResponse, Problem> {
        let sent: RunArguments = arguments(sent)?;
        self.caller.require(Right::Read)?;
        let key = sent.idempotency_key.as_ref().map(|key| ClientKey::parse(key.as_bytes()));
        let key = key.transpose()?;
        let key = key.unwrap_or_default();
        let session = match &sent.session {
            Some(session) => session.clone(),
            None => {
                self.caller.require(Right::Run)?;
                let id = key.session("mcp", &self.caller.tenant.name);
                let wish = SessionOptions { client_tools: vec![ask_user()], ..Default::default() };
                open_session(self.app, &self.caller, id, &wish).await?.id.to_string()
            }
        };
        let seen = self.session::<RunRight>(&session).await?;
        let input = NewInput::new(seen.caller.scope().clone(), sent.prompt)
            .with(|it| it.key = key.for_command().map(|key| format!("mcp:{key}")));
        let taken = accept(self.app, &seen, input, None).await?;
        self.follow(&seen, Work::Input(taken.input), sent.wait_seconds).await
    }

    async fn resume(self, sent: Option<JsonObject>) -> Result<CallToolResponse, Problem> {
        let sent: ResumeArguments = arguments(sent)?;
        self.caller.require(Right::Read)?;
        let seen = self.session::<RunRight>(&sent.session).await?;
        let whole = self.app.views.get(&seen.caller.tenant, &seen.first).await?;
        if whole.view.turn.is_none() && whole.view.waiting == Some(0) {
            return Ok(Report::read(self.app, &seen, None).await?.result().into());
        }
        match continue_session(self.app, &seen, None).await? {
            Some(turn) => self.follow(&seen, Work::Turn(turn), sent.wait_seconds).await,
            None => Ok(Report::read(self.app, &seen, None).await?.result().into()),
        }
    }

    async fn status(self, sent: Option<JsonObject>) -> Result<CallToolResponse, Problem> {
        let sent: StatusArguments = arguments(sent)?;
        let seen = self.session::<ReadRight>(&sent.session).await?;
        let work = sent.turn.map(|turn| Work::Turn(TurnId(turn)));
        let limit = Duration::from_secs(sent.wait_seconds.unwrap_or(0));
        let report = wait(self.app, &seen, work, Some(limit), self.context).await?;
        Ok(report.result().into())
    }

    async fn answer(self, sent: Option<JsonObject>) -> Result<CallToolResponse, Problem> {
        let sent: AnswerArguments = arguments(sent)?;
        let reply = Reply::of(&sent)?;
        self.caller.require(Right::Read)?;
        let seen = self.session::<RunRight>(&sent.session).await?;
        let before = Report::read(self.app, &seen, None).await?;
        answer(self.app, &seen, &sent.question, reply).await?;
        let turn = before.turn.ok_or_else(Problem::no_session)?;
        self.follow(&seen, Work::Turn(turn), sent.wait_seconds).await
    }

    /// Answers what a request asked for, and waits as that request did.
    async fn retry(
        self,
        name: WorkName,
        sent: InputResponses,
        arguments: Option<JsonObject>,
    ) -> Result<CallToolResponse, Problem> {
        let wait_seconds = arguments.and_then(|it| it.get("wait_seconds")?.as_u64());
        self.caller.require(Right::Read)?;
        let seen = self.session::<RunRight>(name.session.as_str()).await?;
        let dismissed = self.respond(&seen, sent).await?;
        if dismissed {
            let report = Report::read(self.app, &seen, Some(name.work)).await?;
            return Ok(report.result().into());
        }
        self.follow(&seen, name.work, wait_seconds).await
    }

    /// Answers questions, and returns true if one was dismissed. Those that are answered already are
    /// left.
    async fn respond(
        &self,
        seen: &SessionAccess<RunRight>,
        sent: InputResponses,
    ) -> Result<bool, Problem> {
        let mut dismissed = false;
        for (question, response) in responses(sent) {
            let reply = match response {
                Response::Answered(reply) => reply,
                Response::Dismissed => {
                    dismissed = true;
                    continue;
                }
                // It is asked for again.
                Response::Invalid => continue,
            };
            match answer(self.app, seen, &question, reply).await {
                Err(problem) if !is_over(&problem) => return Err(problem),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(dismissed)
    }

    /// Waits for work, or returns it as a task.
    async fn follow<R>(
        self,
        seen: &SessionAccess<R>,
        work: Work,
        wait_seconds: Option<u64>,
    ) -> Result<CallToolResponse, Problem> {
        let name = WorkName { session: seen.id.clone(), work };
        let interaction = self.interaction();
        if interaction == Interaction::Tasks {
            let report = Report::read(self.app, seen, Some(work)).await?;
            return Ok(task::created(&name, &report).into());
        }
        let limit = wait_seconds.map(Duration::from_secs);
        let report = wait(self.app, seen, Some(work), limit, self.context).await?;
        if interaction == Interaction::Input && report.state == WorkState::Waiting {
            let asked = requests(&report.questions);
            return Ok(InputRequiredResult::new(Some(asked), Some(name.to_string())).into());
        }
        Ok(report.result().into())
    }

    /// Reads a task.
    pub(super) async fn get_task(self, task: &str) -> Result<rmcp::model::DetailedTask, Problem> {
        let (name, seen) = self.task::<ReadRight>(task).await?;
        let report = Report::read(self.app, &seen, Some(name.work)).await?;
        Ok(task::detailed(&name, &report, self.asks()))
    }

    /// Answers questions of a task.
    pub(super) async fn update_task(self, task: &str, sent: InputResponses) -> Result<(), Problem> {
        let (_, seen) = self.task::<RunRight>(task).await?;
        self.respond(&seen, sent).await.map(|_| ())
    }

    /// Asks the turn of a task to stop. One that has ended stays as it is.
    pub(super) async fn cancel_task(self, task: &str) -> Result<(), Problem> {
        let (name, seen) = self.task::<RunRight>(task).await?;
        let report = Report::read(self.app, &seen, Some(name.work)).await?;
        let (Some(turn), false) = (report.turn, report.state == WorkState::Settled) else {
            return Ok(());
        };
        match stop_turn(self.app, &seen, None, InterruptRequest::of_turn(turn)).await {
            Err(problem) if problem.code != ProblemCode::TurnOver => Err(problem),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn task<R: crate::api::RequiredRight>(
        &self,
        task: &str,
    ) -> Result<(WorkName, SessionAccess<R>), Problem> {
        let name = WorkName::parse(task).ok_or_else(Problem::no_session)?;
        let seen = self.session(name.session.as_str()).await?;
        Ok((name, seen))
    }

    async fn session<R: crate::api::RequiredRight>(
        &self,
        id: &str,
    ) -> Result<SessionAccess<R>, Problem> {
        SessionAccess::find(self.app, self.caller.clone(), SessionId::new(id).ok()).await
    }

    /// Returns what the client can do, by the capabilities that it declares with the request. In the
    /// older era results are final, whatever clients declare.
    fn interaction(&self) -> Interaction {
        let version = self.context.protocol_version();
        if version.is_none_or(|version| version < ProtocolVersion::V_2026_07_28) {
            return Interaction::Plain;
        }
        let declared = self.context.client_capabilities();
        match declared.is_some_and(|declared| declared.supports_tasks()) {
            true => Interaction::Tasks,
            false if self.asks() => Interaction::Input,
            false => Interaction::Plain,
        }
    }

    /// Returns true if the client can put a form to its user. One that names no kind can.
    fn asks(&self) -> bool {
        let declared = self.context.client_capabilities();
        let declared = declared.and_then(|declared| declared.elicitation);
        declared.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
    }
}
