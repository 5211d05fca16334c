//! Fits through the library, with a transcript of their releases.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::model::{ModelError, Planned, Posterior, model};
use reticent_core::observer::{Observer, ObserverError, Step};
use reticent_core::receipt::{Entry, Kind, Receipt};
use reticent_core::wall::{Geometry, NoiseSource, Records, Sampler, Wall};
use reticent_tables::{Encoder, Schema, Source, UnitRows};

use crate::case::Case;
use crate::failure::Failure;

/// Maximum of numbers of a posterior in an observation.
const NUMBERS: usize = 48;

/// One release of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Released {
    /// Name of the release, as in the receipt.
    pub what: String,
    /// Number of earlier releases of this name: a plan may have several groups of one name.
    pub earlier: u64,
    /// The noisy values.
    pub values: Vec<f64>,
}

/// Posterior and receipt of a fit, or its error.
pub type Outcome = Result<(Box<dyn Posterior>, Receipt), ModelError>;

/// Panic payload that ends a fit after the last release of interest.
struct StopFit;

/// Observer that records the releases.
struct Recorder {
    transcript: Arc<Mutex<Vec<Released>>>,
    max_releases: usize,
}

impl Observer for Recorder {
    fn on_release(&mut self, step: Step<'_>, values: &[f64]) -> Result<(), ObserverError> {
        let enough = {
            let mut transcript = self.transcript.lock().expect("no other thread");
            let earlier = transcript.iter().filter(|transcript| transcript.what == step.what).count() as u64;
            transcript.push(Released { what: step.what.to_owned(), earlier, values: values.to_vec() });
            transcript.len() >= self.max_releases
        };
        if enough {
            // The rest is post-processing, or releases of no interest. `resume_unwind` prints no message.
            resume_unwind(Box::new(StopFit));
        }
        Ok(())
    }
}

/// Encoded rows of a file.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// The rows, unit by unit.
    pub values: Vec<f64>,
    /// The number of rows of each privacy unit, and the rows that one counts as at least, unless each row is a unit.
    units: Option<(Vec<usize>, usize)>,
}

impl Encoded {
    /// Rows that are units of their own.
    #[must_use]
    pub fn rows(values: Vec<f64>) -> Self {
        Self { values, units: None }
    }

    fn records(&self, width: usize) -> Result<Records, Failure> {
        let values = self.values.clone();
        let records = match &self.units {
            None => Records::new(values, width),
            Some((rows, least)) => {
                Records::of_units(values, width, rows).map(|records| records.counting_at_least(*least))
            }
        };
        Ok(records.map_err(ModelError::from)?)
    }
}

/// Encoded rows of a file of these lines.
///
/// # Errors
/// [`Failure`] if the file cannot be written or read.
pub fn encode(case: &Case, lines: &[String]) -> Result<Encoded, Failure> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("data.csv");
    std::fs::write(&file, case.file(lines))?;
    let (schema, source) = (Schema::parse(&case.schema)?, Source::open(&file)?);
    let Some(unit) = schema.privacy_unit() else {
        return Ok(Encoded::rows(Encoder::new(&schema)?.read(&source)?.into_values()));
    };
    let least = unit.rows().unwrap_or(1);
    let units = UnitRows::read(&schema, &source, usize::MAX, &mut || false)?;
    let kept = units.and_then(|units| units.into_kept().ok());
    let (values, rows) = kept.ok_or_else(|| Failure::new("the rows are not in memory"))?;
    Ok(Encoded { values, units: Some((rows, least)) })
}

/// A planned fit, to be run many times.
pub struct Mechanism {
    planned: Box<dyn Planned>,
    privacy: Privacy,
    private: bool,
    width: usize,
}

/// The result of a fit.
pub struct FitResult {
    /// The releases made.
    pub transcript: Vec<Released>,
    /// The model and the receipt, if the fit was not stopped after a release.
    pub result: Option<Outcome>,
}

impl Mechanism {
    /// Plans a fit for this public number of records.
    ///
    /// # Errors
    /// [`Failure`] if there is no such plan.
    pub fn new(case: &Case, records: usize, privacy: Privacy) -> Result<Self, Failure> {
        let shape = case.shape(records);
        let planned = model(case.model)?.plan(&shape, Some(&privacy))?;
        Ok(Self { planned, privacy, private: true, width: shape.width() })
    }

    /// **Not private.** The same claim for a fit without noise, which an audit must refute.
    ///
    /// # Errors
    /// [`Failure`] if there is no such plan.
    pub fn without_noise(case: &Case, records: usize, privacy: Privacy) -> Result<Self, Failure> {
        let shape = case.shape(records);
        let planned = model(case.model)?.plan(&shape, None)?;
        Ok(Self { planned, privacy, private: false, width: shape.width() })
    }

    /// The adjacency of the claim.
    #[must_use]
    pub fn adjacency(&self) -> Adjacency {
        self.privacy.adjacency()
    }

