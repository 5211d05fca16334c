//! Coefficients in the units of the schema, beside an independent reference: least squares and Newton's method on the raw columns.

use reticent::{Adjacency, Fit, Fitted, Privacy, Schema, Summary};
use std::fmt::Write as _;

const FEATURES: &str = r#"features = [
    { name = "age", kind = "numeric", bounds = [18, 95], unit = "year" },
    { name = "albumin", kind = "numeric", bounds = [20, 55], unit = "g/l" },
    { name = "emergency", kind = "boolean" },
    { name = "smoker", kind = "categorical", levels = ["former", "never", "current"], reference = "never" },
]"#;

const TERMS: [&str; 6] = ["", "age", "albumin", "emergency = true", "smoker = former", "smoker = current"];

/// A simulated ward: the table as CSV, and the raw design matrix, row by row, with both targets.
struct Ward {
    folder: tempfile::TempDir,
    design: Vec<[f64; 6]>,
    stay: Vec<f64>,
    back: Vec<f64>,
}

/// Uniform numbers between 0 and 1, by a linear congruential generator: the same everywhere.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Approximately normal: the sum of twelve.
fn normal(state: &mut u64) -> f64 {
    (0..12).map(|_| uniform(state)).sum::<f64>() - 6.0
}

impl Ward {
    fn new(records: usize) -> Self {
        let (mut state, mut text) = (7, "age,albumin,emergency,smoker,stay,back\n".to_owned());
        let (mut design, mut stays, mut backs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..records {
            let age = (60.0 + 12.0 * normal(&mut state)).clamp(18.0, 95.0);
            let albumin = (38.0 - 0.08 * (age - 60.0) + 5.0 * normal(&mut state)).clamp(20.0, 55.0);
            let emergency = uniform(&mut state) < 0.4;
            let smoker = (3.0 * uniform(&mut state)) as usize;
            let row = [
                1.0,
                age,
                albumin,
                f64::from(u8::from(emergency)),
                f64::from(u8::from(smoker == 0)),
                f64::from(u8::from(smoker == 2)),
            ];
            let mean = |weights: [f64; 6]| row.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
            let stay = (mean([4.0, 0.07, -0.1, 1.5, 0.3, 0.9]) + 1.2 * normal(&mut state)).clamp(0.0, 30.0);
            let odds = mean([0.2, 0.03, -0.07, 0.8, 0.2, 0.5]);
            let back = uniform(&mut state) < 1.0 / (1.0 + (-odds).exp());
            let level = ["former", "never", "current"][smoker];
            writeln!(text, "{age},{albumin},{emergency},{level},{stay},{}", if back { "yes" } else { "no" })
                .unwrap();
            design.push(row);
            stays.push(stay);
            backs.push(f64::from(u8::from(back)));
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ward.csv"), text).unwrap();
        Self { folder, design, stay: stays, back: backs }
    }

    fn fit(&self, model: &str, target: &str, epsilon: Option<f64>) -> Fitted {
        let schema = Schema::parse(&format!("target = {target}\n{FEATURES}")).unwrap();
        let fit = Fit::new(model, &schema).unwrap();
        let fit = match epsilon {
            Some(epsilon) => fit.privacy(Privacy::new(epsilon, 1e-6, Adjacency::ReplaceOne).unwrap()),
            None => fit.without_privacy(),
        };
        fit.run(self.folder.path().join("ward.csv")).unwrap()
    }
}

/// Solves a linear system by elimination with pivots; returns the solution and the inverse.
fn solve(mut a: Vec<Vec<f64>>, b: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = b.len();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        let scale = a[k][k];
        a[k].iter_mut().for_each(|x| *x /= scale);
        for i in (0..n).filter(|&i| i != k) {
            let (factor, row) = (a[i][k], a[k].clone());
            a[i].iter_mut().zip(row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    let inverse: Vec<Vec<f64>> = a.iter().map(|row| row[n..].to_vec()).collect();
    (inverse.iter().map(|row| row.iter().zip(b).map(|(x, y)| x * y).sum()).collect(), inverse)
}

/// Weighted normal equations.
fn moments(design: &[[f64; 6]], weights: &[f64], targets: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (mut a, mut b) = (vec![vec![0.0; 6]; 6], vec![0.0; 6]);
    for ((row, w), y) in design.iter().zip(weights).zip(targets) {
        for i in 0..6 {
            b[i] += row[i] * y;
            (0..6).for_each(|j| a[i][j] += w * row[i] * row[j]);
        }
    }
    (a, b)
}

/// Estimates and standard errors of least squares, and the residual standard deviation.
fn least_squares(design: &[[f64; 6]], targets: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
    let (a, b) = moments(design, &vec![1.0; design.len()], targets);
    let (estimate, inverse) = solve(a, &b);
    let residual = |(row, y): (&[f64; 6], &f64)| {
        (y - row.iter().zip(&estimate).map(|(x, w)| x * w).sum::<f64>()).powi(2)
    };
    let square = design.iter().zip(targets).map(residual).sum::<f64>() / (design.len() - 6) as f64;
    let errors = (0..6).map(|k| (square * inverse[k][k]).sqrt()).collect();
    (estimate, errors, square.sqrt())
}

/// Estimates and standard errors of maximum likelihood by Newton's method.
fn logistic(design: &[[f64; 6]], classes: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut estimate = vec![0.0; 6];
    let mut errors = Vec::new();
    for _ in 0..30 {
        let p: Vec<f64> = design
            .iter()
            .map(|row| 1.0 / (1.0 + (-row.iter().zip(&estimate).map(|(x, w)| x * w).sum::<f64>()).exp()))
            .collect();
        let weights: Vec<f64> = p.iter().map(|p| p * (1.0 - p)).collect();
        let gaps: Vec<f64> = classes.iter().zip(&p).map(|(y, p)| y - p).collect();
        let (a, b) = moments(design, &weights, &gaps);
        let (step, inverse) = solve(a, &b);
        estimate.iter_mut().zip(step).for_each(|(w, s)| *w += s);
        errors = (0..6).map(|k| inverse[k][k].sqrt()).collect();
    }
    (estimate, errors)
}

/// The intercept and coefficients of a summary, in the order of [`TERMS`].
fn coefficients(fit: &Fitted) -> Vec<Summary> {
    let all = fit.model().summary().unwrap();
    let named = |term: &str| match term {
        "" => "intercept".to_owned(),
        term => format!("coefficient[{term}]"),
    };
    TERMS
        .iter()
        .map(|term| {
            all.iter()
                .find(|summary| summary.name == named(term))
                .unwrap_or_else(|| panic!("{term}: {all:#?}"))
                .clone()
        })
        .collect()
}

const STAY: &str = r#"{ name = "stay", kind = "numeric", bounds = [0, 30], unit = "days" }"#;
const BACK: &str = r#"{ name = "back", kind = "categorical", levels = ["no", "yes"] }"#;
const NOT_BACK: &str = r#"{ name = "back", kind = "categorical", levels = ["no", "yes"], positive = "no" }"#;

/// Without privacy: within 5 % of a standard error of the reference, and the standard errors within 5 %. The priors are that weak at so
/// many records.
#[test]
fn linear_coefficients_are_those_of_least_squares() {
    let ward = Ward::new(4000);
    let (estimate, errors, residual) = least_squares(&ward.design, &ward.stay);
    let fit = ward.fit("linear", STAY, None);
    for ((found, estimate), error) in coefficients(&fit).iter().zip(&estimate).zip(&errors) {
        assert!(
            (found.mean - estimate).abs() < 0.05 * error,
            "{}: {} {estimate} +- {error}",
            found.name,
            found.mean
        );
        assert!((found.sd / error - 1.0).abs() < 0.05, "{}: {} {error}", found.name, found.sd);
    }
    let summary = fit.model().summary().unwrap();
    let sd = summary.iter().find(|summary| summary.name == "residual_sd").unwrap();
    assert!((sd.mean / residual - 1.0).abs() < 0.02, "{} {residual}", sd.mean);
    assert_eq!(sd.unit.as_deref(), Some("days"));
    let age = &coefficients(&fit)[1];
    assert_eq!(age.unit.as_deref(), Some("days/year"));
    assert!(age.privacy_sd < 1e-3 * age.sd, "{}", age.privacy_sd);
    assert_eq!(coefficients(&fit)[4].note.as_deref(), Some("against never"));
}

/// Without privacy and with a prior that is as wide as can be: within 5 % of a standard error of maximum likelihood, and the standard errors within 5 %.
#[test]
fn logistic_coefficients_are_those_of_newtons_method() {
    let ward = Ward::new(4000);
    let (estimate, errors) = logistic(&ward.design, &ward.back);
    let [fit, other] = [BACK, NOT_BACK].map(|target| {
        let schema = Schema::parse(&format!("target = {target}\n{FEATURES}")).unwrap();
        let fit = Fit::new("logistic", &schema).unwrap().setting("prior-variance", 1e6).without_privacy();
        fit.run(ward.folder.path().join("ward.csv")).unwrap()
    });
    let pairs = coefficients(&fit).into_iter().zip(coefficients(&other));
    for ((found, other), (estimate, error)) in pairs.zip(estimate.iter().zip(&errors)) {
        assert!(
            (found.mean - estimate).abs() < 0.05 * error,
            "{}: {} {estimate} +- {error}",
            found.name,
            found.mean
        );
        assert!((found.sd / error - 1.0).abs() < 0.05, "{}: {} {error}", found.name, found.sd);
        // The other class as the positive one: the same with the opposite sign.
        assert!(
            (found.mean + other.mean).abs() < 0.05 * error,
            "{}: {} {}",
            found.name,
            found.mean,
            other.mean
        );
    }
    let summary = fit.model().summary().unwrap();
    let ratio = summary.iter().find(|summary| summary.name == "odds_ratio[emergency = true]").unwrap();
    assert!((ratio.quantiles[2].ln() - coefficients(&fit)[3].mean).abs() < 1e-9);
}

/// At epsilon 8: within four standard deviations, which a correct one of the twelve is not in at most one of 1,300 runs; and the
/// privacy noise is part of the deviation.
#[test]
fn private_coefficients_are_within_their_intervals() {
    let ward = Ward::new(4000);
    let (stay, _, _) = least_squares(&ward.design, &ward.stay);
    let (back, _) = logistic(&ward.design, &ward.back);
    for (fit, reference) in
        [(ward.fit("linear", STAY, Some(8.0)), stay), (ward.fit("logistic", BACK, Some(8.0)), back)]
    {
        for (found, reference) in coefficients(&fit).iter().zip(&reference) {
            assert!(
                (found.mean - reference).abs() < 4.0 * found.sd,
                "{}: {} {reference} {}",
                found.name,
                found.mean,
                found.sd
            );
            assert!(found.privacy_sd > 0.0 && found.privacy_sd < found.sd, "{}", found.name);
        }
    }
}

/// Targets are even about their prediction, so standardised residuals are even between -3^(1/2) and 3^(1/2). Of 20,000 records a share of 0.29 has a
/// standard error of 0.0032; four of them are 0.013, and the normal distribution is 0.05 away.
#[test]
fn residuals_that_are_not_normal_are_shown() {
    let (mut state, mut text) = (11, "x,y\n".to_owned());
    for _ in 0..20_000 {
        let x = 2.0 * uniform(&mut state) - 1.0;
        writeln!(text, "{x},{}", 3.0 * x + 2.0 * (uniform(&mut state) - 0.5)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("even.csv"), text).unwrap();
    let schema = Schema::parse(
        "target = { name = \"y\", kind = \"numeric\", bounds = [-5, 5] }\nfeatures = [{ name = \"x\", kind = \"numeric\", bounds = [-1, 1] }]",
    );
    let fit = Fit::new("linear", &schema.unwrap()).unwrap().without_privacy();
    let fit = fit.run(folder.path().join("even.csv")).unwrap();
    let check = fit.model().residual_check().unwrap();
    assert_eq!(check.noise_sd, 0.0);
    let density = 0.5 / 3f64.sqrt();
    let even = [0.0, (3f64.sqrt() - 1.0) * density, density];
    for (bin, share) in check.summary.iter().zip(even.into_iter().chain(even.into_iter().rev())) {
        assert!((bin.share - share).abs() < 0.013, "{bin:?} {share}");
    }
    assert!((check.summary[2].normal - 0.3413).abs() < 1e-4);
}
