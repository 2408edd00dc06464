//! Tests of each guarantee of the pipeline, over a scripted backend.

mod scripted;

mod answering;
mod gathering;
mod tailing;
