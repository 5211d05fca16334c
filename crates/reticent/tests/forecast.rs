//! What a plan expects, beside what fits then do.

use reticent::{Adjacency, Fit, Privacy, Schema, Summary};
use std::path::{Path, PathBuf};

const WARD: &str = r#"
    { name = "age", kind = "numeric", bounds = [18, 95] },
    { name = "albumin", kind = "numeric", bounds = [20, 55] },
    { name = "emergency", kind = "boolean" },
    { name = "smoker", kind = "categorical", levels = ["never", "former", "current"] },
"#;

/// A ward whose numbers are skewed, correlated and not in the middle of their bounds.
fn ward(folder: &Path, records: usize) -> PathBuf {
    let mut state = 11_u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut text = "age,albumin,emergency,smoker,stay,back\n".to_owned();
    for _ in 0..records {
        let age = 95.0 - 77.0 * uniform().powf(1.6);
        let albumin = 42.0 - 0.1 * (age - 60.0) + 8.0 * (uniform() + uniform() - 1.0);
        let emergency = uniform() < 0.3;
        let smoker = ["never", "never", "former", "current"][(4.0 * uniform()) as usize];
        let mean = 1.0 + 0.08 * age - 0.05 * albumin + 2.0 * f64::from(u8::from(emergency));
        let stay = (mean - 2.0 * uniform().max(1e-9).ln()).clamp(0.0, 30.0);
        let back = uniform() < 1.0 / (1.0 + (-(0.05 * (age - 70.0) + f64::from(u8::from(emergency)))).exp());
        text += &format!("{age:.2},{albumin:.2},{emergency},{smoker},{stay:.3},{back}\n");
    }
    let file = folder.join("ward.csv");
    std::fs::write(&file, text).unwrap();
    file
}

/// The median over the parameters of a variable of half the width of their intervals.
fn width(summary: &[Summary], variable: &str) -> f64 {
    let of = |s: &&Summary| s.variable == variable;
    let mut widths: Vec<f64> =
        summary.iter().filter(of).map(|s| 0.5 * (s.quantiles[4] - s.quantiles[0])).collect();
    widths.sort_by(f64::total_cmp);
    widths[widths.len() / 2]
}

/// Over models and budgets, the median of the ratio of expected to found widths is within a factor of 1.3, and none is off by more than 4: the
/// table is not the simulated one.
#[test]
fn expected_widths_are_those_of_fits() {
    let folder = tempfile::tempdir().unwrap();
    let file = ward(folder.path(), 5000);
    let stay = r#"target = { name = "stay", kind = "numeric", bounds = [0, 30] }"#;
    let back = r#"target = { name = "back", kind = "boolean" }"#;
    let numbers = r#"features = [{ name = "age", kind = "numeric", bounds = [18, 95] }, { name = "albumin", kind = "numeric", bounds = [20, 55] }]"#;
    let shares =
        r#"features = [{ name = "smoker", kind = "categorical", levels = ["never", "former", "current"] }]"#;
    let cases = [
        ("linear", "coefficient", format!("{stay}\nfeatures = [{WARD}]")),
        ("logistic", "coefficient", format!("{back}\nfeatures = [{WARD}]")),
        ("normal", "mean", numbers.to_owned()),
        ("dirichlet", "share", shares.to_owned()),
    ];
    let mut ratios = Vec::new();
    for (model, variable, schema) in cases {
        let schema = Schema::parse(&schema).unwrap();
        for epsilon in [0.3, 3.0] {
            let fit = || {
                let privacy = Privacy::new(epsilon, 1e-6, Adjacency::ReplaceOne).unwrap();
                Fit::new(model, &schema).unwrap().privacy(privacy)
            };
            let forecast = fit().planned(5000).unwrap().forecast(2, 1).unwrap().unwrap();
            assert!(!forecast.errors.is_empty() && forecast.simulated_records == 5000);
            let expected = forecast.variables().into_iter().find(|(name, ..)| *name == variable).unwrap();
            assert!(expected.2 <= expected.1, "{model}: noise makes intervals wider");
            let found = width(&fit().run(&file).unwrap().model().summary().unwrap(), variable);
            ratios
                .push((expected.1 / found, format!("{model} at epsilon {epsilon}: {} {found}", expected.1)));
        }
    }
    assert!(ratios.iter().all(|(ratio, _)| (0.25..4.0).contains(ratio)), "{ratios:#?}");
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let median = ratios[ratios.len() / 2].0;
    assert!((1.0 / 1.3..1.3).contains(&median), "{median}: {ratios:#?}");
}

/// A large table is simulated as a smaller one with more budget: the same widths as those of the table itself.
#[test]
fn large_tables_are_forecast_by_smaller_ones() {
    let schema = Schema::parse(r#"features = [{ name = "x", kind = "numeric", bounds = [0, 1] }]"#).unwrap();
    let forecast = |records: usize, epsilon: f64| {
        let privacy = Privacy::new(epsilon, 1e-8, Adjacency::ReplaceOne).unwrap();
        let plan = Fit::new("normal", &schema).unwrap().privacy(privacy).planned(records).unwrap();
        plan.forecast(3, 5).unwrap().unwrap()
    };
    let (large, small) = (forecast(2_000_000, 0.05), forecast(20_000, 5.0));
    assert!(large.simulated_records < 2_000_000 && small.simulated_records == 20_000);
    let ((_, width, free), (_, _, free_of_small)) = (large.variables()[0], small.variables()[0]);
    // A hundred times the records: a tenth of the width, if the simulated tables are alike.
    assert!((free / (0.1 * free_of_small) - 1.0).abs() < 0.2, "{free} {free_of_small}");
    assert!(width > free);
}
