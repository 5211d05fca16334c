//! The audited models, each with a table on which one record has a large effect.

use reticent_core::budget::Adjacency;
use reticent_core::model::{TableShape, Target};

/// A table of a model: schema, ordinary records, and records at the bounds of the schema.
#[derive(Debug, Clone)]
pub struct Case {
    /// Model and variant, as in the table of results.
    pub name: String,
    /// The model of the registry.
    pub model: &'static str,
    /// Settings that have no default or a costly one.
    pub settings: Vec<(&'static str, f64)>,
    /// The schema, as TOML.
    pub schema: String,
    /// The first line of the file.
    pub header: String,
    /// Inputs that each column becomes.
    pub columns: Vec<usize>,
    /// Kind of target.
    pub target: Target,
    /// Ordinary lines: line n of a file is the (n modulo their number)-th.
    pub lines: Vec<String>,
    /// Lines at the bounds: neighbours differ in two of them (replace-one) or in one (add/remove).
    pub extremes: Vec<String>,
    /// Records of a file.
    pub records: usize,
    /// Maximum number of releases in scores: those before a costly search suffice.
    pub releases: usize,
    /// Whether a fit takes a large part of a second, so that the tests skip complete fits.
    pub costly: bool,
    /// Whether there is a plan for add/remove adjacency.
    pub add_remove: bool,
    /// The fewest records that there is a plan for.
    pub fewest: usize,
    /// Further arguments of the command line.
    pub arguments: &'static [&'static str],
}

impl Case {
    /// The shape of a table of this many records.
    #[must_use]
    pub fn shape(&self, records: usize) -> TableShape {
        let mut shape = TableShape::new(self.columns.clone(), self.target, records);
        shape.settings = self.settings.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        shape
    }

    /// The supported adjacencies.
    #[must_use]
    pub fn adjacencies(&self) -> &'static [Adjacency] {
        if self.add_remove { &ADJACENCIES } else { &ADJACENCIES[..1] }
    }

    /// This many ordinary lines.
    #[must_use]
    pub fn ordinary(&self, lines: usize) -> Vec<String> {
        self.lines.iter().cycle().take(lines).cloned().collect()
    }

    /// The file of these lines.
    #[must_use]
    pub fn file(&self, lines: &[String]) -> String {
        let mut text = format!("{}\n", self.header);
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

/// Both adjacencies.
pub const ADJACENCIES: [Adjacency; 2] = [Adjacency::ReplaceOne, Adjacency::AddRemove];

/// Models that cannot be fitted with privacy: there is nothing to attack, and a test checks that they refuse.
pub const NOT_PRIVATE: [&str; 1] = ["network-vi"];

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

/// A schema with a feature of this kind for each name, and perhaps a target.
fn schema(target: &str, names: &[String], kind: &str) -> String {
    let features = names.iter().map(|name| format!("    {{ name = {name:?}, {kind} }},\n"));
    format!("{target}\nfeatures = [\n{}]\n", features.collect::<String>())
}

const UNIT: &str = "kind = \"numeric\", bounds = [-1, 1]";
const BOOLEAN: &str = "kind = \"boolean\"";
const A_NUMBER: &str = "target = { name = \"y\", kind = \"numeric\", bounds = [-1, 1] }";
const A_CLASS: &str = "target = { name = \"y\", kind = \"categorical\", levels = [\"no\", \"yes\"] }";

/// Two numbers and a numeric target.
fn number(name: &str, model: &'static str, settings: &[(&'static str, f64)]) -> Case {
    Case {
        name: name.to_owned(),
        model,
        settings: settings.to_vec(),
        schema: schema(A_NUMBER, &owned(&["a", "b"]), UNIT),
        header: "a,b,y".into(),
        columns: vec![1, 1],
        target: Target::Number,
        lines: owned(&["0.1,-0.2,0.1", "-0.3,0.2,-0.2", "0.2,0.1,0.3", "0,-0.1,-0.1", "-0.1,0.3,0"]),
        extremes: owned(&[
            "1,1,1", "1,1,-1", "-1,1,1", "1,-1,1", "-1,-1,-1", "0,0,1", "0,0,-1", "1,0,0", "0,1,0", "0,0,0",
            "0,0,",
        ]),
        records: 60,
        releases: 64,
        costly: false,
        add_remove: true,
        fewest: 1,
        arguments: &[],
    }
}

