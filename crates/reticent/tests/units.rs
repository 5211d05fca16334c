//! Privacy units of several rows, from files to models, receipts and ledgers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reticent::{Adjacency, Evaluation, Fit, Fitted, Privacy, PrivacyUnit, SavedModel, Schema, Session};

const STAY: &str = r#"
    privacy_unit = "person"
    target = { name = "stay", kind = "numeric", bounds = [0, 20], unit = "days" }
    features = [{ name = "age", kind = "numeric", bounds = [18, 95], unit = "years" }]
"#;

/// 600 persons of one to eight rows, and 12 rows without a person, all shuffled; 2,712 rows.
struct Visits {
    folder: tempfile::TempDir,
    rows: Vec<(Option<usize>, f64, f64)>,
}

fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

impl Visits {
    fn new() -> Self {
        let (mut state, mut rows) = (17, Vec::new());
        for person in 0..600 {
            let (age, own) = (18.0 + 70.0 * uniform(&mut state), 4.0 * uniform(&mut state));
            for _ in 0..=person % 8 {
                rows.push((Some(person), age, 3.0 + 0.05 * age + own + uniform(&mut state)));
            }
        }
        (0..12).for_each(|row| rows.push((None, 20.0 + f64::from(row), 6.0)));
        for k in (1..rows.len()).rev() {
            let other = (uniform(&mut state) * (k + 1) as f64) as usize;
            rows.swap(k, other);
        }
        assert_eq!(rows.len(), 2712);
        let mut text = "person,age,stay,member,ward,word,group\n".to_owned();
        for (person, age, stay) in &rows {
            let name = person.map_or_else(String::new, |person| format!("PLANTED-{person:04}"));
            let (member, ward) = (*stay > 8.0, if *age > 50.0 { "A" } else { "B" });
            let word = if *stay > 7.0 { "pain" } else { "none" };
            let group = if person.unwrap_or(0) % 2 == 0 { 2.0 } else { 8.0 } + 0.1 * (age % 5.0);
            writeln!(text, "{name},{age:.3},{stay:.3},{member},{ward},{word},{group:.3}").unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("visits.csv"), text).unwrap();
        Self { folder, rows }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("visits.csv")
    }
}

fn privacy(adjacency: Adjacency) -> Privacy {
    Privacy::new(2.0, 1e-5, adjacency).unwrap()
}

fn schema(text: &str) -> Schema {
    Schema::parse(text).unwrap()
}

/// Means of the parameters, in the order of the summary.
fn means(fitted: &Fitted) -> Vec<f64> {
    fitted.model().summary().unwrap().iter().map(|summary| summary.mean).collect()
}

/// Least squares of the means of products over the rows of each unit: what a fit by units is without privacy.
fn by_hand(visits: &Visits) -> [f64; 2] {
    let mut sums = [0.0; 5];
    let mut persons: std::collections::HashMap<usize, Vec<(f64, f64)>> = std::collections::HashMap::new();
    let mut units = Vec::new();
    for (person, age, stay) in &visits.rows {
        let round = |x: f64| (1000.0 * x).round() / 1000.0;
        let row = (round(*age), round(*stay));
        match person {
            Some(person) => persons.entry(*person).or_default().push(row),
            None => units.push(vec![row]),
        }
    }
    for unit in units.iter().chain(persons.values()) {
        let weight = 1.0 / unit.len() as f64;
        for (x, y) in unit {
            [1.0, *x, *y, x * x, x * y].iter().zip(&mut sums).for_each(|(value, sum)| *sum += weight * value);
        }
    }
    let [n, x, y, xx, xy] = sums;
    let slope = (n * xy - x * y) / (n * xx - x * x);
    [(y - slope * x) / n, slope]
}

