//! The ledger from outside: its rules, its file, and what it keeps when processes die or race.

mod crash;
mod damage;
mod files;
mod format;
mod race;
mod rounding;
mod spender;
mod states;
mod wall;
