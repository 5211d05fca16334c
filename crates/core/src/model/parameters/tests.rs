use super::*;
use crate::model::codebook::{Code, Codebook, CodedColumn};

fn column(name: &str, unit: Option<&str>, code: Code) -> CodedColumn {
    CodedColumn { name: name.into(), unit: unit.map(str::to_owned), code }
}

fn ward() -> Codebook {
    let texts = |levels: &[&str]| levels.iter().map(|level| (*level).to_owned()).collect();
    Codebook {
        columns: vec![
            column("age", Some("year"), Code::Number { centre: 50.0, scale: 30.0 }),
            column("smoker", None, Code::Levels { levels: texts(&["never", "former", "current"]) }),
            column("emergency", None, Code::Flag { levels: ["false".into(), "true".into()] }),
            column("pressure", None, Code::Number { centre: 150.0, scale: 70.0 }),
            column("pressure", None, Code::Missing),
        ],
        target: Some(column("stay", Some("days"), Code::Number { centre: 15.0, scale: 15.0 })),
    }
}

fn encode(age: f64, smoker: usize, emergency: bool, pressure: Option<f64>) -> Vec<f64> {
    let side = |yes: bool| if yes { 1.0 } else { -1.0 };
    let mut row = vec![(age - 50.0) / 30.0, 0.0, 0.0, 0.0, side(emergency)];
    row[1 + smoker] = 1.0;
    row.extend([pressure.map_or(0.0, |p| (p - 150.0) / 70.0), side(pressure.is_none())]);
    row
}

/// Intercept and coefficients in the units of the schema predict what encoded weights predict, for rows of every kind.
#[test]
fn coefficients_in_schema_units_predict_as_encoded_weights() {
    let codebook = ward();
    let weights = [0.3, 0.05, -0.02, 0.11, -0.07, 0.21, 0.04, 0.6];
    let centre = [0.1, 0.2, 0.3, 0.5, -0.2, 0.05, -0.9];
    let (terms, parameters) = linear_terms(&codebook, &centre, codebook.target_scale(), 15.0);
    let names: Vec<String> = parameters.iter().map(Parameter::name).collect();
    let expected = [
        "intercept",
        "coefficient[age]",
        "coefficient[smoker = former]",
        "coefficient[smoker = current]",
        "coefficient[emergency = true]",
        "coefficient[pressure]",
        "coefficient[pressure is missing]",
    ];
    assert_eq!(names, expected);
    assert_eq!(parameters[1].unit.as_deref(), Some("days/year"));
    assert_eq!(parameters[2].note.as_deref(), Some("against never"));
    let values: Vec<f64> = terms.iter().map(|term| term.at(&weights)).collect();
    for (age, smoker, emergency, pressure) in
        [(20.0, 0, false, Some(120.0)), (80.0, 1, true, Some(199.0)), (35.5, 2, true, None)]
    {
        let row = encode(age, smoker, emergency, pressure);
        let gaps = row.iter().zip(&centre).map(|(x, c)| x - c);
        let score: f64 = gaps.zip(&weights).map(|(gap, w)| gap * w).sum::<f64>() + weights[7];
        let by_weights = 15.0 + 15.0 * score;
        let level = if smoker == 0 { 0.0 } else { values[1 + smoker] };
        // A missing pressure is encoded as the middle, 150.
        let pressure_part =
            values[5] * pressure.unwrap_or(150.0) + if pressure.is_none() { values[6] } else { 0.0 };
        let by_coefficients =
            values[0] + values[1] * age + level + if emergency { values[4] } else { 0.0 } + pressure_part;
        assert!((by_weights - by_coefficients).abs() < 1e-9, "{by_weights} {by_coefficients}");
    }
}

/// A quotient of any two texts reads in one way only.
#[test]
fn units_of_effects_are_quotients() {
    let number = |unit| column("x", unit, Code::Number { centre: 0.0, scale: 1.0 });
    let cases = [
        (Some("days"), Some("years"), Some("days/years")),
        (Some("days"), Some("kg/m2"), Some("days/(kg/m2)")),
        (Some("g/l"), Some("years"), Some("(g/l)/years")),
        (Some("days"), Some("mm Hg"), Some("days/(mm Hg)")),
        (Some("days"), Some("kg\u{b7}m"), Some("days/(kg\u{b7}m)")),
        (Some("days"), None, Some("days")),
        (None, Some("years"), Some("1/years")),
        (None, Some("kg/m2"), Some("1/(kg/m2)")),
        (None, None, None),
    ];
    for (target, unit, effect) in cases {
        assert_eq!(effect_unit(target, &number(unit)).as_deref(), effect, "{target:?} {unit:?}");
    }
    let word = column("note", None, Code::Word { word: "fever".into() });
    assert_eq!(effect_unit(None, &word).as_deref(), Some("1/word"));
}

