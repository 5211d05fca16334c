//! Evaluation of saved models on test records: private, through the wall and charged like a fit; and exact comparison without privacy.

use std::ops::ControlFlow;
use std::path::PathBuf;

use reticent_core::budget::{Adjacency, Privacy};
use reticent_core::evaluation::{Compared, Comparison, Evaluated, EvaluationPlan, Judged};
use reticent_core::model::QUANTILES;
use reticent_core::observer::Step;
use reticent_core::receipt::{BOUNDS_WERE_STATED, Receipt};
use reticent_core::wall::{Closed, NoiseSource, Wall};
use reticent_ledger::Ledger;
use reticent_tables::{Encoder, Kind, Layout, Scale, Schema, Units};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cancel::Cancel;
use crate::charge::OnProgress;
use crate::data::{self, Data};
use crate::error::{Error, ErrorKind};
use crate::fit::check_writable;
use crate::fitted::keep;
use crate::guarded::guarded;
use crate::holdout::{self, Holdout, Part};
use crate::joined::{self, Joined};
use crate::journal;
use crate::resume::{Place, RunKind};
use crate::saved::SavedModel;
use crate::session;
use crate::settings::check_epsilon;

/// A private evaluation to be made: the models, and what may be spent on the test records.
///
/// ```no_run
/// use reticent::{Adjacency, Evaluation, Privacy, SavedModel};
///
/// let model = SavedModel::load("model.reticent")?;
/// let evaluation = Evaluation::new(&[&model])?
///     .privacy(Privacy::new(0.5, 1e-6, Adjacency::ReplaceOne)?)
///     .ledger("budget.ledger", "ward-7-test")
///     .run("test.csv")?;
/// for figure in &evaluation.evaluated.models[0].figures {
///     println!("{}: {:?} [{}, {}]", figure.name, figure.value, figure.lower, figure.upper);
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
///
/// # Privacy
/// One noisy sum over the test records is released, under the guarantee of the receipt. The unit is that of the schema of the models: a row, or all rows of a
/// person. The budget is that of the test records: give
/// them a data set of their own in the ledger.
#[must_use = "nothing is evaluated until `run`"]
pub struct Evaluation<'a> {
    models: Vec<&'a SavedModel>,
    privacy: Option<Privacy>,
    ledger: Option<(PathBuf, String)>,
    records: Option<usize>,
    layout: Option<Layout>,
    holdout: Option<Holdout>,
    out: Option<PathBuf>,
    resume: bool,
    overwrite: bool,
    on_progress: Option<OnProgress>,
    cancel: Cancel,
}

/// A private evaluation with its receipt. All of it may be published.
#[derive(Debug, Clone, Serialize)]
pub struct PrivateEvaluation {
    /// The assumptions that figures are to be read with.
    pub notes: Vec<String>,
    /// Name of the target.
    pub target: String,
    /// Unit of a numeric target, if the schema states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The second of two classes: the one whose probability is predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_class: Option<String>,
    /// The error at which squared errors of a number are clipped, in its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipped_at: Option<f64>,
    /// Kinds of the models, in their order.
    pub models: Vec<String>,
    /// The figures.
    pub evaluated: Evaluated,
    /// What was spent on the test records.
    pub receipt: Receipt,
}

