//! The short program: a schema, a budget, a fit, a receipt and a model file.
//!
//! `cargo run --example fit`

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use reticent::{Adjacency, Fit, Predicted, Privacy, Schema, Session};

#[path = "simulated/ward.rs"]
mod ward;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("patients.csv"), ward::patients(5000))?;
    let schema = Schema::parse(ward::SCHEMA)?;

    // What may ever be spent on this data set: set once, by whoever is responsible for it.
    let cap = Privacy::new(3.0, 1e-5, Adjacency::ReplaceOne)?;
    Session::create(path("budget.ledger"), "ward-7", &cap, Some(&schema))?;

    let fit = Fit::new("logistic", &schema)?
        .privacy(Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne)?)
        .ledger(path("budget.ledger"), "ward-7")
        .run(path("patients.csv"))?;
    println!("{}", fit.receipt());
    fit.save(path("model.reticent"))?;

    // Inputs are encoded from -1 (age 18) to 1 (age 95).
    if let Predicted::Class { probability, .. } = fit.posterior().predict_row(&[1.0, -1.0], &[]) {
        println!(
            "a patient of 95 years who came by appointment is readmitted with probability {probability:.2}"
        );
    }
    Ok(())
}
