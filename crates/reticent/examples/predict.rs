//! Predictions of a saved model, for a file of records and in the target's own units.
//!
//! `cargo run --example predict`

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use reticent::{Adjacency, Fit, Privacy, SavedModel, Schema};

#[path = "simulated/ward.rs"]
mod ward;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("patients.csv"), ward::patients(5000))?;
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne)?;
    Fit::new("logistic", &Schema::parse(ward::SCHEMA)?)?
        .privacy(privacy)
        .out(path("model.reticent"))
        .run(path("patients.csv"))?;

    // Whoever has the model file needs nothing else.
    let model = SavedModel::load(path("model.reticent"))?;
    std::fs::write(path("new.csv"), "age,emergency\n30,false\n90,true\n")?;
    let columns = model.predict(path("new.csv"), path("predictions.csv"))?;
    println!("columns: {}", columns.join(", "));
    print!("{}", std::fs::read_to_string(path("predictions.csv"))?);
    for effect in model.effects().into_iter().flat_map(|effects| effects.columns) {
        println!("{} moves the probability by {:.2}", effect.column, effect.size());
    }
    Ok(())
}
