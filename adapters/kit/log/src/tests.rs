//! Tests of the pipeline: each of its promises, over a medium that does what a script says.

mod scripted;

mod answering;
mod gathering;
mod tailing;
