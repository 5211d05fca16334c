//! Attacks on every model: empirical lower bounds of epsilon, beside what is claimed.
//!
//! - A [`Case`](case::Case) is a table of a model, with records at the ends of what its schema allows.
//! - A game is a fit of one of two [`Neighbours`](neighbours::Neighbours), through the [library] or the [command] line. Who sees what it shows guesses which.
//! - An [`Event`](event::Event) that tells them apart is chosen on some games and counted on others. What is counted
//!   [refutes](statistics::Counts::epsilon) every epsilon below a bound.
//! - Many [canaries] at once need few runs: [`one_run`] has the bound.
//! - A [`Suite`](suite::Suite) is all games, and a [`Row`](row::Row) is a line of its table of results, which `cargo xtask audit` writes.
//!
//! Everything here is public: the tables are the audit's own, and nothing in it is trusted.

pub mod canaries;
pub mod case;
pub mod clock;
pub mod command;
pub mod event;
pub mod failure;
pub mod game;
pub mod library;
pub mod neighbours;
pub mod one_run;
pub mod report;
pub mod row;
pub mod statistics;
pub mod suite;