/// An odds ratio has no unit, and states the change that it is for.
#[test]
fn odds_ratios_state_their_change() {
    let mut codebook = ward();
    codebook.target = None;
    codebook.columns[3].unit = Some("kg/m2".into());
    let (_, parameters) = linear_terms(&codebook, &[], 1.0, 0.0);
    let ratios = odds_ratios(&parameters);
    assert!(ratios.iter().all(|ratio| ratio.unit.is_none() && ratio.null == Some(1.0)));
    let notes: Vec<Option<&str>> = ratios.iter().map(|ratio| ratio.note.as_deref()).collect();
    let never = Some("against never");
    assert_eq!(notes, [Some("+1 year"), never, never, Some("against false"), Some("+1 kg/m2"), None]);
}

/// Draws have the means, standard deviations and quantiles of the summary, for every kind of joint distribution. Errors of 40,000 draws
/// are below 5 standard errors with a probability above 1 - 1e-4.
#[test]
fn draws_agree_with_the_summary() {
    let covariance = vec![0.5, 0.2, 0.2, 0.3];
    let gaussian = Joint::Gaussian(GaussianJoint {
        mean: vec![0.4, -0.1],
        covariance: Covariance::Full(covariance),
        records: Covariance::Diagonal(vec![0.25, 0.1]),
        terms: vec![
            Term { weights: vec![(0, 2.0), (1, -1.0)], constant: 3.0 },
            Term { weights: vec![(1, 0.5)], constant: 0.0 },
        ],
    });
    let ratio = |k| Parameter { transform: Transform::Exp, ..Parameter::new("ratio", Vec::new(), k) };
    let one = |k| Parameter { null: Some(0.0), ..Parameter::new("x", Vec::new(), k) };
    let normal = NormalMarginal { mean: 2.0, sd: 0.5, records_sd: 0.3 };
    let scaled = Scaled { of: Box::new(normal), centre: -1.0, scale: 4.0 };
    let sampled = Sampled {
        draws: (0..5000).map(|k| f64::from(k * 7919 % 5000) / 5000.0).collect(),
        records_sd: vec![0.1],
    };
    let parameters = Parameters::new(vec![
        Block { parameters: vec![one(0), one(1), ratio(1)], joint: gaussian },
        Block { parameters: vec![one(0)], joint: Joint::Independent(vec![Box::new(scaled)]) },
        Block { parameters: vec![one(0)], joint: Joint::Sampled(sampled) },
    ]);
    let count = 40_000;
    let (summary, draws) = (parameters.summary(), parameters.draws(count, 1));
    // Var(2a - b) = 4 * .5 + .3 - 4 * .2, and without the noise 4 * .25 + .1.
    assert!((summary[0].mean - 3.9).abs() < 1e-12 && (summary[0].sd - 1.5_f64.sqrt()).abs() < 1e-12);
    assert!((summary[0].records_sd - 1.1_f64.sqrt()).abs() < 1e-12);
    assert!((summary[0].privacy_sd - 0.4_f64.sqrt()).abs() < 1e-12);
    assert_eq!(draws.names.len(), summary.len());
    for (k, summary) in summary.iter().enumerate() {
        let mut column: Vec<f64> = draws.column(k).collect();
        assert_eq!(column.len(), count);
        let mean = column.iter().sum::<f64>() / count as f64;
        let sd = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count as f64).sqrt();
        let error = summary.sd / (count as f64).sqrt();
        assert!((mean - summary.mean).abs() < 5.0 * error, "{}: {mean}", summary.name);
        assert!((sd / summary.sd - 1.0).abs() < 0.05, "{}: {sd}", summary.name);
        column.sort_by(f64::total_cmp);
        for (p, quantile) in SUMMARY_QUANTILES.iter().zip(summary.quantiles) {
            let below = column.partition_point(|x| *x < quantile) as f64 / count as f64;
            assert!(
                (below - p).abs() < 5.0 * (p * (1.0 - p) / count as f64).sqrt() + 1e-3,
                "{}",
                summary.name
            );
        }
    }
    // The direction of x ~ N(-.05, .075) is below 0.
    let below = normal::cdf(0.05 / 0.075_f64.sqrt());
    assert!((summary[1].direction.unwrap() - below).abs() < 1e-12);
}
