use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::model::registry::model;
use crate::model::{Codebook, ModelError, Predicted, Saved, TableShape, Target};
use crate::wall::{NoiseSource, Records};

/// Two regions, a time of four levels and a number, a field of three levels and a flag. The first region is in the first state in the first
/// half of the time.
fn rows() -> Vec<f64> {
    let mut rows = Vec::new();
    for n in 0..8000 {
        let (region, time) = (n % 2, n / 2 % 4);
        let one_of = |k: usize, levels: usize| (0..levels).map(move |l| f64::from(u8::from(l == k)));
        rows.extend(one_of(region, 2));
        rows.extend(one_of(time, 4));
        let first = (region == 0) == (time < 2);
        let level = if first { [0, 0, 0, 1, 2][n / 8 % 5] } else { [2, 2, 2, 1, 0][n / 8 % 5] };
        rows.extend(one_of(level, 3));
        rows.push(if first == (n / 8 % 4 > 0) { 1.0 } else { -1.0 });
    }
    rows
}

#[test]
fn events_are_fitted_saved_and_predicted() {
    let hmm = model("hmm").unwrap();
    let mut shape = TableShape::new(vec![2, 4, 3, 1], Target::Nothing, 8000);
    shape.settings.insert("states".into(), 2u64.into());
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    for privacy in [Some(&privacy), None] {
        let plan = hmm.plan(&shape, privacy).unwrap();
        let plan = hmm.read_plan(&shape, &plan.to_json()).unwrap();
        assert_eq!(plan.outline().unwrap().releases[0].width, 2 * 4 * 5);
        let records = Records::new(rows(), 10).unwrap();
        let source = NoiseSource::from_os().unwrap();
        let (fitted, receipt) = plan.run(records, source, privacy, Box::new(Unlimited)).unwrap();
        assert_eq!(receipt.guarantee.cost().is_some(), privacy.is_some());
        let again = hmm.load(&fitted.save().unwrap()).unwrap();
        let event = |region: f64, level: f64| {
            [region, 1.0 - region, 1.0, 0.0, 0.0, 0.0, level, 0.0, 1.0 - level, 1.0]
        };
        for (region, level, log) in [(1.0, 1.0, 0.6f64 * 0.75), (0.0, 0.0, 0.6 * 0.25)] {
            let predicted = fitted.predict_row(&event(region, level), &[]);
            assert_eq!(predicted, again.predict_row(&event(region, level), &[]));
            let Predicted::Component { log_density, probabilities } = predicted else { panic!("an event") };
            assert!((log_density - log.ln()).abs() < 0.1, "{log_density} {}", log.ln());
            assert!(probabilities.iter().any(|p| *p > 0.95), "{probabilities:?}");
        }
        let found = again.parameters(&Codebook::unnamed(&shape)).summary();
        let of = |variable: &str| found.iter().filter(|found| found.variable == variable).collect::<Vec<_>>();
        // Two states with three levels and two sides; two rows of two; two regions, four times and two states.
        assert_eq!(["profile", "transition", "state_probability"].map(|name| of(name).len()), [10, 4, 16]);
        assert!((of("profile")[..3].iter().map(|found| found.mean).sum::<f64>() - 1.0).abs() < 1e-6);
        assert!((of("transition")[..2].iter().map(|found| found.mean).sum::<f64>() - 1.0).abs() < 1e-6);
        // Each region is in each state half of the time.
        let first = of("state_probability")[..8].iter().step_by(2).map(|found| found.mean).sum::<f64>();
        assert!((first - 2.0).abs() < 1e-6, "{first}");
        let Saved { arrays, state } = fitted.save().unwrap();
        let cut = arrays.into_iter().map(|(name, (shape, mut values))| {
            values.pop();
            (name, (shape, values))
        });
        assert!(matches!(
            hmm.load(&Saved { arrays: cut.collect(), state }),
            Err(ModelError::NotSaved { .. })
        ));
    }
}

#[test]
fn columns_are_named_by_their_place() {
    let hmm = model("hmm").unwrap();
    let mut shape = TableShape::new(vec![3, 1, 5], Target::Nothing, 100);
    shape.settings = [("region".into(), 3u64.into()), ("steps".into(), 36u64.into())].into();
    let plan = hmm.plan(&shape, None).unwrap();
    // Five regions, 36 steps, and one field of three categories.
    assert_eq!(plan.outline().unwrap().releases[0].width, 5 * 36 * 3);
    shape.settings.insert("region".into(), 4u64.into());
    let Err(error) = hmm.plan(&shape, None) else { panic!("there is no fourth column") };
    assert!(error.to_string().contains("region"), "{error}");
    let other = TableShape::new(vec![3, 2, 5], Target::Nothing, 100);
    assert!(hmm.read_plan(&other, &plan.to_json()).is_err());
}
