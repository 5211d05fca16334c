//! Integration tests of the ledger: its rules, its file format, crashes and races.

mod crash;
mod damage;
mod files;
mod format;
mod joint;
mod race;
mod rounding;
mod spender;
mod states;
mod wall;
