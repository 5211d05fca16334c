//! Records without a target contribute nothing: a fit with them is the fit without them.

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::model::{Posterior, Predicted, TableShape, Target, model};
use reticent_core::wall::{NoiseSource, Records};

/// Rows of inputs and a target between -1 and 1, or of two classes.
fn table(columns: &[usize], rows: usize, target: Target) -> Vec<f64> {
    let mut state = 7u64;
    let mut dice = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let mut values = Vec::new();
    for _ in 0..rows {
        let mut score = 0.0;
        for &levels in columns {
            if levels == 1 {
                let x = dice();
                score += 0.3 * x;
                values.push(x);
            } else {
                let level = ((dice() + 1.0) / 2.0 * levels as f64) as usize % levels;
                score += 0.5 * (level as f64 / levels as f64 - 0.5);
                values.extend((0..levels).map(|k| if k == level { 1.0 } else { 0.0 }));
            }
        }
        // Classes are far from separable; otherwise weights would depend on rounding.
        values.push(match target {
            Target::Number => (score + 0.4 * dice()).clamp(-1.0, 1.0),
            _ => (score + 3.0 * dice()).signum(),
        });
    }
    values
}

fn fit(name: &str, shape: &TableShape, values: Vec<f64>) -> Box<dyn Posterior> {
    let planned = model(name).unwrap().plan(shape, None).unwrap();
    let records = Records::new(values, shape.width()).unwrap();
    planned.run(records, NoiseSource::from_os().unwrap(), None, Box::new(Unlimited)).unwrap().0
}

/// The numbers of a prediction.
fn numbers(predicted: &Predicted) -> Vec<f64> {
    let text = format!("{predicted:?}");
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    words.filter_map(|word| word.parse().ok()).filter(|x: &f64| x.is_finite()).collect()
}

/// For every supervised fit whose releases are over all records, with means and standard deviations. The number of
/// rows differs, and rows without a target must not count: a third of them would have a visible effect.
#[test]
fn a_fit_with_absent_records_is_the_fit_of_the_others() {
    let few: &[usize] = &[1, 3, 1];
    let many: Vec<usize> = [[1; 20].as_slice(), &[3; 10]].concat();
    let cases: [(&str, &[usize], Target, usize); 8] = [
        ("linear", few, Target::Number, 600),
        ("regression", few, Target::Number, 120),
        ("logistic", few, Target::TwoClasses, 600),
        ("logistic", &many, Target::TwoClasses, 2000),
        ("logistic", &[200, 150], Target::TwoClasses, 2000),
        ("probit", few, Target::TwoClasses, 600),
        ("naive-bayes", few, Target::TwoClasses, 600),
        ("network-sgd", few, Target::Number, 600),
    ];
    for (name, columns, target, rows) in cases {
        let present = table(columns, rows, target);
        let width = columns.iter().sum::<usize>() + 1;
        let mut all = present.clone();
        for (k, row) in table(columns, rows / 2, target).chunks_exact(width).enumerate() {
            let mut row = row.to_vec();
            row[width - 1] = f64::NAN;
            all.splice(2 * k * width..2 * k * width, row);
        }
        let shape = |records| TableShape::new(columns.to_vec(), target, records);
        let without = fit(name, &shape(rows), present.clone());
        let with = fit(name, &shape(rows + rows / 2), all);
        for row in present.chunks_exact(width).take(5) {
            let inputs = &row[..width - 1];
            let (a, b) = (
                without.predict_row(inputs, &[0.05, 0.5, 0.95]),
                with.predict_row(inputs, &[0.05, 0.5, 0.95]),
            );
            let (a, b) = (numbers(&a), numbers(&b));
            assert!(!a.is_empty() && a.len() == b.len(), "{name}");
            for (a, b) in a.iter().zip(&b) {
                // Plans for more records differ slightly, and gradients on random batches take another path to about
                // the same solution.
                let tolerance = if name == "network-sgd" { 0.25 } else { 0.01 };
                assert!((a - b).abs() <= tolerance * (0.05 + a.abs()), "{name} {columns:?}: {a} {b}");
            }
        }
    }
}

/// A private plan that needs the number of records with a target releases it, within the budget.
#[test]
fn the_number_of_known_targets_is_released_with_noise() {
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    for (name, columns, target) in [
        ("linear", vec![1, 1], Target::Number),
        ("regression", vec![1, 1], Target::Number),
        ("network", vec![1, 1], Target::Number),
        ("logistic", vec![1; 40], Target::TwoClasses),
        ("network-sgd", vec![1, 1], Target::Number),
    ] {
        let shape = TableShape::new(columns, target, 5000);
        let planned = model(name).unwrap().plan(&shape, Some(&privacy)).unwrap();
        let records = Records::new(vec![f64::NAN; 5000 * shape.width()], shape.width()).unwrap();
        let (_, receipt) = planned
            .run(records, NoiseSource::from_os().unwrap(), Some(&privacy), Box::new(Unlimited))
            .unwrap();
        let counted = receipt.groups.iter().find(|group| group.what.contains("records with a known target"));
        assert!(counted.is_some_and(|group| group.made == 1), "{name}");
        assert!(receipt.guarantee.cost().is_some_and(|cost| cost.epsilon.upper <= 1.0), "{name}");
    }
}
