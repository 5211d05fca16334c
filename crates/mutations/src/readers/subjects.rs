//! For every model, a table shape, a schema, pseudo-random rows and a plan.

use std::sync::OnceLock;

use reticent_core::budget::{Adjacency, Guarantee, Privacy, Unlimited};
use reticent_core::model::{Model, Planned, Saved, SettingKind, TableShape, Target, models};
use reticent_core::wall::{NoiseSource, Records};
use reticent_tables::{Array, Header, ModelFile, Schema};
use serde_json::{Value, json};

use crate::Dice;

/// Few, so that fits are fast.
const RECORDS: usize = 300;

/// A model with a table and a plan.
pub(super) struct Subject {
    pub(super) model: &'static dyn Model,
    pub(super) shape: TableShape,
    schema: Schema,
    /// The plan as a file.
    pub(super) plan: Value,
}

/// The budget of all plans.
pub(super) fn privacy() -> Privacy {
    Privacy::new(4.0, 1e-6, Adjacency::ReplaceOne).expect("these are numbers")
}

/// Features of several kinds, with the number of inputs of each.
const FEATURES: [(&[usize], &str); 3] = [
    (
        &[1, 3],
        r#"{ name = "age", kind = "numeric", bounds = [20, 70], unit = "years", description = "at the visit" },
           { name = "work", kind = "categorical", levels = ["Private", "State", "None"] }"#,
    ),
    (
        &[1, 1],
        r#"{ name = "age", kind = "numeric", bounds = [20, 70] }, { name = "dose", kind = "numeric", bounds = [0, 10] }"#,
    ),
    (
        &[3, 4, 2],
        r#"{ name = "region", kind = "categorical", levels = ["north", "south", "west"] },
           { name = "season", kind = "categorical", levels = ["spring", "summer", "autumn", "winter"] },
           { name = "light", kind = "categorical", levels = ["day", "night"] }"#,
    ),
];

fn target(target: Target) -> &'static str {
    match target {
        Target::Number => {
            r#"target = { name = "income", kind = "numeric", bounds = [0, 100], unit = "kUSD" }"#
        }
        Target::TwoClasses => r#"target = { name = "rich", kind = "boolean" }"#,
        Target::Classes => {
            r#"target = { name = "party", kind = "categorical", levels = ["red", "green", "blue"] }"#
        }
        Target::Nothing => "",
    }
}

impl Subject {
    /// The first features that the model has a plan for; a private one, if there is one.
    fn of(model: &'static dyn Model) -> Option<Self> {
        let targets = model.declaration().targets.iter();
        let mut all = targets.flat_map(|target| FEATURES.iter().map(move |features| (*target, *features)));
        all.find_map(|(kind, (columns, features))| {
            let mut shape = TableShape::new(columns.to_vec(), kind, RECORDS);
            for setting in model.declaration().settings.iter().filter(|setting| setting.default().is_none()) {
                let value = match setting.kind {
                SettingKind::Integer { .. } => 2u64.into(),
                _ => 0.2.into(),
            };
            shape.settings.insert(setting.name.into(), value);
            }
            let plan = planned(model, &shape)?.to_json();
            let plan = json!({ "model": model.name(), "inputs": shape.inputs(), "settings": shape.settings, "plan": plan });
            let schema = Schema::parse(&format!("{}\nfeatures = [{features}]", target(kind))).expect("a schema");
            Some(Self { model, shape, schema, plan })
        })
    }

    /// Whether there is a private fit.
    pub(super) fn is_private(&self) -> bool {
        self.model.plan(&self.shape, Some(&privacy())).is_ok()
    }

    /// Pseudo-random rows, the same in every run.
    fn rows(&self) -> Vec<f64> {
        let mut dice = Dice::new(1);
        let mut values = Vec::new();
        for _ in 0..RECORDS {
            for &inputs in &self.shape.columns {
                let level = dice.below(inputs);
                match inputs {
                    1 => values.push(dice.below(2001) as f64 / 1000.0 - 1.0),
                    _ => values.extend((0..inputs).map(|input| f64::from(u8::from(input == level)))),
                }
            }
            match self.shape.target {
                Target::Number => values.push(dice.below(2001) as f64 / 1000.0 - 1.0),
                Target::TwoClasses => values.push(if dice.below(2) == 0 { -1.0 } else { 1.0 }),
                Target::Classes => values.push(dice.below(3) as f64),
                Target::Nothing => (),
            }
        }
        values
    }

    /// A model file like one that `fit` writes. The noise has a fixed seed, and the receipt imitates that of a private run.
    fn model_file(&self) -> Vec<u8> {
        let Self { model, shape, schema, plan } = self;
        let planned = planned(*model, shape).expect("it was planned before");
        let records = Records::new(self.rows(), shape.width()).expect("complete rows");
        let privacy = Some(privacy()).filter(|_| self.is_private());
        let noise = NoiseSource::insecure_from_seed(1);
        let (fitted, mut receipt) =
            planned.run(records, noise, privacy.as_ref(), Box::new(Unlimited)).expect("a small fit");
        let requested = privacy.map(|privacy| {
            receipt.guarantee = Guarantee::Private(planned.price(privacy.delta()).expect("it was priced"));
            json!({ "epsilon": privacy.epsilon(), "delta": privacy.delta(), "adjacency": privacy.adjacency().to_string() })
        });
        let Saved { arrays, state } = fitted.save().expect("finite numbers");
        let names: Vec<&str> = schema.features().iter().map(|column| column.name()).collect();
        let card = json!({
            "about": model.declaration().about, "target": schema.target().map(|target| target.name()), "inputs": names,
            "asked": requested, "state": state,
        });
        let header = Header {
            model: model.name().to_owned(),
            family: model.declaration().family.to_owned(),
            schema: Some(schema.clone()),
            bounds: json!({ "inputs": shape.inputs(), "clamped_to": [-1.0, 1.0] }),
            plan: plan.clone(),
            receipt: serde_json::to_value(&receipt).expect("numbers and texts"),
            card,
        };
        let mut file = ModelFile::new(header);
        for (name, (shape, values)) in arrays {
            file.arrays.insert(name, Array::new(shape, values).expect("as long as its shape"));
        }
        file.to_bytes().expect("a model file")
    }
}

fn planned(model: &dyn Model, shape: &TableShape) -> Option<Box<dyn Planned>> {
    model.plan(shape, Some(&privacy())).or_else(|_| model.plan(shape, None)).ok()
}

/// The subjects of all models.
pub(super) fn subjects() -> Vec<Subject> {
    models().iter().filter_map(|&model| Subject::of(model)).collect()
}

/// A model file of every model.
pub(super) fn model_files() -> Vec<Vec<u8>> {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    FILES.get_or_init(|| subjects().iter().map(Subject::model_file).collect()).clone()
}
