//! Fits through the library, with what the wall released.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::model::{ModelError, Planned, Posterior, model};
use reticent_core::observer::{Observer, ObserverError, Step};
use reticent_core::receipt::{Entry, Kind, Receipt};
use reticent_core::wall::{Geometry, NoiseSource, Records, Sampler, Wall};
use reticent_tables::{Encoder, Schema, Source};

use crate::case::Case;
use crate::failure::Failure;

/// Numbers of a posterior that are looked at.
const NUMBERS: usize = 48;

/// One release of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// What was released, as in the receipt.
    pub what: String,
    /// How many releases of this name were made before: a plan may have several groups of one name.
    pub earlier: u64,
    /// The noisy values.
    pub values: Vec<f64>,
}

/// What a fit ends with.
pub type Outcome = Result<(Box<dyn Posterior>, Receipt), ModelError>;

/// Ends a fit after the last release that is of interest.
struct Enough;

/// Keeps what is released.
struct Recorder {
    heard: Arc<Mutex<Vec<Heard>>>,
    most: usize,
}

impl Observer for Recorder {
    fn on_release(&mut self, step: Step<'_>, values: &[f64]) -> Result<(), ObserverError> {
        let enough = {
            let mut heard = self.heard.lock().expect("no other thread");
            let earlier = heard.iter().filter(|heard| heard.what == step.what).count() as u64;
            heard.push(Heard { what: step.what.to_owned(), earlier, values: values.to_vec() });
            heard.len() >= self.most
        };
        if enough {
            // What follows is post-processing, or releases that are of no interest. Nothing is printed.
            resume_unwind(Box::new(Enough));
        }
        Ok(())
    }
}

/// Rows of a file of these lines, by the code that reads files.
///
/// # Errors
/// [`Failure`] if the file cannot be written or read.
pub fn encode(case: &Case, lines: &[String]) -> Result<Vec<f64>, Failure> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("data.csv");
    std::fs::write(&file, case.file(lines))?;
    let schema = Schema::parse(&case.schema)?;
    Ok(Encoder::new(&schema)?.read(&Source::open(&file)?)?.into_values())
}

/// A planned fit, to be made many times.
pub struct Mechanism {
    planned: Box<dyn Planned>,
    privacy: Privacy,
    private: bool,
    width: usize,
}

/// How a fit ended.
pub struct Ended {
    /// What was released until then.
    pub heard: Vec<Heard>,
    /// The model and the receipt, if the fit was not stopped after a release.
    pub result: Option<Outcome>,
}

impl Mechanism {
    /// Plans a fit for this public number of records.
    ///
    /// # Errors
    /// [`Failure`] if there is no such plan.
    pub fn new(case: &Case, records: usize, privacy: Privacy) -> Result<Self, Failure> {
        let facts = case.facts(records);
        let planned = model(case.model)?.plan(&facts, Some(&privacy))?;
        Ok(Self { planned, privacy, private: true, width: facts.width() })
    }

    /// **Not private.** The same claim for a fit without noise: what an audit must catch.
    ///
    /// # Errors
    /// [`Failure`] if there is no such plan.
    pub fn without_noise(case: &Case, records: usize, privacy: Privacy) -> Result<Self, Failure> {
        let facts = case.facts(records);
        let planned = model(case.model)?.plan(&facts, None)?;
        Ok(Self { planned, privacy, private: false, width: facts.width() })
    }

    /// Which data sets are neighbours.
    #[must_use]
    pub fn adjacency(&self) -> Adjacency {
        self.privacy.adjacency()
    }

    fn run(&self, rows: &[f64], source: NoiseSource, most: usize) -> Result<Ended, Failure> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let observer = Box::new(Recorder { heard: Arc::clone(&heard), most });
        let records = Records::new(rows.to_vec(), self.width).map_err(ModelError::from)?;
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
            Err(cause) if cause.is::<Enough>() => None,
            Err(cause) => resume_unwind(cause),
        };
        let heard = std::mem::take(&mut *heard.lock().expect("the fit is over"));
        Ok(Ended { heard, result })
    }

    /// Fits, with noise from the operating system, until so many releases have been made.
    ///
    /// # Errors
    /// [`Failure`] if rows are not those of the plan, or there is no entropy.
    pub fn play(&self, rows: &[f64], most: usize) -> Result<Ended, Failure> {
        self.run(rows, NoiseSource::from_os().map_err(Failure::from_error)?, most)
    }

    /// **Not private.** The same with a fixed seed: neighbours have the same noise, and releases differ by what the records differ.
    ///
    /// # Errors
    /// [`Failure`] if rows are not those of the plan.
    pub fn rehearse(&self, rows: &[f64], most: usize, seed: u64) -> Result<Vec<Heard>, Failure> {
        Ok(self.rehearsed(rows, most, seed)?.heard)
    }

    /// **Not private.** The same with how the fit ended.
    ///
    /// # Errors
    /// [`Failure`] if rows are not those of the plan.
    pub fn rehearsed(&self, rows: &[f64], most: usize, seed: u64) -> Result<Ended, Failure> {
        self.run(rows, NoiseSource::insecure_from_seed(seed), most)
    }

    /// The receipt of a whole fit: what is claimed.
    ///
    /// # Errors
    /// [`Failure`] if this fit fails.
    pub fn receipt(&self, rows: &[f64]) -> Result<Receipt, Failure> {
        // A fit may fail by chance, if the noise leaves no density.
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
pub fn whole_mu(receipt: &Receipt) -> Option<f64> {
    let square = |entry: &Entry| Some(entry.planned as f64 * gaussian_multiplier(entry)?.powi(-2));
    receipt.groups.iter().map(square).sum::<Option<f64>>().map(f64::sqrt)
}

/// What a whole fit shows beside its releases: whether and how it failed, how often released values were moved, and numbers of the posterior.
#[must_use]
pub fn shown(result: Option<&Outcome>) -> Vec<f64> {
    match result {
        None => vec![0.0],
        Some(Err(error)) => vec![1.0 + code(&error.to_string())],
        Some(Ok((fitted, receipt))) => {
            let mut shown = vec![0.0, receipt.projections as f64, receipt.records as f64];
            if let Ok(saved) = fitted.save() {
                let numbers = saved.arrays.values().flat_map(|(_, values)| values);
                let count = saved.arrays.values().map(|(_, values)| values.len()).sum::<usize>();
                shown.extend([saved.arrays.len() as f64, count as f64]);
                shown.extend(numbers.take(NUMBERS));
            }
            shown
        }
    }
}

/// A number for a text: the same for the same text.
#[must_use]
pub fn code(text: &str) -> f64 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash >> 40) as f64
}