#[test]
fn a_fit_by_units_is_that_of_their_means_in_memory_and_in_a_file() {
    let visits = Visits::new();
    let expected = by_hand(&visits);
    for memory in [1 << 30, 1] {
        let fit = Fit::new("linear", &schema(STAY)).unwrap().without_privacy().memory(memory);
        let fitted = fit.run(visits.data()).unwrap();
        assert_eq!(fitted.receipt().records, 612);
        let found = means(&fitted);
        // The prior of coefficients is weak: it moves them by less than a thousandth of their errors.
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 2e-3 * expected.abs(), "{found} {expected}");
        }
    }
    // By rows it is another line: the persons with many rows count more.
    let rows = schema(&STAY.replace("privacy_unit = \"person\"", ""));
    let fitted = Fit::new("linear", &rows).unwrap().without_privacy().run(visits.data()).unwrap();
    assert_eq!(fitted.receipt().records, 2712);
}

/// Every private model, in memory and streamed, under both adjacencies.
#[test]
fn every_private_model_fits_units() {
    let visits = Visits::new();
    let unit = "privacy_unit = \"person\"\n";
    let age = "features = [{ name = \"age\", kind = \"numeric\", bounds = [18, 95] }]\n";
    let flag = "features = [{ name = \"member\", kind = \"boolean\" }]\n";
    let ward = "features = [{ name = \"ward\", kind = \"categorical\", levels = [\"A\", \"B\"] }, { name = \"member\", kind = \"categorical\", levels = [\"true\", \"false\"] }]\n";
    let both = "features = [{ name = \"age\", kind = \"numeric\", bounds = [18, 95] }, { name = \"stay\", kind = \"numeric\", bounds = [0, 20] }]\n";
    let word = "features = [{ name = \"word\", kind = \"text\", vocabulary = [\"pain\", \"none\"] }]\n";
    let group = "features = [{ name = \"group\", kind = \"numeric\", bounds = [0, 10] }]\n";
    let count = "features = [{ name = \"stay\", kind = \"numeric\", bounds = [0, 20] }]\n";
    let number = "target = { name = \"stay\", kind = \"numeric\", bounds = [0, 20] }\n";
    let class = "target = { name = \"member\", kind = \"boolean\" }\n";
    type Case<'a> = (&'a str, &'a str, &'a str, &'a [(&'a str, f64)]);
    let cases: [Case<'_>; 15] = [
        ("regression", number, age, &[]),
        ("linear", number, age, &[]),
        ("logistic", class, age, &[]),
        ("probit", class, age, &[]),
        ("naive-bayes", class, age, &[]),
        ("network", number, age, &[]),
        ("network-sgd", number, age, &[("hidden", 3.0), ("batch", 50.0), ("steps", 5.0)]),
        ("mixture", "", group, &[("components", 2.0), ("noise-sd", 0.3)]),
        ("topics", "", word, &[("topics", 2.0)]),
        ("sigmoid-belief", "", flag, &[("units", 1.0)]),
        ("beta-bernoulli", "", flag, &[]),
        ("dirichlet", "", ward, &[]),
        ("normal", "", both, &[]),
        ("multivariate-normal", "", both, &[]),
        ("poisson", "", count, &[("bound", 20.0)]),
    ];
    for (model, target, features, settings) in cases {
        let schema = schema(&format!("{unit}{target}{features}"));
        for (adjacency, memory) in [(Adjacency::ReplaceOne, 1 << 30), (Adjacency::AddRemove, 1)] {
            // Sums without the number of records say nothing, and these models refuse add/remove.
            let needs_number =
                ["beta-bernoulli", "normal", "multivariate-normal", "poisson"].contains(&model);
            let adjacency = if needs_number { Adjacency::ReplaceOne } else { adjacency };
            let mut fit = Fit::new(model, &schema).unwrap().privacy(privacy(adjacency)).memory(memory);
            for (name, value) in settings {
                fit = fit.setting(*name, *value);
            }
            if adjacency == Adjacency::AddRemove {
                fit = fit.records(600);
            }
            let fitted =
                fit.run(visits.data()).unwrap_or_else(|error| panic!("{model}, {adjacency}: {error}"));
            let records = if adjacency == Adjacency::AddRemove { 600 } else { 612 };
            assert_eq!(fitted.receipt().records, records, "{model}");
            assert_eq!(fitted.receipt().privacy_unit.as_deref(), Some("person"), "{model}");
        }
    }
}