impl<'a> Evaluation<'a> {
    /// An evaluation of models with the same target. A privacy budget must follow.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`] if there is no model, or their targets differ.
    pub fn new(models: &[&'a SavedModel]) -> Result<Self, Error> {
        check_targets(models)?;
        Ok(Self {
            models: models.to_vec(),
            privacy: None,
            ledger: None,
            records: None,
            layout: None,
            holdout: None,
            out: None,
            resume: false,
            overwrite: false,
            on_progress: None,
            cancel: Cancel::new(),
        })
    }

    /// What may be spent.
    pub fn privacy(self, privacy: Privacy) -> Self {
        Self { privacy: Some(privacy), ..self }
    }

    /// Charges the run to a data set of a ledger, which refuses it if too little is left.
    pub fn ledger(self, file: impl Into<PathBuf>, data_set: impl Into<String>) -> Self {
        Self { ledger: Some((file.into(), data_set.into())), ..self }
    }

    /// About how many test records there are: a public guess, which add-remove adjacency needs.
    pub fn records(self, records: usize) -> Self {
        Self { records: Some(records), ..self }
    }

    /// How CSV files are laid out, in place of what the schema of the first model states.
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout: Some(layout), ..self }
    }

    /// Evaluates on the records that a fit has held out of these files, and on no other.
    pub fn holdout(self, holdout: Holdout) -> Self {
        Self { holdout: Some(holdout), ..self }
    }

    /// Where the evaluation goes, as JSON. A run with such a file has a journal beside it and can be resumed.
    pub fn out(self, file: impl Into<PathBuf>) -> Self {
        Self { out: Some(file.into()), ..self }
    }

    /// Whether to continue the run that was interrupted, from the journal beside the file.
    pub fn resume(self, resume: bool) -> Self {
        Self { resume, ..self }
    }

    /// Whether to replace the file, whatever it is and has cost.
    pub fn overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    /// Calls a function before each release, on the thread of the run.
    pub fn on_progress(self, on_progress: impl FnMut(Step<'_>) + Send + 'static) -> Self {
        Self { on_progress: Some(Box::new(on_progress)), ..self }
    }

    /// Ends the run early once this flag is set.
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Evaluates the models on private records: reserves the cost, makes the release, writes the file and settles.
    ///
    /// # Errors
    /// [`Error`]. What is wrong with files, settings or the budget is found before anything is charged. After that the message states what
    /// stays charged.
    pub fn run(mut self, data: impl Into<Data>) -> Result<PrivateEvaluation, Error> {
        let (data, on_progress) = (data.into(), self.on_progress.take());
        let Some(privacy) = self.privacy else {
            let hint = "give it a privacy budget, or compare the models without privacy";
            return Err(Error::settings("a private evaluation needs a privacy budget", hint));
        };
        check_epsilon(&privacy)?;
        if self.out.is_some() && data.name().is_none() {
            let message = "record batches have no name, which a run with a file is resumed by";
            return Err(Error::settings(message, "give them one with `Data::named`"));
        }
        if self.holdout.is_some() && privacy.adjacency() == Adjacency::AddRemove {
            return Err(holdout::no_add_remove());
        }
        let unit = |model: &SavedModel| model.schema().privacy_unit().cloned();
        if self.models.iter().any(|model| unit(model) != unit(self.models[0])) {
            let message = "the models protect different privacy units";
            return Err(Error::settings(
                message,
                "evaluate them one by one, with a share of the budget each",
            ));
        }
        if let Some(holdout) = &self.holdout {
            self.models.iter().try_for_each(|model| holdout.check_model(model.card().holdout.as_ref()))?;
        }
        let first = self.models[0];
        let source = data.open(self.layout.unwrap_or(first.schema().layout()))?;
        self.check_fingerprints()?;
        let (out, ledger) = (self.out.clone(), self.ledger.clone());
        let kinds: Vec<&str> = self.models.iter().map(|model| model.kind().name()).collect();
        let names = kinds.join(", ");
        let place = Place {
            out: out.as_deref(),
            ledger: ledger.as_ref(),
            schema: first.schema(),
            kind: RunKind::Evaluation,
            model: &names,
            private: true,
            resume: self.resume,
            overwrite: self.overwrite,
        };
        place.check_vacant()?;
        if let Some(out) = &out {
            check_writable(out).map_err(|error| place.kept(error))?;
        }
        // What is wrong with the models is found before a record is read.
        let middles: Vec<Vec<f64>> = self.models.iter().map(|model| model.middle()).collect();
        self.plan(&middles, 1, &privacy)?;
        let unit = first.schema().privacy_unit();
        let mut encoders = encoders(&self.models)?;
        encoders[0] = encoders[0].clone().with_unit_of(first.schema())?;
        let rows = Joined::read(encoders, &source, (unit, self.holdout.clone()), &self.cancel)?;
        let records =
            data::number_of_records(&source, rows.count(), Some(privacy.adjacency()), self.records)?;
        privacy.check(records, privacy.adjacency())?;
        let plan = self.plan(&middles, records, &privacy)?;
        let of = self.whole_run(&data, &privacy, records)?;
        let charge = place.charge(&of, on_progress, self.cancel.clone())?;
        let unfinished = |error| place.unfinished(&charge, self.cancel.is_cancelled(), error);
        let evaluate = || -> Result<(Evaluated, Closed), Error> {
            let (noise, releases) = (NoiseSource::from_os()?, plan.releases()?);
            let wall = Wall::new(rows.records()?, noise, releases, &privacy, charge.ledger())?;
            let mut wall = wall.observed_by(charge.observer());
            let evaluated = plan.evaluate(&mut wall)?;
            Ok((evaluated, wall.close(0)))
        };
        let (evaluated, mut closed) = evaluate().map_err(unfinished)?;
        for model in &self.models {
            complete(&mut closed.receipt, model.schema());
        }
        closed.receipt.assumptions.extend(self.holdout.as_ref().map(|held| held.assumption(Part::HeldOut)));
        let evaluation = self.described(evaluated, plan.clip(), closed.receipt.clone());
        let mut bytes = serde_json::to_vec_pretty(&evaluation).map_err(|error| {
            unfinished(Error::data(format!("the evaluation cannot be written: {error}"), "check the models"))
        })?;
        bytes.push(b'\n');
        keep(out.as_deref(), &charge, &bytes, closed).map_err(unfinished)?;
        Ok(evaluation)
    }

    /// The plan. A model of a forged file may panic when it predicts.
    fn plan<'b>(
        &'b self,
        middles: &'b [Vec<f64>],
        records: usize,
        privacy: &Privacy,
    ) -> Result<EvaluationPlan<'b>, Error> {
        let judged = self.models.iter().zip(middles).map(|(model, middle)| Judged {
            posterior: model.posterior(),
            middle,
            unit: model.units().unit,
            bounded: is_bounded(model.schema()),
        });
        let judged = judged.collect();
        guarded(|| EvaluationPlan::new(judged, records, privacy))
            .ok_or_else(|| Error::data("a model cannot predict", "fit it again"))?
            .map_err(Error::from)
    }

    /// A data set that was added with a schema is evaluated with that schema alone.
    fn check_fingerprints(&self) -> Result<(), Error> {
        let Some((file, data_set)) = &self.ledger else { return Ok(()) };
        let ledger = Ledger::open_to_read(file)?;
        let mut prints = Vec::new();
        for model in &self.models {
            prints.push(session::fingerprint(&ledger, data_set, model.schema())?);
        }
        if prints.iter().all(|print| *print == prints[0]) {
            return Ok(());
        }
        let message =
            format!("data set {data_set:?} was added with a schema, and the models have several schemas");
        Err(Error::new(ErrorKind::Schema, message, "add the test records to the ledger without a schema"))
    }

    /// What is evaluated on what, how: a run that is resumed must be the same.
    fn whole_run(&self, data: &Data, privacy: &Privacy, records: usize) -> Result<Value, Error> {
        let models = self.models.iter().map(|model| model.digest()).collect::<Result<Vec<_>, _>>()?;
        let mut of = json!({
            "evaluated": models,
            "data": data.label(),
            "records": records,
            "asked": [privacy.epsilon(), privacy.delta()],
            "adjacency": privacy.adjacency().to_string(),
            "data_set": self.ledger.as_ref().map(|(_, data_set)| data_set),
        });
        if let Some(holdout) = &self.holdout {
            of["holdout"] = holdout.digest().into();
        }
        Ok(of)
    }

    fn described(&self, evaluated: Evaluated, clip: Option<f64>, receipt: Receipt) -> PrivateEvaluation {
        let target = self.models[0].schema().target();
        let classes = target.map(|target| target.levels()).filter(|_| clip.is_none());
        let mut notes = vec![
            "intervals are of 95 %, for the population that the test records are a sample of: they have the error of the sample and the \
             privacy noise"
                .to_owned(),
        ];
        match clip {
            Some(_) => notes.push(
                "errors are those of targets within their bounds, and are clipped at a public value: four predictive standard deviations in the \
                 middle of the inputs"
                    .to_owned(),
            ),
            None => notes.push(
                "scores are counted in 32 bins of the log odds from -8 to 8; log losses are those of probabilities within these".to_owned(),
            ),
        }
        PrivateEvaluation {
            notes,
            target: target.map_or_else(String::new, |target| target.name().to_owned()),
            unit: target.and_then(|target| target.unit()).map(str::to_owned),
            second_class: classes.and_then(|levels| levels.get(1).map(|level| (*level).to_owned())),
            clipped_at: clip,
            models: self.models.iter().map(|model| model.kind().name().to_owned()).collect(),
            evaluated,
            receipt,
        }
    }
}

