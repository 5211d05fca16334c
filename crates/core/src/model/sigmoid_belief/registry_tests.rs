use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::model::registry::model;
use crate::model::{Codebook, Scorer, TableShape, Target};
use crate::wall::{NoiseSource, Records};

/// Records whose six numbers are all on or all off: planned, fitted, saved, loaded and scored like any model.
#[test]
fn belief_networks_are_a_model_like_any_other() {
    let record = |n: usize| vec![if n.is_multiple_of(2) { 1.0 } else { -1.0 }; 6];
    let rows: Vec<f64> = (0..4000).flat_map(record).collect();
    let privacy = Privacy::new(4.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let mut shape = TableShape::new(vec![1; 6], Target::Nothing, 4000);
    shape.settings.insert("units".into(), 2u64.into());
    let network = model("sigmoid-belief").unwrap();
    let plan = network.plan(&shape, Some(&privacy)).unwrap();
    assert!(plan.price(privacy.delta()).unwrap().epsilon.upper <= 4.0);
    let again = network.read_plan(&shape, &plan.to_json()).unwrap();
    let records = Records::new(rows, 6).unwrap();
    let source = NoiseSource::from_os().unwrap();
    let (fitted, _) = again.run(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
    let loaded = network.load(&fitted.save().unwrap()).unwrap();
    assert_eq!(loaded.predict_row(&record(0), &[]), fitted.predict_row(&record(0), &[]));
    let mut scorer = Scorer::new(1.0);
    (0..10).for_each(|n| scorer.add(&loaded.predict_row(&record(n), &[]), 0.0));
    // A constant prediction would be right half of the time.
    let accuracy = scorer.finish().unwrap().accuracy.unwrap();
    assert!(accuracy > 0.75, "{accuracy}");
    // Six biases of outputs, two of units, and twelve weights.
    let found = loaded.parameters(&Codebook::unnamed(&shape)).summary();
    assert_eq!(found.len(), 6 + 2 + 12);
    // The variational posterior has no error that could be shown.
    assert!(found.iter().all(|found| found.sd == 0.0 && found.note.is_some()), "{found:?}");
}
