use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::model::registry::model;
use crate::model::{Codebook, Scorer, TableShape, Target};
use crate::wall::{NoiseSource, Records};

/// Documents of one of two halves of the vocabulary, ten words each: planned, fitted, saved, loaded and scored like any model.
#[test]
fn topics_are_a_model_like_any_other() {
    let document = |n: usize| (0..8).map(move |w| if (w < 4) == n.is_multiple_of(2) { 2.5 } else { 0.0 });
    let rows: Vec<f64> = (0..3000).flat_map(document).collect();
    let privacy = Privacy::new(2.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let mut shape = TableShape::new(vec![1; 8], Target::Nothing, 3000);
    shape.settings.insert("topics".into(), 2u64.into());
    let topics = model("topics").unwrap();
    let plan = topics.plan(&shape, Some(&privacy)).unwrap();
    assert!(plan.price(privacy.delta()).unwrap().epsilon.upper <= 2.0);
    let again = topics.read_plan(&shape, &plan.to_json()).unwrap();
    let records = Records::new(rows, 8).unwrap();
    let source = NoiseSource::from_os().unwrap();
    let (fitted, _) = again.run(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
    let loaded = topics.load(&fitted.save().unwrap()).unwrap();
    let row: Vec<f64> = document(1).collect();
    assert_eq!(loaded.predict_row(&row, &[]), fitted.predict_row(&row, &[]));
    let mut scorer = Scorer::new(1.0);
    (0..10).for_each(|n| scorer.add(&loaded.predict_row(&document(n).collect::<Vec<_>>(), &[]), 0.0));
    // The words of a document identify its half: the perplexity is between 4, the optimum, and 8, that of a uniform
    // guess.
    let perplexity = scorer.finish().unwrap().perplexity.unwrap();
    assert!((4.0..8.0).contains(&perplexity), "{perplexity}");
    let found = loaded.parameters(&Codebook::unnamed(&shape)).summary();
    // Two shares, and all eight words of each topic.
    assert_eq!(found.len(), 2 + 2 * 8);
    let first = found.iter().find(|found| found.variable == "word_probability").unwrap();
    // The variational posterior has no error that could be shown.
    assert!((first.mean - 0.25).abs() < 0.05 && first.sd == 0.0, "{first:?}");
}