/// Compares models with the same target on the same records.
///
/// # Privacy
/// **Not private**: exact statistics of these records, without noise; no receipt covers them.
///
/// # Errors
/// [`Error`] if the targets of the models differ, or the data set cannot be read or has no record with a target.
pub fn compare(models: &[&SavedModel], data: impl Into<Data>) -> Result<Compared, Error> {
    check_targets(models)?;
    let source = data.into().open(models[0].schema().layout())?;
    let encoders = encoders(models)?;
    let mut comparison = Comparison::new(models.len(), models[0].units().unit);
    let work = || {
        joined::pass(&encoders, &source, &mut |block, _| {
            let width: usize = encoders.iter().map(Encoder::width).sum();
            let complete = |row: &&[f64]| row.iter().all(|value| value.is_finite());
            let rows: Vec<&[f64]> = block.chunks_exact(width).filter(complete).collect();
            (rows.len()..block.len() / width).for_each(|_| comparison.leave_out());
            let mut at = 0;
            for (k, (model, encoder)) in models.iter().zip(&encoders).enumerate() {
                let features = encoder.feature_width();
                let inputs: Vec<f64> = rows.iter().flat_map(|row| &row[at..at + features]).copied().collect();
                let predicted = model.posterior().predict(&inputs, features, &QUANTILES);
                for (predicted, row) in predicted.iter().zip(&rows) {
                    let target = &row[at + features..at + encoder.width()];
                    comparison.add(k, predicted, target.first().copied().unwrap_or(0.0));
                }
                at += encoder.width();
            }
            ControlFlow::Continue(())
        })
    };
    guarded(work).ok_or_else(|| Error::data("a model cannot predict", "fit it again"))??;
    guarded(|| comparison.finish()).flatten().ok_or_else(|| {
        let message = format!("{}: there are no records to test on", data::files(&source));
        Error::data(message, "give a file with at least one record whose target is known")
    })
}

