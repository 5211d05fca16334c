//! One budget for all fits to a data set: a fit that would overspend it is refused.
//!
//! `cargo run --example ledger`

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use reticent::{Adjacency, ErrorKind, Privacy, Schema, Session};

#[path = "simulated/ward.rs"]
mod ward;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("patients.csv");
    std::fs::write(&data, ward::patients(5000))?;
    let schema = Schema::parse(ward::SCHEMA)?;

    let cap = Privacy::new(1.5, 1e-5, Adjacency::ReplaceOne)?;
    let session = Session::create(folder.path().join("budget.ledger"), "ward-7", &cap, Some(&schema))?;
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne)?;
    session.fit("naive-bayes", &schema)?.privacy(privacy).run(&data)?;
    // The joint cost at the delta of the cap, and the largest epsilon of one more Gaussian release there.
    let account = session.account()?;
    println!(
        "spent: epsilon {:.3}, remaining: epsilon {:.3}",
        account.spent.epsilon, account.remaining.epsilon
    );

    let more = Privacy::new(1.5, 1e-6, Adjacency::ReplaceOne)?;
    match session.fit("logistic", &schema)?.privacy(more).run(&data) {
        Err(error) if error.kind() == ErrorKind::Budget => println!("refused: {}", error.message()),
        Err(error) => return Err(error.into()),
        Ok(_) => return Err("a fit has spent more than the budget".into()),
    }
    for charge in session.history()? {
        println!("{}: epsilon {:.3}, {}", charge.purpose, charge.charged.epsilon, charge.state);
    }
    Ok(())
}
