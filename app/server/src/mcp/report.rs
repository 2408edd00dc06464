//! Report: how far work is, as a result for the client.

use std::fmt::Write as _;

use rmcp::model::{CallToolResult, ContentBlock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_engine::core::{InputId, Seq, SessionId, Timestamp, TurnId, TurnOutcome};

use super::tools::ASK_USER;
use super::work::Work;
use crate::api::{InputState, SessionAccess, input_status, open_approvals, read_turn};
use crate::app::App;
use crate::problem::Problem;

/// Facts of one read.
const PAGE: u64 = 256;

/// State of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WorkState {
    /// The session has had no turn.
    Idle,
    /// The input waits for the turn before it.
    Queued,
    /// The input waits to be resumed after an interrupt.
    Held,
    /// The turn runs.
    Running,
    /// The turn runs, and a question is open.
    Waiting,
    /// The turn has ended.
    Settled,
    /// A hook blocked the input.
    Blocked,
    /// A user withdrew the input.
    Withdrawn,
}

/// How far work is.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Report {
    pub(super) session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<InputId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<TurnId>,
    pub(super) state: WorkState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<TurnOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) questions: Vec<Question>,
    /// Time at which the turn was opened.
    #[serde(skip)]
    pub(super) opened: Option<Timestamp>,
    /// Time of the last change.
    #[serde(skip)]
    pub(super) changed: Timestamp,
}

/// Question that a person, or whoever drives the client, answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Question {
    /// Id of the question, for its answer.
    pub(super) id: String,
    pub(super) kind: QuestionKind,
    /// Tool that is asked about; none for a question of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    /// The question, or the lines that show the arguments of the call.
    pub(super) text: String,
    /// Answers that the model offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) choices: Vec<String>,
}

/// Kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum QuestionKind {
    /// May a call run?
    Approval,
    /// A question of the model.
    Question,
}

/// Arguments of the tool that asks.
#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
}

impl Report {
    /// Reads how far work of a session is; without work, the open or the last turn.
    pub(super) async fn read<R>(
        app: &App,
        seen: &SessionAccess<R>,
        work: Option<Work>,
    ) -> Result<Self, Problem> {
        let whole = app.views.get(&seen.caller.tenant, &seen.first).await?;
        let mut report = Self {
            session: seen.id.clone(),
            input: None,
            turn: None,
            state: WorkState::Idle,
            outcome: None,
            answer: None,
            reason: None,
            questions: Vec::new(),
            opened: None,
            changed: whole.view.changed,
        };
        match work {
            Some(Work::Input(input)) => report.read_input(app, seen, input).await?,
            Some(Work::Turn(turn)) => report.turn = Some(turn),
            None => {
                report.turn = match whole.view.turn {
                    Some(turn) => Some(TurnId(turn)),
                    None => last_turn(seen, whole.view.last).await?,
                };
            }
        }
        if let Some(turn) = report.turn {
            report.read_turn(seen, turn).await?;
        }
        // An input may wait for a turn that waits for an answer.
        if matches!(report.state, WorkState::Queued | WorkState::Running) {
            report.questions = questions(app, seen).await?;
            if !report.questions.is_empty() {
                report.state = WorkState::Waiting;
            }
        }
        Ok(report)
    }

    async fn read_input<R>(
        &mut self,
        app: &App,
        seen: &SessionAccess<R>,
        input: InputId,
    ) -> Result<(), Problem> {
        let status = input_status(app, seen, input).await?;
        self.input = Some(input);
        self.state = match status.state {
            InputState::Waiting | InputState::Accepted => WorkState::Queued,
            InputState::Held => WorkState::Held,
            InputState::Blocked => WorkState::Blocked,
            InputState::Withdrawn => WorkState::Withdrawn,
        };
        self.reason = status.reason;
        self.turn = status.turn.filter(|_| self.state == WorkState::Queued);
        Ok(())
    }

    async fn read_turn<R>(&mut self, seen: &SessionAccess<R>, turn: TurnId) -> Result<(), Problem> {
        let turn = read_turn(seen, turn).await?;
        self.state = match turn.settled {
            Some(_) => WorkState::Settled,
            None => WorkState::Running,
        };
        self.opened = Some(turn.opened);
        self.outcome = turn.outcome;
        self.answer = turn.answer;
        Ok(())
    }

    /// Returns true if the work goes no further by itself.
    pub(super) fn rests(&self) -> bool {
        match self.state {
            WorkState::Queued | WorkState::Running => false,
            WorkState::Idle
            | WorkState::Held
            | WorkState::Waiting
            | WorkState::Settled
            | WorkState::Blocked
            | WorkState::Withdrawn => true,
        }
    }

    /// Returns true if the turn ended otherwise than by an answer, or there was none.
    fn failed(&self) -> bool {
        match self.state {
            WorkState::Settled => self.outcome != Some(TurnOutcome::Completed),
            WorkState::Blocked | WorkState::Withdrawn => true,
            WorkState::Idle
            | WorkState::Queued
            | WorkState::Held
            | WorkState::Running
            | WorkState::Waiting => false,
        }
    }