/// Two numbers and a target of two classes. Long inputs are weighted down, so the extremes have inputs of several lengths.
fn class(name: &str, model: &'static str, settings: &[(&'static str, f64)]) -> Case {
    let signs = [("", ""), ("", "-"), ("-", ""), ("-", "-")];
    let lengths = ["0.4", "0.6", "0.7", "0.8"].into_iter().flat_map(|x| signs.map(|signs| (x, signs)));
    let shorter = lengths.map(|(x, (first, second))| {
        let answer = if first.is_empty() { "yes" } else { "no" };
        format!("{first}{x},{second}{x},{answer}")
    });
    let longest = owned(&[
        "1,1,yes",
        "1,1,no",
        "-1,1,yes",
        "1,-1,no",
        "-1,-1,yes",
        "-1,-1,no",
        "0,0,yes",
        "0,0,no",
        "1,0,yes",
        "0,0,",
    ]);
    Case {
        schema: schema(A_CLASS, &owned(&["a", "b"]), UNIT),
        target: Target::TwoClasses,
        lines: owned(&["0.1,-0.2,yes", "-0.3,0.2,no", "0.2,0.1,yes", "0,-0.1,no", "-0.1,0.3,no"]),
        extremes: longest.into_iter().chain(shorter).collect(),
        ..number(name, model, settings)
    }
}

/// Two numbers without a target.
fn numbers(name: &str, model: &'static str, settings: &[(&'static str, f64)]) -> Case {
    Case {
        schema: schema("", &owned(&["a", "b"]), UNIT),
        header: "a,b".into(),
        target: Target::Nothing,
        lines: owned(&["0.1,-0.2", "-0.3,0.2", "0.2,0.1", "0,-0.1", "-0.1,0.3"]),
        extremes: owned(&["1,1", "-1,-1", "1,-1", "-1,1", "0,0", "1,0", "0,1"]),
        ..number(name, model, settings)
    }
}

fn hmm() -> Case {
    Case {
        schema: r#"
features = [
    { name = "region", kind = "categorical", levels = ["n", "s"] },
    { name = "time", kind = "categorical", levels = ["1", "2", "3"] },
    { name = "event", kind = "categorical", levels = ["x", "y", "z"] },
]
"#
        .into(),
        header: "region,time,event".into(),
        columns: vec![2, 3, 3],
        lines: owned(&["n,1,x", "s,2,y", "n,3,y", "s,1,x", "n,2,z"]),
        extremes: owned(&["n,1,x", "s,3,z", "s,1,y", "n,1,y", "n,3,z"]),
        ..numbers("hmm", "hmm", &[("states", 2.0), ("iterations", 20.0)])
    }
}

const ANIMALS: [&str; 24] = [
    "ape", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibex", "jay", "koi", "lark", "mole", "newt",
    "owl", "pig", "quail", "ram", "seal", "toad", "urial", "vole", "wasp", "yak",
];

/// Documents of this many words.
fn topics(name: &str, words: usize) -> Case {
    let words = &ANIMALS[..words];
    let (first, last) = (words[0], words[words.len() - 1]);
    let few = owned(&[first, last]);
    Case {
        schema: format!(
            "features = [{{ name = \"text\", kind = \"text\", vocabulary = {words:?}, missing = \"\" }}]\n"
        ),
        header: "text".into(),
        columns: vec![1; words.len()],
        lines: words.windows(3).map(|some| format!("{} {} {}", some[0], some[1], some[0])).collect(),
        extremes: few.iter().map(|word| [word.as_str(); 8].join(" ")).chain(few.clone()).collect(),
        ..numbers(name, "topics", &[("topics", 2.0)])
    }
}

/// Records of this many columns that are yes or no, with at most two of them yes.
fn booleans(name: &str, model: &'static str, settings: &[(&'static str, f64)], columns: usize) -> Case {
    let names: Vec<String> = (0..columns).map(|k| format!("x{k}")).collect();
    let line =
        |yes: &dyn Fn(usize) -> bool| (0..columns).map(|k| yes(k).to_string()).collect::<Vec<_>>().join(",");
    Case {
        schema: schema("", &names, BOOLEAN),
        header: names.join(","),
        columns: vec![1; columns],
        lines: (0..columns).map(|n| line(&|k| k == n || k == (n + 1) % columns)).collect(),
        extremes: vec![line(&|_| true), line(&|_| false), line(&|k| k == 0), line(&|k| k % 2 == 1)],
        ..numbers(name, model, settings)
    }
}

fn dirichlet() -> Case {
    Case {
        schema: "features = [{ name = \"a\", kind = \"categorical\", levels = [\"x\", \"y\", \"z\"] }]\n"
            .into(),
        header: "a".into(),
        columns: vec![3],
        lines: owned(&["x", "y", "x", "z"]),
        extremes: owned(&["x", "y", "z"]),
        ..numbers("dirichlet", "dirichlet", &[])
    }
}

