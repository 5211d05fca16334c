//! The short version of the audit, from a file to all that a fit leaves behind. A result is wrong with probability at most 1e-9.

use std::path::Path;

use reticent_audit::case::case;
use reticent_audit::command::{Files, play};
use reticent_audit::game::Data;
use reticent_audit::row::Row;
use reticent_audit::suite::Suite;
use reticent_core::budget::{Adjacency, Privacy};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_reticent"))
}

fn hold(rows: &[Row]) {
    let refuted: String = rows.iter().filter(|row| row.refuted()).map(Row::markdown).collect();
    assert!(refuted.is_empty(), "{refuted}");
}

#[test]
fn fits_by_the_command_line_hold_their_claims() {
    let suite = Suite::short();
    for (name, data, adjacency) in [
        ("dirichlet", Data::Ordinary, Adjacency::ReplaceOne),
        ("linear", Data::Ordinary, Adjacency::AddRemove),
        ("dirichlet", Data::Alone, Adjacency::AddRemove),
        ("dirichlet", Data::GuessTooSmall, Adjacency::AddRemove),
    ] {
        hold(&[suite.by_command(program(), &case(name), data, adjacency).unwrap()]);
    }
}

/// One odd line in the middle of a file: no error, no other number of records, nothing that gives it away.
#[test]
fn odd_files_give_no_record_away() {
    hold(&Suite::short().malformed_files(program(), &case("dirichlet"), Adjacency::ReplaceOne).unwrap());
}

/// What a reader that drops a line would show: under replace-one the number of records is printed. And what one that swallows lines would.
#[test]
fn a_file_that_gives_a_record_away_is_caught() {
    let case = case("dirichlet");
    let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne).unwrap();
    let dropped = Files::with_line(&case, b"x", None);
    let swallowed = Files {
        first: case.file(&vec!["x".to_owned(); case.records]).into_bytes(),
        second: case.file(&vec!["y".to_owned(); case.records]).into_bytes(),
        records: case.records,
    };
    for (what, files) in [("a dropped line", dropped), ("lines that are swallowed", swallowed)] {
        let row = play(program(), (&case, what), &files, privacy, &Suite::short().odd).unwrap();
        assert!(row.refuted(), "{}", row.markdown());
    }
}