    /// Returns the result of a call: the answer, a line about the state, and both for programs.
    pub(super) fn result(&self) -> CallToolResult {
        let answer = self.answer.as_deref().filter(|answer| !answer.is_empty());
        let mut content: Vec<_> = answer.map(ContentBlock::text).into_iter().collect();
        content.push(ContentBlock::text(self.words()));
        let mut result = match self.failed() {
            true => CallToolResult::error(content),
            false => CallToolResult::success(content),
        };
        // Names and numbers always serialise.
        result.structured_content = serde_json::to_value(self).ok();
        result
    }

    /// Describes the state, and what to do about it.
    pub(super) fn words(&self) -> String {
        let mut words = format!("[session {}", self.session);
        if let Some(turn) = self.turn {
            // Writing to memory cannot fail.
            let _ = write!(words, ", turn {turn}");
        }
        let state = match self.state {
            WorkState::Idle => "nothing has run",
            WorkState::Queued => "the input waits for its turn",
            WorkState::Held => "the input is held after an interrupt: call resume",
            WorkState::Running => "running; if its process has ended, resume continues it",
            WorkState::Waiting => "waiting for an answer",
            WorkState::Settled => "settled",
            WorkState::Blocked => "a hook blocked the input",
            WorkState::Withdrawn => "the input was withdrawn",
        };
        let _ = write!(words, ": {state}");
        if let Some(outcome) = &self.outcome {
            let _ = write!(words, ", {}", outcome_words(outcome));
        }
        if let Some(reason) = &self.reason {
            let _ = write!(words, ": {reason}");
        }
        words.push(']');
        for question in &self.questions {
            let _ = write!(words, "\n\n{}", question.words());
        }
        words
    }
}

impl Question {
    /// Describes the question, and how to answer it by the tool.
    fn words(&self) -> String {
        let id = json!(self.id);
        let how = match self.kind {
            QuestionKind::Approval => "decision \"allow\", or \"deny\" with a reason",
            QuestionKind::Question => "text",
        };
        format!("{}\nCall answer with question {id} and {how}.", self.message())
    }

    /// Describes the question to a person.
    pub(super) fn message(&self) -> String {
        match &self.tool {
            Some(tool) => format!("May {tool} run?\n{}", self.text),
            None => {
                let choices = self.choices.iter().map(|choice| format!("\n- {choice}"));
                format!("{}{}", self.text, choices.collect::<String>())
            }
        }
    }
}

/// Returns the open questions of a session: approvals, and questions of the model. Calls for the
/// tools of other clients are none.
async fn questions<R>(app: &App, seen: &SessionAccess<R>) -> Result<Vec<Question>, Problem> {
    let whole = app.views.get(&seen.caller.tenant, &seen.first).await?;
    let approvals = open_approvals(app, seen).await?.into_iter().map(|approval| Question {
        id: format!("{}.{}", approval.call, approval.digest),
        kind: QuestionKind::Approval,
        tool: Some(approval.tool),
        text: approval.view.join("\n"),
        choices: Vec::new(),
    });
    let asked = whole.client_calls.iter().filter(|call| call.tool == ASK_USER);
    let asked = asked.map(|call| {
        let asked = serde_json::from_str(&call.arguments);
        // The engine has checked the arguments by the tool's schema.
        let Asked { question, choices } = asked.unwrap_or_else(|_| Asked {
            question: call.arguments.to_string(),
            choices: Vec::new(),
        });
        Question {
            id: call.call.to_string(),
            kind: QuestionKind::Question,
            tool: None,
            text: question,
            choices,
        }
    });
    Ok(approvals.chain(asked).collect())
}

/// Returns the last turn of a session without an open one.
async fn last_turn<R>(seen: &SessionAccess<R>, last: Seq) -> Result<Option<TurnId>, Problem> {
    let mut end = last.0;
    while end > 0 {
        let after = end.saturating_sub(PAGE);
        let count = usize::try_from(end - after).unwrap_or(usize::MAX);
        let facts = seen.read(Seq(after), count).await?;
        if let Some(turn) = facts.iter().rev().find_map(|fact| fact.turn) {
            return Ok(Some(turn));
        }
        end = after;
    }
    Ok(None)
}

/// Describes an outcome: its name, and what it has to say.
fn outcome_words(outcome: &TurnOutcome) -> String {
    let fields = serde_json::to_value(outcome).unwrap_or(Value::Null);
    let field = |name: &str| fields.get(name).and_then(Value::as_str);
    let detail = ["message", "reason", "fault", "limit"].iter().find_map(|name| field(name));
    let name = field("outcome").unwrap_or_default();
    detail.map_or_else(|| name.to_owned(), |detail| format!("{name}: {detail}"))
}

/// Returns the result of a call that was refused or failed.
pub(super) fn failure(problem: &Problem) -> CallToolResult {
    let code = serde_json::to_value(problem.code).unwrap_or(Value::Null);
    let words = format!("{}: {}", code.as_str().unwrap_or_default(), problem.detail);
    CallToolResult::error(vec![ContentBlock::text(words)])
}