fn naive_bayes() -> Case {
    Case {
        schema: format!(
            "{A_CLASS}\nfeatures = [\n    {{ name = \"a\", {UNIT} }},\n    {{ name = \"b\", kind = \"categorical\", \
             levels = [\"p\", \"q\", \"r\"] }},\n]\n"
        ),
        columns: vec![1, 3],
        lines: owned(&["0.1,p,yes", "-0.3,q,no", "0.2,p,yes", "0.9,r,no", "-0.1,q,no"]),
        extremes: owned(&["1,p,yes", "-1,q,no", "1,r,no", "-1,p,yes"]),
        ..class("naive-bayes", "naive-bayes", &[("bins", 4.0)])
    }
}

fn poisson() -> Case {
    Case {
        schema: "features = [{ name = \"a\", kind = \"numeric\", bounds = [0, 10] }]\n".into(),
        header: "a".into(),
        columns: vec![1],
        lines: owned(&["1", "0", "3", "2", "4"]),
        extremes: owned(&["0", "10", "5"]),
        add_remove: false,
        ..numbers("poisson", "poisson", &[("bound", 10.0)])
    }
}

fn mixture() -> Case {
    Case { releases: 1, costly: true, ..numbers("mixture", "mixture", &MIXTURE) }
}

/// Each fit composes sampled releases numerically, which is slow.
fn gradients() -> Case {
    Case {
        extremes: owned(&["1,1,1", "1,1,-1", "-1,-1,-1"]),
        costly: true,
        ..number("network-sgd", "network-sgd", &GRADIENTS)
    }
}

const MIXTURE: [(&str, f64); 2] = [("components", 2.0), ("noise-sd", 0.3)];
const GRADIENTS: [(&str, f64); 3] = [("hidden", 3.0), ("batch", 20.0), ("steps", 10.0)];
const HIDDEN: [(&str, f64); 1] = [("hidden", 3.0)];
const UNITS: [(&str, f64); 1] = [("units", 2.0)];

/// All cases: at least one of each model that can be private.
#[must_use]
pub fn cases() -> Vec<Case> {
    vec![
        number("regression", "regression", &[]),
        number("linear", "linear", &[]),
        class("logistic", "logistic", &[]),
        class("probit", "probit", &[]),
        mixture(),
        number("network of a number", "network", &HIDDEN),
        hmm(),
        topics("topics", 6),
        booleans("sigmoid-belief", "sigmoid-belief", &UNITS, 3),
        gradients(),
        Case { add_remove: false, ..booleans("beta-bernoulli", "beta-bernoulli", &[], 2) },
        // With many columns, noise is Gaussian.
        Case { add_remove: false, ..booleans("beta-bernoulli of 24 columns", "beta-bernoulli", &[], WIDE) },
        dirichlet(),
        Case { costly: true, ..booleans("dirichlet of 24 columns", "dirichlet", &[], WIDE) },
        naive_bayes(),
        Case { add_remove: false, costly: true, ..numbers("normal", "normal", &[]) },
        Case {
            add_remove: false,
            costly: true,
            // Two more than columns.
            fewest: 4,
            ..numbers("multivariate-normal", "multivariate-normal", &[])
        },
        poisson(),
    ]
}

/// Rows of the person that neighbours differ in.
const PERSON_ROWS: usize = 40;

/// A case whose privacy unit is a person: neighbours differ in all rows of one person. Others have one to three rows.
fn persons(name: &str, rows_per_unit: Option<usize>) -> Case {
    let case = case(name);
    let rows_line = rows_per_unit.map_or_else(String::new, |rows| format!("rows_per_unit = {rows}\n"));
    let with = |person: &str, lines: &[&String]| -> String {
        lines.iter().map(|line| format!("{person},{line}")).collect::<Vec<_>>().join("\n")
    };
    let lines = (0..case.records).map(|n| {
        let own: Vec<&String> = case.lines.iter().cycle().skip(n).take(1 + n % 3).collect();
        with(&format!("q{n}"), &own)
    });
    let all = |line| with("p", &vec![line; PERSON_ROWS]);
    let mixed: Vec<&String> = case.extremes.iter().cycle().take(PERSON_ROWS).collect();
    let extremes = case.extremes.iter().map(all).chain([with("p", &mixed), with("p", &mixed[..1])]);
    Case {
        name: match rows_per_unit {
            None => format!("{name}, {PERSON_ROWS} rows of a person"),
            Some(rows) => format!("{name}, {rows} of {PERSON_ROWS} rows of a person"),
        },
        schema: format!("privacy_unit = \"person\"\n{rows_line}{}", case.schema),
        header: format!("person,{}", case.header),
        lines: lines.collect(),
        extremes: extremes.collect(),
        ..case
    }
}

