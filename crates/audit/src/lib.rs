//! Privacy audit of every model: empirical lower bounds on epsilon, compared with the claims.
//!
//! - A [`Case`](case::Case) is a table of a model, with records at the bounds of its schema.
//! - A distinguishing game is a fit of one of two [`Neighbours`](neighbours::Neighbours), through the [library] or the [command] line.
//!   The attacker guesses which from its output.
//! - An [`Event`](event::Event) that distinguishes them is chosen on some games and counted on others. The counts
//!   [refute](statistics::Counts::epsilon) every epsilon below a bound.
//! - Games on test records are played against the release of a private [evaluation].
//! - Many [canaries] in one data set need few runs: [`one_run`] has the bound.
//! - A [`Suite`](suite::Suite) is the set of all games, and a [`Row`](row::Row) is a line of its table of results, which `cargo xtask audit` writes.
//!
//! All data here are synthetic and public, and no code here is trusted.

pub mod canaries;
pub mod case;
pub mod clock;
pub mod command;
pub mod evaluation;
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