    fn run(&self, rows: &Encoded, source: NoiseSource, max_releases: usize) -> Result<FitResult, Failure> {
        let transcript = Arc::new(Mutex::new(Vec::new()));
        let observer = Box::new(Recorder { transcript: Arc::clone(&transcript), max_releases });
        let records = rows.records(self.width)?;
        let privacy = self.private.then_some(&self.privacy);
        let fit = || {
            let plan = self.planned.releases()?;
            let wall = Wall::open(records, source, plan, privacy, Box::new(Unlimited))?;
            let mut wall = wall.observed_by(observer);
            let (fitted, projections) = self.planned.fit(&mut wall)?;
            Ok((fitted, wall.finish(projections)?))
        };
        let result = catch_unwind(AssertUnwindSafe(fit));
        let result = match result {
            Ok(result) => Some(result),
            Err(cause) if cause.is::<StopFit>() => None,
            Err(cause) => resume_unwind(cause),
        };
        let transcript = std::mem::take(&mut *transcript.lock().expect("the fit is over"));
        Ok(FitResult { transcript, result })
    }

    /// Fits with noise from the operating system, up to `max_releases`.
    ///
    /// # Errors
    /// [`Failure`] if rows are not those of the plan, or there is no entropy.
    pub fn play(&self, rows: &Encoded, max_releases: usize) -> Result<FitResult, Failure> {
        self.run(rows, NoiseSource::from_os().map_err(Failure::from_error)?, max_releases)
    }

    /// **Not private.** The releases of a fit with a fixed seed: neighbours have the same noise, so that only the effect of the records differs.
    ///
    /// # Errors
    /// [`Failure`] if rows are not those of the plan.
    pub fn releases_with_seed(
        &self,
        rows: &Encoded,
        max_releases: usize,
        seed: u64,
    ) -> Result<Vec<Released>, Failure> {
        Ok(self.run_with_seed(rows, max_releases, seed)?.transcript)
    }

    /// **Not private.** A fit with a fixed seed.
    ///
    /// # Errors
    /// [`Failure`] if rows are not those of the plan.
    pub fn run_with_seed(
        &self,
        rows: &Encoded,
        max_releases: usize,
        seed: u64,
    ) -> Result<FitResult, Failure> {
        self.run(rows, NoiseSource::insecure_from_seed(seed), max_releases)
    }

    /// The receipt of a complete fit, which has the claim.
    ///
    /// # Errors
    /// [`Failure`] if this fit fails.
    pub fn receipt(&self, rows: &Encoded) -> Result<Receipt, Failure> {
        // A fit may fail by chance, if noise makes the posterior improper.
        let mut last = None;
        for _ in 0..20 {
            match self.play(rows, usize::MAX)?.result {
                Some(Ok((_, receipt))) => return Ok(receipt),
                Some(Err(error)) => last = Some(error),
                None => {}
            }
        }
        Err(last.map_or_else(|| Failure::new("a fit has no result"), Failure::from))
    }
}

/// The noise multiplier of releases if their noise is Gaussian and all records take part: 1 over their parameter mu.
fn gaussian_multiplier(entry: &Entry) -> Option<f64> {
    match &entry.kind {
        Kind::Sum { geometry: Geometry::L1Ball { .. }, .. } => None,
        Kind::Sum { sampler: Sampler::Full, noise_multiplier, .. } => Some(*noise_multiplier),
        _ => None,
    }
}

/// The entry of a release of this name after so many earlier ones: groups of one name are released in the order of the receipt.
#[must_use]
pub fn entry<'a>(receipt: &'a Receipt, what: &str, earlier: u64) -> Option<&'a Entry> {
    let mut left = earlier;
    receipt.groups.iter().filter(|entry| entry.what == what).find(|entry| {
        let found = left < entry.planned;
        left = left.saturating_sub(entry.planned);
        found
    })
}

/// The squared parameter mu of one release.
#[must_use]
pub fn squared_mu(receipt: &Receipt, what: &str, earlier: u64) -> Option<f64> {
    Some(gaussian_multiplier(entry(receipt, what, earlier)?)?.powi(-2))
}

/// The parameter mu of all releases together, if all are Gaussian and of all records: the root of the sum of squares.
#[must_use]
pub fn total_mu(receipt: &Receipt) -> Option<f64> {
    let square = |entry: &Entry| Some(entry.planned as f64 * gaussian_multiplier(entry)?.powi(-2));
    receipt.groups.iter().map(square).sum::<Option<f64>>().map(f64::sqrt)
}

/// The visible result of a complete fit beside its releases: error, number of projections, and numbers of the posterior.
#[must_use]
pub fn visible_result(result: Option<&Outcome>) -> Vec<f64> {
    match result {
        None => vec![0.0],
        Some(Err(error)) => vec![1.0 + code(&error.to_string())],
        Some(Ok((fitted, receipt))) => {
            let mut visible_result = vec![0.0, receipt.projections as f64, receipt.records as f64];
            if let Ok(saved) = fitted.save() {
                let numbers = saved.arrays.values().flat_map(|(_, values)| values);
                let count = saved.arrays.values().map(|(_, values)| values.len()).sum::<usize>();
                visible_result.extend([saved.arrays.len() as f64, count as f64]);
                visible_result.extend(numbers.take(NUMBERS));
            }
            visible_result
        }
    }
}

/// A hash of a text.
#[must_use]
pub fn code(text: &str) -> f64 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash >> 40) as f64
}
