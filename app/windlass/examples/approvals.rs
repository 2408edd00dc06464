//! Approvals in a web handler: a call waits until somebody answers the question about it over HTTP.
//!
//! ```sh
//! cargo run -p windlass --features demo --example approvals
//! curl -d 'repeat 1: delete {"path": "old.txt"}' localhost:PORT/sessions/cleaning
//! curl localhost:PORT/sessions/cleaning/approvals
//! curl -d allow localhost:PORT/sessions/cleaning/approvals/CALL
//! ```
//!
//! The question is in the log of its session: one that a process leaves open is asked again by the
//! next, and the answer is for exactly the arguments that were shown.

#![allow(clippy::print_stdout, reason = "an example prints")]

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use windlass::{ApprovalDecision, EffectClass, Error, ExternalApprover, Windlass, tool};

/// Deletes a file.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Delete {
    path: String,
}

/// Starts a turn, which goes on after the response.
async fn prompt(
    State(windlass): State<Windlass>,
    Path(session): Path<String>,
    text: String,
) -> Result<StatusCode, Problem> {
    let turn = windlass.conversation(&session)?.send(text).await?;
    tokio::spawn(async move {
        match turn.answer().await {
            Ok(answer) => println!("{session}: {answer}"),
            Err(error) => println!("{session}: {error}"),
        }
    });
    Ok(StatusCode::ACCEPTED)
}

/// Lists the questions of a session.
async fn questions(
    State(windlass): State<Windlass>,
    Path(session): Path<String>,
) -> Result<Json<Vec<Value>>, Problem> {
    let open = windlass.conversation(&session)?.approvals().await?;
    let shown = open.iter().map(|question| {
        json!({ "call": question.call.0, "tool": question.tool, "arguments": question.arguments })
    });
    Ok(Json(shown.collect()))
}

/// Answers a question: `allow`, or the reason of a denial.
async fn answer(
    State(windlass): State<Windlass>,
    Path((session, call)): Path<(String, u64)>,
    text: String,
) -> Result<StatusCode, Problem> {
    let conversation = windlass.conversation(&session)?;
    let open = conversation.approvals().await?;
    let Some(question) = open.iter().find(|question| question.call.0 == call) else {
        return Ok(StatusCode::NOT_FOUND);
    };
    let decision = match text.as_str() {
        "allow" => ApprovalDecision::allow(),
        reason => ApprovalDecision::deny(reason),
    };
    conversation.answer(question, decision).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Error as a response.
struct Problem(Error);

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = if matches!(self.0, Error::Start(_)) {
            StatusCode::NOT_FOUND
        } else if matches!(self.0, Error::Send(_)) {
            StatusCode::CONFLICT
        } else {
            StatusCode::BAD_REQUEST
        };
        (status, self.0.to_string()).into_response()
    }
}

#[tokio::main]
async fn main() -> windlass::Result {
    let delete = async |_, Delete { path }| Ok(format!("{path} is gone"));
    let windlass = windlass::builder("demo")
        .tool(tool("delete", EffectClass::Effectful, delete))
        .approver_port(ExternalApprover)
        .open()
        .await?;
    let routes = Router::new()
        .route("/sessions/{session}", post(prompt))
        .route("/sessions/{session}/approvals", get(questions))
        .route("/sessions/{session}/approvals/{call}", post(answer))
        .with_state(windlass);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening at {}", listener.local_addr()?);
    axum::serve(listener, routes).await?;
    Ok(())
}
