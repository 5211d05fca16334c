//! Linear algebra and special functions: one copy of each.

pub mod matrix;
pub mod normal;
pub mod symmetric;
pub mod vector;
