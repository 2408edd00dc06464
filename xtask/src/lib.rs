//! Steps, tools and terminal output, which the chores share with the packages beside this one.

pub mod say;
pub mod step;
pub mod tools;