/// Cases with a privacy unit of several rows: outer products, a ball, blocks, coordinates, and pure noise.
#[must_use]
pub fn unit_cases() -> Vec<Case> {
    vec![
        persons("linear", None),
        persons("linear", Some(5)),
        persons("logistic", None),
        persons("network of a number", None),
        persons("topics", None),
        persons("dirichlet of 24 columns", None),
        persons("beta-bernoulli", None),
    ]
}

/// The case of this name.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).expect("a case of this name")
}

/// Columns of the cases with many canaries.
const WIDE: usize = 24;
/// Number of columns for probit regression, whose cost grows with the sixth power of the number of columns.
const NARROW: usize = 12;

/// The cases with many canaries: tables of models whose later releases depend on earlier ones, so wide that each extreme record has
/// nearly a column or word of its own.
#[must_use]
pub fn canary_cases() -> Vec<Case> {
    let with = |target: &str, wide: usize, lines: [&str; 2], case: Case| {
        let names: Vec<String> = (0..wide).map(|k| format!("x{k}")).collect();
        let one = |k: usize| (0..wide).map(|j| if j == k { "1" } else { "0" }).collect::<Vec<_>>().join(",");
        Case {
            schema: schema(target, &names, UNIT),
            header: format!("{},y", names.join(",")),
            columns: vec![1; wide],
            lines: lines.iter().map(|class| format!("{},{class}", one(wide))).collect(),
            extremes: (0..wide).map(|k| format!("{},{}", one(k), lines[k % 2])).collect(),
            ..case
        }
    };
    let of_number = |case| with(A_NUMBER, WIDE, ["1", "-1"], case);
    let of_class = |wide, case| with(A_CLASS, wide, ["yes", "no"], case);
    let angle = |k: usize| std::f64::consts::TAU * k as f64 / 12.0;
    let circle =
        (0..12).map(|k| format!("{:.3},{:.3}", 0.9 * angle(k).cos(), 0.9 * angle(k).sin())).collect();
    let text = topics("topics", WIDE);
    let belief = booleans("sigmoid-belief", "sigmoid-belief", &UNITS, WIDE);
    let alone = |k: usize| (0..WIDE).map(|j| (j == k).to_string()).collect::<Vec<_>>().join(",");
    vec![
        of_class(WIDE, class("logistic", "logistic", &[])),
        of_number(number("regression", "regression", &[])),
        of_number(number("network of a number", "network", &HIDDEN)),
        of_class(NARROW, class("probit", "probit", &[])),
        Case { extremes: ANIMALS.iter().map(|word| [*word; 8].join(" ")).collect(), ..text },
        Case { lines: vec![alone(WIDE)], extremes: (0..WIDE).map(alone).collect(), ..belief },
        Case { lines: owned(&["0,0"]), extremes: circle, costly: false, ..mixture() },
        of_number(gradients()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_core::budget::Privacy;
    use reticent_core::model::{model, models};
    use std::collections::BTreeSet;

    /// A model without a game would not be audited. Those left out must refuse privacy for every kind of target.
    #[test]
    fn every_model_that_can_be_private_has_a_game() {
        for model in models() {
            let played = cases().iter().any(|case| case.model == model.name());
            let exempt = NOT_PRIVATE.contains(&model.name());
            assert!(played != exempt, "{}: add a case, or list it in NOT_PRIVATE", model.name());
            if exempt {
                let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
                for &target in model.declaration().targets {
                    let shape = TableShape::new(vec![1, 1], target, 60);
                    assert!(model.plan(&shape, None).is_ok() && model.plan(&shape, Some(&privacy)).is_err());
                }
            }
        }
        for all in [cases(), canary_cases()] {
            assert_eq!(all.len(), all.iter().map(|case| case.name.clone()).collect::<BTreeSet<_>>().len());
        }
    }

    /// A case that is not played under add/remove must be refused there.
    #[test]
    fn what_is_not_played_is_refused() {
        for case in cases() {
            for adjacency in ADJACENCIES {
                let privacy = Privacy::new(4.0, 1e-5, adjacency).unwrap();
                let plan = model(case.model).unwrap().plan(&case.shape(case.records), Some(&privacy));
                assert_eq!(
                    plan.is_ok(),
                    case.adjacencies().contains(&adjacency),
                    "{} {adjacency}",
                    case.name
                );
            }
        }
    }

    /// Fits whose later releases depend on earlier ones.
    #[test]
    fn adaptive_models_have_canaries() {
        let cases = canary_cases();
        for model in ["logistic", "regression", "network", "probit", "topics", "sigmoid-belief", "mixture"] {
            assert!(cases.iter().any(|case| case.model == model && case.extremes.len() >= 12), "{model}");
        }
    }
}
