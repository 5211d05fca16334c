//! The worked model of `docs/adding-a-model.md`: one folder and one line make a complete model.

mod worked_model;

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::model::{Codebook, ErrorKind, Saved, TableShape, Target, model, models, register};
use reticent_core::wall::{NoiseSource, Records};

#[test]
fn one_folder_and_one_line_are_a_model() {
    assert!(register(&worked_model::ColumnMeans)); // the one line
    assert!(models().iter().any(|model| model.name() == "means"));
    assert!(!register(&worked_model::ColumnMeans), "the list has been read");
    let means = model("means").unwrap();

    let (records, privacy) = (2000, Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap());
    let mut shape = TableShape::new(vec![1, 1], Target::Nothing, records);
    let plan = means.plan(&shape, Some(&privacy)).unwrap();
    assert!(plan.price(privacy.delta()).unwrap().epsilon.upper <= 1.0);
    assert_eq!(plan.outline().unwrap().releases[0].width, 2);
    let plan = means.read_plan(&shape, &plan.to_json()).unwrap();

    let values: Vec<f64> = (0..records).flat_map(|n| [if n % 4 == 0 { 1.0 } else { -1.0 }, 0.25]).collect();
    for privacy in [Some(&privacy), None] {
        let (rows, source) = (Records::new(values.clone(), 2).unwrap(), NoiseSource::from_os().unwrap());
        let (fitted, receipt) = plan.run(rows, source, privacy, Box::new(Unlimited)).unwrap();
        assert_eq!(receipt.guarantee.cost().is_some(), privacy.is_some());
        let saved: Saved = fitted.save().unwrap();
        let found = means.load(&saved).unwrap().parameters(&Codebook::unnamed(&shape)).summary();
        for (k, truth) in [-0.5, 0.25].into_iter().enumerate() {
            // Six standard deviations: a false alarm once in 5e8 runs. Without privacy only rounding is left.
            assert!((found[k].mean - truth).abs() < 6.0 * found[k].sd + 1e-6, "{found:?}");
        }
    }

    // An exceeded budget is reported as such, whatever the model.
    let small = Privacy::new(0.1, 1e-6, Adjacency::ReplaceOne).unwrap();
    let (rows, source) = (Records::new(values, 2).unwrap(), NoiseSource::from_os().unwrap());
    let refused = plan.run(rows, source, Some(&small), Box::new(Unlimited)).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Budget, "{refused}");
    shape.settings.insert("widen".into(), 11.0.into());
    let refused = means.plan(&shape, Some(&privacy)).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Settings);
    assert!(refused.to_string().contains("a number from 1 to 10"), "{refused}");
}
