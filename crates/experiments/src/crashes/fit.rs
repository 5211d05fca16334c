//! One fit, scored on the held-out cells.

use super::{Crashes, Job, Method};
use crate::error::ExperimentError;
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::model::hmm::{
    Coded, Coding, Counts, Evidence, ExponentialGibbs, Gibbs, HeldOut, Hmm, HmmPlan, HmmPosterior, Layout,
    Mechanism, NoiseTreatment, Sampling,
};
use reticent_core::observer::Unobserved;
use reticent_core::wall::{NoiseSource, Records, WallError};
use serde::{Deserialize, Serialize};

/// Passes of the sampler that charges every update: half of those of the paper, chosen by scores of held-out cells.
pub(super) const PASSES: u64 = 100;
/// About how many records there are: a public guess.
const RECORDS: usize = 90_000;

/// Scores of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The log-likelihood of held-out events, in nats for each event.
    pub log_likelihood: f64,
    /// The noise that the planner chose, of fits that release counts.
    pub mechanism: Option<Mechanism>,
}

fn privacy(epsilon: f64, delta: f64) -> Result<Privacy, ExperimentError> {
    Ok(Privacy::new(epsilon, delta, Adjacency::AddRemove)?)
}

/// Counts with the noise that the wall adds for this budget.
///
/// The data are public, and noise does not depend on records. So it is taken from a wall around none, and added to the counts: the law is the
/// same, and a hundred thousand records need not be visited again for each of hundreds of fits.
pub(super) fn noisy(
    coding: &Coding,
    layout: &Layout,
    values: &[f64],
    privacy: &Privacy,
) -> Result<(Counts, Mechanism), ExperimentError> {
    let plan = HmmPlan::new(coding.clone(), 1, RECORDS, privacy)?;
    let none = Records::new(Vec::new(), coding.width())?;
    let source = NoiseSource::from_os().map_err(WallError::from)?;
    let (noise, _) = plan.counts(none, source, Some(privacy), Box::new(Unlimited))?;
    let sums = values.iter().zip(noise.values()).map(|(count, noise)| count + noise).collect();
    Ok((Counts::new(layout, sums, noise.noise())?, plan.mechanism))
}

/// Fits the cells that the job's split leaves, and scores those that it does not.
///
/// # Errors
/// [`ExperimentError`] if there is no such fit.
pub fn evaluate(crashes: &Crashes, job: &Job) -> Result<Figures, ExperimentError> {
    let observed = crashes.split(job.split);
    let cells = || observed.iter().enumerate().filter(|(_, observed)| !**observed);
    let events: f64 = cells().map(|(cell, _)| crashes.events(cell)).sum();
    let held_out = HeldOut::new(&crashes.counts, &observed);
    let budget = job.epsilon.map(|epsilon| privacy(epsilon, job.delta)).transpose()?;
    let (scored, mechanism) = match (job.method, budget) {
        (Method::NaiveBayes, budget) => naive_bayes(crashes, &observed, budget.as_ref(), job, held_out)?,
        (Method::Exponential, Some(privacy)) => {
            (exponential(crashes, &observed, &privacy, job, held_out)?, None)
        }
        (Method::Exponential, None) => return Err(ExperimentError::Budget),
        (method, budget) => {
            let posterior =
                if method == Method::Naive { NoiseTreatment::Naive } else { NoiseTreatment::NoiseAware };
            let (counts, mechanism) = match &budget {
                Some(privacy) => {
                    let values = crashes.counts.values();
                    let (counts, mechanism) = noisy(&crashes.coding, &crashes.layout, values, privacy)?;
                    (counts, Some(mechanism))
                }
                None => (crashes.counts.clone(), None),
            };
            let model = Hmm::new(crashes.layout.clone(), job.states)?;
            let evidence = Evidence::new(&model, &counts.only(observed.clone())?, posterior)?;
            (sampling(job).held_out(&evidence, held_out), mechanism)
        }
    };
    Ok(Figures { log_likelihood: scored.log_likelihood() / events, mechanism })
}

fn sampling(job: &Job) -> Sampling {
    let Job { chains, iterations, .. } = *job;
    Sampling { chains, iterations, burn_in: iterations / 2, seed: 1000 * job.split as u64 }
}

