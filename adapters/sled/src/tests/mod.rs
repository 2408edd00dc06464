//! Tests of the whole store below its port: erasing, torn appends and damaged rows.

mod erasing;
mod half_append;
mod raw_rows;
