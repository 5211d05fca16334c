//! Tables through their files: read, encoded, written, damaged.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod batches;
mod check;
mod encoding;
mod layout;
mod malformed;
mod messages;
mod model_file;
mod passes;
mod real;
mod schema;
mod stability;
mod tables;
mod total;
