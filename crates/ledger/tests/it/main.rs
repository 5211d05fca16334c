//! The ledger from outside: its rules, its file, and what it keeps when processes die or race.

mod crash;
mod files;
mod race;
mod rounding;
mod spender;
mod states;
mod wall;