/// No value of the unit column and no number of rows is in the model, the receipt, the ledger, or any other file of a run; and the receipt states who is
/// protected.
#[test]
fn no_unit_and_no_number_of_rows_leaves() {
    let visits = Visits::new();
    let schema = schema(STAY);
    let ledger = visits.path("b.ledger");
    let cap = Privacy::new(5.0, 1e-4, Adjacency::ReplaceOne).unwrap();
    let session = Session::create(&ledger, "ward", &cap, Some(&schema)).unwrap();
    let mut steps = Vec::new();
    for memory in [1 << 30, 1] {
        let (sender, receiver) = std::sync::mpsc::channel();
        let fit =
            session.fit("linear", &schema).unwrap().privacy(privacy(Adjacency::ReplaceOne)).memory(memory);
        let fit = fit.out(visits.path("m.reticent")).overwrite(true);
        let fit = fit.on_progress(move |step| sender.send(format!("{step}")).unwrap());
        let fitted = fit.run(visits.data()).unwrap();
        steps.extend(receiver.try_iter());
        steps.push(fitted.receipt().to_string());
    }
    let shown = steps.concat();
    assert!(shown.contains("612 privacy units (rows with the same person)"), "{shown}");
    assert!(shown.contains("a row without a value of person is a unit of its own"), "{shown}");
    assert!(!shown.contains("the privacy unit is a row"), "{shown}");
    let mut files = 0;
    for entry in std::fs::read_dir(visits.folder.path()).unwrap() {
        let file = entry.unwrap().path();
        if file == visits.data() {
            continue;
        }
        files += 1;
        let bytes = std::fs::read(&file).unwrap();
        for secret in ["PLANTED", "2712", "2711"] {
            assert!(!has_word(&bytes, secret), "{secret} in {}", file.display());
        }
    }
    assert!(!["PLANTED", "2712", "2711"].iter().any(|secret| has_word(shown.as_bytes(), secret)), "{shown}");
    assert!(files >= 2, "a model and a ledger");
}

/// Whether bytes have these letters or digits, not as a part of a longer number such as a digest or a decimal fraction.
fn has_word(bytes: &[u8], word: &str) -> bool {
    let part_of_number =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit() || *byte == b'.');
    let number = word.bytes().all(|byte| byte.is_ascii_digit());
    (0..bytes.len()).any(|k| {
        let before = k.checked_sub(1).and_then(|k| bytes.get(k));
        bytes[k..].starts_with(word.as_bytes())
            && !(number && (part_of_number(before) || part_of_number(bytes.get(k + word.len()))))
    })
}

#[test]
fn fits_with_another_privacy_unit_are_refused() {
    let visits = Visits::new();
    let (by_person, by_row) = (schema(STAY), schema(&STAY.replace("privacy_unit = \"person\"", "")));
    let by_ward = by_row.clone().with_privacy_unit(PrivacyUnit::new("ward", None).unwrap()).unwrap();
    let cap = Privacy::new(5.0, 1e-4, Adjacency::ReplaceOne).unwrap();
    let create = |name: &str, schema: Option<&Schema>| {
        Session::create(visits.path("c.ledger"), name, &cap, schema).unwrap()
    };
    let sessions = [
        (create("persons", Some(&by_person)), Some("person")),
        (Session::create_for_units(visits.path("c.ledger"), "free", &cap, "person").unwrap(), Some("person")),
        (create("rows", Some(&by_row)), None),
        (create("any", None), None),
    ];
    for (session, unit) in sessions {
        assert_eq!(reticent::privacy_unit_of(&session.account().unwrap().data_set), unit);
        for (schema, own) in [(&by_person, Some("person")), (&by_row, None), (&by_ward, Some("ward"))] {
            let fit = session.fit("linear", schema).unwrap().privacy(privacy(Adjacency::ReplaceOne));
            let run = fit.run(visits.data());
            if own == unit {
                run.unwrap();
            } else {
                let error = run.map(drop).unwrap_err();
                assert!(error.to_string().contains("has a budget that protects"), "{error}");
            }
        }
        // The refused runs cost nothing.
        assert_eq!(session.history().unwrap().len(), 1);
    }
}