fn encoders(models: &[&SavedModel]) -> Result<Vec<Encoder>, Error> {
    models.iter().map(|model| Ok(Encoder::new(model.schema())?)).collect()
}

fn is_bounded(schema: &Schema) -> bool {
    let bounds = |kind: &Kind| matches!(kind, Kind::Numeric { scale: Scale::Bounds { .. }, .. });
    schema.target().is_some_and(|target| bounds(target.kind()))
}

/// Models can be compared if they predict the same: targets of the same name, kind, levels and bounds. Models without a target can if
/// they have the same schema.
fn check_targets(models: &[&SavedModel]) -> Result<(), Error> {
    let Some(first) = models.first() else {
        return Err(Error::settings("there is no model to evaluate", "name at least one"));
    };
    for model in models {
        let same = match (first.schema().target(), model.schema().target()) {
            (Some(a), Some(b)) => {
                let units = |model: &SavedModel| -> Option<Units> { model.schema().target_units() };
                let numeric = |kind: &Kind| matches!(kind, Kind::Numeric { .. });
                a.name() == b.name()
                    && numeric(a.kind()) == numeric(b.kind())
                    && a.levels() == b.levels()
                    && units(first) == units(model)
            }
            (None, None) => first.schema().fingerprint() == model.schema().fingerprint(),
            _ => false,
        };
        if !same {
            let hint = "compare models of the same target, with the same levels or bounds; without a target, of the same schema";
            return Err(Error::settings("the models have different targets", hint));
        }
    }
    Ok(())
}

/// Adds what the guarantee rests on beside the wall.
pub(crate) fn complete(receipt: &mut Receipt, schema: &Schema) {
    if !schema.is_stated() {
        receipt.assumptions.retain(|assumption| assumption != BOUNDS_WERE_STATED);
    }
    if let Some(unit) = schema.privacy_unit() {
        receipt.protects(unit.column());
    }
    let rules = [schema.unit_rules(), schema.assumptions(), schema.value_rules()];
    for assumption in rules.into_iter().flatten() {
        if !receipt.assumptions.contains(&assumption) {
            receipt.assumptions.push(assumption);
        }
    }
}

impl SavedModel {
    /// Identifies the model: the SHA-256 of its header and arrays.
    fn digest(&self) -> Result<String, Error> {
        let saved = self.posterior().save()?;
        let mut bytes = serde_json::to_vec(&(self.header(), &saved.state)).unwrap_or_default();
        for (name, (shape, values)) in &saved.arrays {
            bytes.extend(name.bytes());
            bytes.extend(shape.iter().flat_map(|size| (*size as u64).to_le_bytes()));
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        Ok(journal::hex(&journal::sha256(&bytes)))
    }
}
