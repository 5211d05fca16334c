//! Priors of coefficients that a schema states, beside the conjugate posterior in closed form.

use reticent::{Fit, Schema, Summary};
use std::fmt::Write as _;

const RECORDS: usize = 2000;

/// Ages, wards and stays: the same numbers everywhere, without noise from outside.
fn table() -> Vec<(f64, bool, f64)> {
    (0..RECORDS)
        .map(|k| {
            let spread = |step: usize| (k * step % 1009) as f64 / 1009.0 - 0.5;
            let (age, icu) = (50.0 + 60.0 * spread(37), k % 3 == 0);
            (age, icu, 8.0 + 0.02 * age + if icu { 0.8 } else { 0.0 } + 6.0 * spread(71))
        })
        .collect()
}

/// The coefficient of a linear fit without privacy of the stay by one column.
fn coefficient(feature: &str, term: &str) -> Summary {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "age,ward,stay\n".to_owned();
    for (age, icu, stay) in table() {
        writeln!(text, "{age},{},{stay}", if icu { "icu" } else { "general" }).unwrap();
    }
    let file = folder.path().join("stays.csv");
    std::fs::write(&file, text).unwrap();
    let target = r#"{ name = "stay", kind = "numeric", bounds = [0, 30], unit = "days" }"#;
    let schema = Schema::parse(&format!("target = {target}\nfeatures = [{feature}]")).unwrap();
    let fit = Fit::new("linear", &schema).unwrap().without_privacy().run(file).unwrap();
    let name = format!("coefficient[{term}]");
    fit.model().summary().unwrap().into_iter().find(|summary| summary.name == name).unwrap()
}

/// Mean and standard deviation by the product of two normal densities.
fn combined(estimate: (f64, f64), prior: (f64, f64)) -> (f64, f64) {
    let (a, b) = (estimate.1.powi(-2), prior.1.powi(-2));
    ((estimate.0 * a + prior.0 * b) / (a + b), (a + b).sqrt().recip())
}

fn close(found: &Summary, expected: (f64, f64)) {
    let (mean, sd) = expected;
    assert!((found.mean - mean).abs() < 0.05 * sd, "{} {mean} +- {sd}", found.mean);
    assert!((found.sd / sd - 1.0).abs() < 0.02, "{} {sd}", found.sd);
}

/// The least-squares slope and its standard error, then the prior: within 5 % of a standard deviation.
#[test]
fn the_prior_of_a_number_is_per_unit_of_its_column() {
    let table = table();
    let n = RECORDS as f64;
    let (x, y) =
        (table.iter().map(|row| row.0).sum::<f64>() / n, table.iter().map(|row| row.2).sum::<f64>() / n);
    let xx: f64 = table.iter().map(|row| (row.0 - x).powi(2)).sum();
    let slope = table.iter().map(|row| (row.0 - x) * (row.2 - y)).sum::<f64>() / xx;
    let rest: f64 = table.iter().map(|row| (row.2 - y - slope * (row.0 - x)).powi(2)).sum();
    let estimate = (slope, (rest / (n - 2.0) / xx).sqrt());
    let age = r#"name = "age", kind = "numeric", bounds = [0, 100], unit = "years""#;
    close(&coefficient(&format!("{{ {age} }}"), "age"), estimate);
    // As narrow as the estimate, and far from it.
    let prior = (slope + 8.0 * estimate.1, estimate.1);
    let stated = format!("{{ {age}, prior = {{ mean = {}, sd = {} }} }}", prior.0, prior.1);
    close(&coefficient(&stated, "age"), combined(estimate, prior));
}

/// The difference of two means, then the prior.
#[test]
fn the_prior_of_a_level_is_about_its_difference_from_the_reference() {
    let of =
        |icu: bool| -> Vec<f64> { table().into_iter().filter(|row| row.1 == icu).map(|row| row.2).collect() };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (general, icu) = (of(false), of(true));
    let squares = |values: &[f64]| values.iter().map(|y| (y - mean(values)).powi(2)).sum::<f64>();
    let variance = (squares(&general) + squares(&icu)) / (RECORDS - 2) as f64;
    let error = (variance * (1.0 / general.len() as f64 + 1.0 / icu.len() as f64)).sqrt();
    let estimate = (mean(&general) - mean(&icu), error);
    let prior = (-3.0 * error, 0.5 * error);
    let stated = format!(
        r#"{{ name = "ward", kind = "categorical", levels = ["general", "icu"], reference = "icu", prior = {{ mean = {}, sd = {} }} }}"#,
        prior.0, prior.1
    );
    close(&coefficient(&stated, "ward = general"), combined(estimate, prior));
}

/// A prior that a fit could not use is refused, never ignored.
#[test]
fn priors_that_cannot_be_used_are_refused() {
    let target = r#"target = { name = "stay", kind = "numeric", bounds = [0, 30] }"#;
    let schema = |target: &str, age: &str| {
        Schema::parse(&format!("{target}\nfeatures = [{{ name = \"age\", kind = \"numeric\", {age} }}]"))
    };
    let prior = "prior = { mean = 0, sd = 1 }";
    let plain = schema(target, &format!("bounds = [0, 100], {prior}")).unwrap();
    for model in ["regression", "network", "network-sgd"] {
        let fit = Fit::new(model, &plain).and_then(|fit| fit.without_privacy().planned(100));
        let message = fit.err().unwrap().to_string();
        assert!(message.contains("prior"), "{model}: {message}");
    }
    assert!(Fit::new("linear", &plain).unwrap().without_privacy().planned(100).is_ok());
    for (target, age) in [
        (target, format!("bounds = \"private\", within = [0, 1000], {prior}")),
        (target, "bounds = [0, 100], prior = { mean = 0, sd = 0 }".to_owned()),
        (target, "bounds = [0, 100], prior = { mean = 0 }".to_owned()),
        (
            r#"target = { name = "stay", kind = "numeric", bounds = [0, 30], prior = { mean = 0, sd = 1 } }"#,
            "bounds = [0, 100]".to_owned(),
        ),
        (
            r#"target = { name = "stay", kind = "numeric", bounds = "private", within = [0, 1000] }"#,
            format!("bounds = [0, 100], {prior}"),
        ),
    ] {
        let message = schema(target, &age).err().unwrap().to_string();
        assert!(message.contains("prior") || message.contains("`sd`"), "{age}: {message}");
    }
}

/// A schema keeps its priors when it is written and read.
#[test]
fn priors_survive_a_file() {
    let text = "features = [{ name = \"age\", kind = \"numeric\", bounds = [0, 100], prior = { mean = 0.5, sd = 2.0 } }]";
    let schema = Schema::parse(text).unwrap();
    assert_eq!(Schema::parse(&schema.to_toml()).unwrap(), schema);
    let prior = schema.features()[0].prior().unwrap();
    assert_eq!((prior.mean, prior.sd), (0.5, 2.0));
}