/// One state needs no regions and months: its counts are those of all cells together, and noise is added to these.
fn naive_bayes<'a>(
    crashes: &Crashes,
    observed: &[bool],
    budget: Option<&Privacy>,
    job: &Job,
    mut held_out: HeldOut<'a>,
) -> Result<(HeldOut<'a>, Option<Mechanism>), ExperimentError> {
    let width = crashes.layout.categories();
    let mut sums = vec![0.0; width];
    for (counts, _) in crashes.counts.values().chunks(width).zip(observed).filter(|(_, observed)| **observed)
    {
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let layout = Layout { regions: 1, steps: 1, fields: crashes.layout.fields.clone() };
    let levels = [1, 1].into_iter().chain(layout.fields.iter().copied());
    let columns = levels.map(|levels| Coded { inputs: 1, levels }).collect();
    let coding = Coding { columns, region: 0, time: 1 };
    let (counts, mechanism) = match budget {
        Some(privacy) => {
            let (counts, mechanism) = noisy(&coding, &layout, &sums, privacy)?;
            (counts, Some(mechanism))
        }
        None => (Counts::new(&layout, sums, None)?, None),
    };
    let evidence = Evidence::new(&Hmm::new(layout, 1)?, &counts, NoiseTreatment::NoiseAware)?;
    let mut gibbs = Gibbs::new(&evidence, job.split as u64);
    for _ in 0..job.iterations {
        gibbs.step();
        held_out.add(gibbs.theta(), |_, weights| weights.push(1.0));
    }
    Ok((held_out, mechanism))
}

fn exponential<'a>(
    crashes: &Crashes,
    observed: &[bool],
    privacy: &Privacy,
    job: &Job,
    mut held_out: HeldOut<'a>,
) -> Result<HeldOut<'a>, ExperimentError> {
    let (layout, coding) = (&crashes.layout, &crashes.coding);
    let rows = crashes.rows.chunks(coding.width());
    let kept = rows.filter(|row| coding.cell(layout, row).is_some_and(|cell| observed[cell]));
    let rows: Vec<f64> = kept.flatten().copied().collect();
    let model = Hmm::new(layout.clone(), job.states)?;
    let gibbs = ExponentialGibbs::new(model, coding.clone(), job.passes, RECORDS, privacy)?;
    gibbs.sample(&rows, job.split as u64, privacy, (Box::new(Unlimited), Box::new(Unobserved)), |pass| {
        if pass.number >= job.passes / 2 {
            let theta = pass.theta;
            held_out.add(theta, |cell, weights| pass.predictive(cell, weights));
        }
    })?;
    Ok(held_out)
}

/// A few states of all cells, for pictures: by noisy counts.
///
/// # Errors
/// [`ExperimentError`] if there is no such fit.
pub fn posterior(
    crashes: &Crashes,
    states: usize,
    epsilon: f64,
    delta: f64,
) -> Result<HmmPosterior, ExperimentError> {
    let values = crashes.counts.values();
    let (counts, _) = noisy(&crashes.coding, &crashes.layout, values, &privacy(epsilon, delta)?)?;
    let model = Hmm::new(crashes.layout.clone(), states)?;
    Ok(Sampling::default().run(&Evidence::new(&model, &counts, NoiseTreatment::NoiseAware)?))
}

/// The same by the sampler that charges every update: the most frequent state of each cell in the second half of the passes, and the last.
///
/// # Errors
/// [`ExperimentError`] if there is no such fit.
pub fn paid_assignments(
    crashes: &Crashes,
    states: usize,
    epsilon: f64,
    delta: f64,
) -> Result<[Vec<usize>; 2], ExperimentError> {
    let model = Hmm::new(crashes.layout.clone(), states)?;
    let privacy = privacy(epsilon, delta)?;
    let gibbs = ExponentialGibbs::new(model, crashes.coding.clone(), PASSES, RECORDS, &privacy)?;
    let mut times = vec![vec![0u32; states]; crashes.layout.cells()];
    let mut last = Vec::new();
    gibbs.sample(&crashes.rows, 1, &privacy, (Box::new(Unlimited), Box::new(Unobserved)), |pass| {
        last = pass.assignments.to_vec();
        if pass.number >= PASSES / 2 {
            times.iter_mut().zip(&last).for_each(|(times, &state)| times[state] += 1);
        }
    })?;
    let max = |times: &Vec<u32>| (0..states).fold(0, |best, k| if times[k] > times[best] { k } else { best });
    Ok([times.iter().map(max).collect(), last])
}