#[test]
fn what_units_cannot_have_is_refused_before_a_charge() {
    let visits = Visits::new();
    let refused = |fit: Fit, needle: &str| {
        let error = fit.run(visits.data()).map(drop).unwrap_err();
        assert!(error.to_string().contains(needle), "{error}");
    };
    let fit = |text: &str, model: &str| {
        Fit::new(model, &schema(text)).unwrap().privacy(privacy(Adjacency::ReplaceOne))
    };
    refused(fit(STAY, "linear").holdout(0.2).out(visits.path("h.reticent")), "no records can be held out");
    refused(fit(&STAY.replace("\"person\"", "\"patient\""), "linear"), "there is no column \"patient\"");
    let flags = "privacy_unit = \"person\"\nrows_per_unit = ROWS\nfeatures = [{ name = \"member\", kind = \"boolean\" }]\n";
    refused(fit(&flags.replace("ROWS", "3"), "beta-bernoulli"), "each privacy unit to count once");
    fit(&flags.replace("ROWS", "1"), "beta-bernoulli").run(visits.data()).unwrap();
    fit(&STAY.replace("target", "rows_per_unit = 3\ntarget"), "linear").run(visits.data()).unwrap();
    for wrong in
        ["privacy_unit = \"age\"", "privacy_unit = \"stay\"", "privacy_unit = \"\"", "rows_per_unit = 2"]
    {
        assert!(Schema::parse(&STAY.replace("privacy_unit = \"person\"", wrong)).is_err(), "{wrong}");
    }
    let text = schema(&STAY.replace("target", "rows_per_unit = 3\ntarget")).to_toml();
    assert!(text.contains("privacy_unit = \"person\"\nrows_per_unit = 3\n"), "{text}");
}

/// Bounds are estimated from units as well, and a model is evaluated by units; their number is public, that of rows is not.
#[test]
fn private_bounds_and_evaluations_are_by_units() {
    let visits = Visits::new();
    let text = STAY.replace(
        "kind = \"numeric\", bounds = [18, 95]",
        "kind = \"numeric\", bounds = \"private\", within = [0, 1e6]",
    );
    for memory in [1 << 30, 1] {
        let fit = Fit::new("linear", &schema(&text))
            .unwrap()
            .privacy(privacy(Adjacency::ReplaceOne))
            .memory(memory);
        let fitted = fit.run(visits.data()).unwrap();
        assert_eq!(fitted.receipt().records, 612);
        let model = fitted.model();
        let evaluation = Evaluation::new(&[model]).unwrap().privacy(privacy(Adjacency::ReplaceOne));
        let evaluated = evaluation.run(visits.data()).unwrap();
        assert_eq!(
            (evaluated.receipt.records, evaluated.receipt.privacy_unit.as_deref()),
            (612, Some("person"))
        );
    }
    let rows = schema(&STAY.replace("privacy_unit = \"person\"", ""));
    let fitted = |schema: &Schema| {
        Fit::new("linear", schema)
            .unwrap()
            .privacy(privacy(Adjacency::ReplaceOne))
            .run(visits.data())
            .unwrap()
    };
    let models: Vec<SavedModel> = [&schema(STAY), &rows]
        .map(|schema| {
            let file = visits.path("x.reticent");
            let _ = std::fs::remove_file(&file);
            fitted(schema).save(&file).unwrap();
            SavedModel::load(&file).unwrap()
        })
        .into();
    let both = Evaluation::new(&[&models[0], &models[1]]).unwrap().privacy(privacy(Adjacency::ReplaceOne));
    let error = both.run(Path::new(&visits.data())).map(drop).unwrap_err();
    assert!(error.to_string().contains("different privacy units"), "{error}");
}
