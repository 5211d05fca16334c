//! Figures of accuracy from the noisy sums of a private evaluation.
//!
//! Everything here is post-processing. Estimates are ratios of noisy sums without shrinkage, so that they have no bias beyond that of
//! a ratio. Intervals are quantiles of draws: the noise again on top of the noisy sums, and the variation of a sample of so many records.

use crate::evaluation::query::{
    BIN_WIDTH, BINS, Layout, Losses, MINOR, RINGS, log_loss, max_log_loss, middle_of,
};
use crate::math::vector::sigmoid;
use crate::wall::Query as _;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use serde::{Deserialize, Serialize};

/// Number of draws behind an interval.
const DRAWS: usize = 2000;
/// A count that others are divided by must be this many standard deviations of its noise above 0.
const MIN_SDS: f64 = 4.0;
/// Bins are joined to a point of a calibration curve until their count is this many standard deviations of its noise.
const POINT_SDS: f64 = 10.0;
/// Records of one class and predicted class are in half of the bins.
const HALF: usize = BINS / 2;

/// A figure with its 95 % interval for the population that the test records are a sample of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of the figure.
    pub name: String,
    /// The estimate; `None` if too few records are distinguishable from noise.
    pub value: Option<f64>,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Standard deviation that is due to the sample of test records.
    pub records_sd: f64,
    /// Standard deviation that is due to the privacy noise.
    pub privacy_sd: f64,
}

/// A point of a calibration curve: records of adjacent bins of the predicted probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPoint {
    /// The predicted probability of the second class: that in the middle of the bins, weighted by their counts.
    pub predicted: f64,
    /// The frequency of the second class, with its interval.
    pub observed: Figure,
    /// Estimated number of records.
    pub count: f64,
}

/// The figures of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluatedModel {
    /// Figures; errors of numbers are in the unit of the column.
    pub figures: Vec<Figure>,
    /// Each figure less that of the first model; empty for the first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub differences: Vec<Figure>,
    /// The calibration curve of two classes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub calibration: Vec<CalibrationPoint>,
}

/// A private evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluated {
    /// Estimated number of records with a target. Its interval has the noise alone.
    pub records: Figure,
    /// The models, in the order that they were given in.
    pub models: Vec<EvaluatedModel>,
}

impl Figure {
    /// The figure of pairs of draws, with noise alone and with noise and sample.
    fn new(name: &str, value: f64, range: (f64, f64), draws: &[(f64, f64)]) -> Self {
        let sd = |of: &dyn Fn(&(f64, f64)) -> f64| {
            let mean = draws.iter().map(of).sum::<f64>() / draws.len() as f64;
            (draws.iter().map(|draw| (of(draw) - mean).powi(2)).sum::<f64>() / draws.len() as f64).sqrt()
        };
        let (privacy_sd, total) = (sd(&|draw| draw.0), sd(&|draw| draw.1));
        let mut sorted: Vec<f64> = draws.iter().map(|draw| draw.1).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |p: f64| sorted[((sorted.len() - 1) as f64 * p).round() as usize];
        Self {
            name: name.to_owned(),
            value: Some(value.clamp(range.0, range.1)),
            lower: at(0.025).clamp(range.0, range.1),
            upper: at(0.975).clamp(range.0, range.1),
            records_sd: (total * total - privacy_sd * privacy_sd).max(0.0).sqrt(),
            privacy_sd,
        }
    }

    /// A figure that the noise leaves unknown within its range.
    fn unknown(name: &str, (lower, upper): (f64, f64)) -> Self {
        Self { name: name.to_owned(), value: None, lower, upper, records_sd: 0.0, privacy_sd: upper - lower }
    }

    /// Moves both ends of the interval outwards.
    fn widened(mut self, by: f64, (lower, upper): (f64, f64)) -> Self {
        self.lower = (self.lower - by).max(lower);
        self.upper = (self.upper + by).min(upper);
        self
    }
}

/// Standard normal draws from a public seed: all of this is post-processing.
struct Normals(ChaCha8Rng);

impl Normals {
    fn draw(&mut self, sd: f64) -> f64 {
        let normal: f64 = StandardNormal.sample(&mut self.0);
        sd * normal
    }
}

/// All figures of a release whose coordinates have noise of this standard deviation.
pub(super) fn evaluated(layout: &Layout<'_>, sums: &[f64], noise_sd: f64) -> Evaluated {
    debug_assert_eq!(sums.len(), layout.width());
    let mut normals = Normals(ChaCha8Rng::seed_from_u64(19));
    let (own, pairs) = sums.split_at(layout.models.len() * layout.model_width());
    let own = own.chunks_exact(layout.model_width());
    let pairs = pairs.chunks_exact(layout.pair_width());
    match layout.losses {
        Losses::Number { clip } => {
            let clip = clip * layout.unit();
            let models = own.map(|sums| Numbers::new(sums, noise_sd, clip, &mut normals)).collect::<Vec<_>>();
            let records = records(models.iter().map(|model| (model.count, model.count_sd)));
            let differences =
                models.iter().skip(1).zip(pairs).map(|(model, pair)| {
                    model.less(&models[0], pair[0] / MINOR, noise_sd / MINOR, &mut normals)
                });
            let differences = std::iter::once(Vec::new()).chain(differences).collect::<Vec<_>>();
            let models = models.iter().zip(differences).map(|(model, differences)| EvaluatedModel {
                figures: model.figures.clone(),
                differences,
                calibration: Vec::new(),
            });
            Evaluated { records, models: models.collect() }
        }
        Losses::Classes => {
            let models = own.map(|sums| Classes::new(sums, noise_sd, &mut normals)).collect::<Vec<_>>();
            let records = records(models.iter().map(|model| (model.count, model.count_sd)));
            let differences = models
                .iter()
                .skip(1)
                .zip(pairs)
                .map(|(model, pair)| model.less(&models[0], pair, noise_sd, &mut normals));
            let differences = std::iter::once(Vec::new()).chain(differences).collect::<Vec<_>>();
            let models = models.iter().zip(differences).map(|(model, differences)| EvaluatedModel {
                figures: model.figures.clone(),
                differences,
                calibration: model.calibration.clone(),
            });
            Evaluated { records, models: models.collect() }
        }
    }
}

/// The number of records: the mean of equally noisy estimates.
fn records(estimates: impl ExactSizeIterator<Item = (f64, f64)>) -> Figure {
    let models = estimates.len() as f64;
    let (mut count, mut sd) = (0.0, 0.0);
    estimates.for_each(|(one, of)| {
        count += one / models;
        sd = of / models.sqrt();
    });
    Figure {
        name: "test records".into(),
        value: Some(count.max(0.0)),
        lower: (count - 1.96 * sd).max(0.0),
        upper: (count + 1.96 * sd).max(0.0),
        records_sd: 0.0,
        privacy_sd: sd,
    }
}

/// The estimates of a model for a numeric target.
struct Numbers {
    /// In the unit of the column.
    clip: f64,
    count: f64,
    count_sd: f64,
    /// Mean of the clipped squared errors over the squared clip, and its draws with noise alone.
    mean: f64,
    mean_draws: Vec<f64>,
    usable: bool,
    figures: Vec<Figure>,
}

impl Numbers {
    fn new(sums: &[f64], noise_sd: f64, clip: f64, normals: &mut Normals) -> Self {
        let minor_sd = noise_sd / MINOR;
        let rings: Vec<f64> = sums[..RINGS].iter().map(|sum| sum / MINOR).collect();
        let (total, squares) = (sums[RINGS], sums[RINGS + 1] / MINOR);
        let (count, count_sd) = (rings.iter().sum::<f64>(), minor_sd * (RINGS as f64).sqrt());
        let mean = total / count;
        let usable = count > MIN_SDS * count_sd;
        let mut model =
            Self { clip, count, count_sd, mean, mean_draws: Vec::new(), usable, figures: Vec::new() };
        let names = ["inside the 50 % interval", "inside the 80 % interval", "inside the 95 % interval"];
        if !usable {
            model.figures.push(Figure::unknown(RMSE, (0.0, clip)));
            model.figures.extend(names.map(|name| Figure::unknown(name, (0.0, 1.0))));
            model.figures.push(Figure::unknown(CLIPPED, (0.0, 1.0)));
            return model;
        }
        let rmse = |mean: f64| clip * mean.max(0.0).sqrt();
        let (mut errors, mut shares, mut clipped) = (Vec::new(), vec![Vec::new(); 3], Vec::new());
        for _ in 0..DRAWS {
            let noisy: Vec<f64> = rings.iter().map(|ring| ring + normals.draw(minor_sd)).collect();
            let n = noisy.iter().sum::<f64>().max(1.0);
            let mean = (total + normals.draw(noise_sd)) / n;
            let square = (squares + normals.draw(minor_sd)) / n;
            // A number between 0 and 1 has no larger variance.
            let variance = (square - mean * mean).clamp(0.0, (mean * (1.0 - mean)).max(0.0));
            model.mean_draws.push(mean);
            errors.push((rmse(mean), rmse(mean + normals.draw((variance / n).sqrt()))));
            let sampled: Vec<f64> =
                noisy.iter().map(|ring| ring + normals.draw(ring.max(0.0).sqrt())).collect();
            let all = sampled.iter().sum::<f64>().max(1.0);
            for (k, share) in shares.iter_mut().enumerate() {
                let inside = |rings: &[f64]| rings[..=k].iter().sum::<f64>();
                share.push((inside(&noisy) / n, inside(&sampled) / all));
            }
            clipped.push((noisy[RINGS - 1] / n, sampled[RINGS - 1] / all));
        }
        model.figures.push(Figure::new(RMSE, rmse(mean), (0.0, clip), &errors));
        for (k, (name, draws)) in names.iter().zip(&shares).enumerate() {
            let share = rings[..=k].iter().sum::<f64>() / count;
            model.figures.push(Figure::new(name, share, (0.0, 1.0), draws));
        }
        model.figures.push(Figure::new(CLIPPED, rings[RINGS - 1] / count, (0.0, 1.0), &clipped));
        model
    }

    /// The difference of the root mean squared errors, from the sum of the squared differences of the records.
    /// $\sqrt b - \sqrt a = (b - a)/(\sqrt a + \sqrt b)$, so that its variation is that of the paired difference $b - a$.
    fn less(&self, first: &Self, squares: f64, squares_sd: f64, normals: &mut Normals) -> Vec<Figure> {
        let range = (-self.clip, self.clip);
        let roots = self.mean.max(0.0).sqrt() + first.mean.max(0.0).sqrt();
        if !(self.usable && first.usable && roots > 0.0) {
            return vec![Figure::unknown(RMSE, range)];
        }
        let draws: Vec<(f64, f64)> = self
            .mean_draws
            .iter()
            .zip(&first.mean_draws)
            .map(|(mean, reference)| {
                let gap = mean - reference;
                let square = (squares + normals.draw(squares_sd)) / self.count;
                let variance = (square - gap * gap).clamp(0.0, 1.0);
                let scale = self.clip / roots;
                (scale * gap, scale * (gap + normals.draw((variance / self.count).sqrt())))
            })
            .collect();
        vec![Figure::new(RMSE, self.clip * (self.mean - first.mean) / roots, range, &draws)]
    }
}

const RMSE: &str = "root mean squared error";
const CLIPPED: &str = "clipped errors outside the 95 % interval";
const ACCURACY: &str = "accuracy";
const AUC: &str = "area under the ROC curve";
const LOG_LOSS: &str = "log loss";

/// The estimates of a model for two classes.
struct Classes {
    count: f64,
    count_sd: f64,
    usable: bool,
    log_loss: f64,
    log_loss_draws: Vec<f64>,
    auc: f64,
    auc_draws: Vec<f64>,
    auc_records_sd: f64,
    figures: Vec<Figure>,
    calibration: Vec<CalibrationPoint>,
}

/// Estimated counts of the bins of both classes, the first class first.
type Cells = [f64];

/// The count of a class.
fn class_count(cells: &Cells, class: usize) -> f64 {
    cells[class * BINS..(class + 1) * BINS].iter().sum()
}

/// The area under the ROC curve, and the part of it that is a correction for ties.
///
/// Pairs in one bin are tied. If the model is calibrated, the density ratio of the classes grows by $e^x$ within a bin of width $w$,
/// and of its pairs $1/2 + w/12$ are in order, to second order in $w$.
fn auc(cells: &Cells) -> (f64, f64) {
    let (firsts, seconds) = cells.split_at(BINS);
    let (mut below, mut pairs, mut ties) = (0.0, 0.0, 0.0);
    for (first, second) in firsts.iter().zip(seconds) {
        pairs += second * (below + 0.5 * first);
        ties += first * second;
        below += first;
    }
    let all = (class_count(cells, 0) * class_count(cells, 1)).max(1.0);
    let correction = (ties * BIN_WIDTH / 12.0 / all).max(0.0);
    (pairs / all + correction, correction)
}

/// The share of records whose predicted class is right.
fn accuracy(cells: &Cells) -> f64 {
    let right = cells[..HALF].iter().sum::<f64>() + cells[BINS + HALF..].iter().sum::<f64>();
    right / cells.iter().sum::<f64>().max(1.0)
}

/// Least squares for the counts of bins, whose sums over each class and half were measured too. The noise of a sum has variance
/// $s^2/f^2$ for its scale $f$, that of the $m$ bins of it $s^2$ each: each bin gets a share $1/(m + 1/f^2)$ of the gap between both, and
/// the covariance of the bins becomes $s^2(I - 11^T/(m + 1/f^2))$.
fn adjusted(bins: &[f64], confusions: &[f64]) -> Vec<f64> {
    let share = 1.0 / (HALF as f64 + 1.0 / (MINOR * MINOR));
    let halves = bins.chunks_exact(HALF).zip(confusions);
    halves
        .flat_map(|(bins, sum)| {
            let gap = share * (sum / MINOR - bins.iter().sum::<f64>());
            bins.iter().map(move |bin| bin + gap)
        })
        .collect()
}

/// Noise with the covariance that remains after [`adjusted`].
fn adjusted_noise(noise_sd: f64, normals: &mut Normals) -> Vec<f64> {
    let (m, share) = (HALF as f64, 1.0 / (HALF as f64 + 1.0 / (MINOR * MINOR)));
    // (I - k 11')^2 = I - share 11'
    let k = (1.0 - (1.0 - m * share).sqrt()) / m;
    let mut noise: Vec<f64> = (0..2 * BINS).map(|_| normals.draw(noise_sd)).collect();
    for half in noise.chunks_exact_mut(HALF) {
        let common = k * half.iter().sum::<f64>();
        half.iter_mut().for_each(|noise| *noise -= common);
    }
    noise
}

impl Classes {
    fn new(sums: &[f64], noise_sd: f64, normals: &mut Normals) -> Self {
        let minor_sd = noise_sd / MINOR;
        let cells = adjusted(&sums[..2 * BINS], &sums[2 * BINS..2 * BINS + 4]);
        let total = sums[2 * BINS + 4] / MINOR * max_log_loss();
        let total_sd = minor_sd * max_log_loss();
        // The variance of the sum of m bins after the adjustment, for each class and half.
        let (m, v) = (HALF as f64, 1.0 / (MINOR * MINOR));
        let half_sd = noise_sd * (m * v / (m + v)).sqrt();
        let (count, count_sd) = (cells.iter().sum::<f64>(), 2.0 * half_sd);
        let usable = count > MIN_SDS * count_sd;
        let both = (0..2).all(|class| class_count(&cells, class) > MIN_SDS * 2f64.sqrt() * half_sd);
        let log_loss = total / count;
        let mut model = Self {
            count,
            count_sd,
            usable,
            log_loss,
            log_loss_draws: Vec::new(),
            auc: 0.5,
            auc_draws: Vec::new(),
            auc_records_sd: 0.5,
            figures: Vec::new(),
            calibration: Vec::new(),
        };
        let share = (0.0, 1.0);
        if !usable {
            model.figures = [ACCURACY, AUC, SECOND].map(|name| Figure::unknown(name, share)).to_vec();
            model.figures.push(Figure::unknown(LOG_LOSS, (0.0, max_log_loss())));
            return model;
        }
        // The mean square of log losses needs one digit: that of the middles of the bins.
        let square = |k: usize| self::log_loss(middle_of(k % BINS), k >= BINS).powi(2);
        let squares = cells.iter().enumerate().map(|(k, cell)| cell * square(k)).sum::<f64>() / count;
        let variance = (squares - log_loss * log_loss).clamp(0.0, max_log_loss() * max_log_loss());
        let (mut right, mut area, mut seconds, mut losses) = (vec![], vec![], vec![], vec![]);
        let points = points(&cells, noise_sd);
        let mut observed = vec![Vec::new(); points.len()];
        for _ in 0..DRAWS {
            let noise = adjusted_noise(noise_sd, normals);
            let noisy: Vec<f64> = cells.iter().zip(&noise).map(|(cell, noise)| cell + noise).collect();
            // A sample of independent records has Poisson counts, given their number after division by it.
            let sample = |normals: &mut Normals, cell: f64| cell + normals.draw(cell.max(0.0).sqrt());
            let sampled: Vec<f64> = noisy.iter().map(|cell| sample(normals, *cell)).collect();
            let n = noisy.iter().sum::<f64>().max(1.0);
            right.push((accuracy(&noisy), accuracy(&sampled)));
            area.push((auc(&noisy).0, auc(&sampled).0));
            let rate = |cells: &[f64]| class_count(cells, 1) / cells.iter().sum::<f64>().max(1.0);
            seconds.push((rate(&noisy), rate(&sampled)));
            let loss = (total + normals.draw(total_sd)) / n;
            model.log_loss_draws.push(loss);
            losses.push((loss, loss + normals.draw((variance / n).sqrt())));
            for (bins, observed) in points.iter().zip(&mut observed) {
                observed.push((frequency(&noisy, bins), frequency(&sampled, bins)));
            }
        }
        model.auc_draws = area.iter().map(|(noisy, _)| *noisy).collect();
        let (value, correction) = auc(&cells);
        let area = if both {
            // Between no order within bins and twice the order of a calibrated model.
            Figure::new(AUC, value, share, &area).widened(correction, share)
        } else {
            Figure::unknown(AUC, share)
        };
        (model.auc, model.auc_records_sd) = (value, area.records_sd + correction);
        let rate = class_count(&cells, 1) / count;
        model.figures = vec![
            Figure::new(ACCURACY, accuracy(&cells), share, &right),
            area,
            Figure::new(LOG_LOSS, log_loss, (0.0, max_log_loss()), &losses),
            Figure::new(SECOND, rate, share, &seconds),
        ];
        let curve = points.iter().zip(&observed).map(|(bins, draws)| CalibrationPoint {
            predicted: predicted(&cells, bins),
            observed: Figure::new("observed frequency", frequency(&cells, bins), share, draws),
            count: both_classes(&cells, bins),
        });
        model.calibration = curve.collect();
        model
    }

    /// Differences of accuracy and log loss from paired records. The areas are not paired in the release, so that the standard deviation of
    /// their difference is bounded by the sum of both.
    fn less(&self, first: &Self, pair: &[f64], noise_sd: f64, normals: &mut Normals) -> Vec<Figure> {
        let (minor_sd, largest) = (noise_sd / MINOR, max_log_loss());
        let (share, losses) = ((-1.0, 1.0), (-largest, largest));
        if !(self.usable && first.usable) {
            let names = [ACCURACY, AUC].map(|name| Figure::unknown(name, share));
            return names.into_iter().chain([Figure::unknown(LOG_LOSS, losses)]).collect();
        }
        let n = self.count;
        let [squares, only_first, only_this] = [pair[0] / MINOR, pair[1] / MINOR, pair[2] / MINOR];
        let (mut right, mut area, mut loss) = (vec![], vec![], vec![]);
        let areas_sd = self.auc_records_sd + first.auc_records_sd;
        for k in 0..DRAWS {
            let noisy = [only_first, only_this].map(|count| count + normals.draw(minor_sd));
            let sampled = noisy.map(|count| count + normals.draw(count.max(0.0).sqrt()));
            right.push(((noisy[1] - noisy[0]) / n, (sampled[1] - sampled[0]) / n));
            let gap = self.auc_draws[k] - first.auc_draws[k];
            area.push((gap, gap + normals.draw(areas_sd)));
            let gap = self.log_loss_draws[k] - first.log_loss_draws[k];
            let square = largest * largest * (squares + normals.draw(minor_sd)) / n;
            let variance = (square - gap * gap).clamp(0.0, largest * largest);
            loss.push((gap, gap + normals.draw((variance / n).sqrt())));
        }
        let known = |figure: &Figure| figure.name == AUC && figure.value.is_some();
        let both = self.figures.iter().any(known) && first.figures.iter().any(known);
        vec![
            Figure::new(ACCURACY, (only_this - only_first) / n, share, &right),
            if both {
                Figure::new(AUC, self.auc - first.auc, share, &area)
            } else {
                Figure::unknown(AUC, share)
            },
            Figure::new(LOG_LOSS, self.log_loss - first.log_loss, losses, &loss),
        ]
    }
}

const SECOND: &str = "share of the second class";

/// Ranges of bins whose counts are distinguishable from noise. What is left at the end joins the last one.
fn points(cells: &Cells, noise_sd: f64) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    let mut start = 0;
    for end in 1..=BINS {
        let sd = noise_sd * (2.0 * (end - start) as f64).sqrt();
        if both_classes(cells, &(start..end)) > POINT_SDS * sd {
            found.push(start..end);
            start = end;
        }
    }
    if let Some(last) = found.last_mut() {
        last.end = BINS;
    }
    found
}

fn both_classes(cells: &Cells, bins: &std::ops::Range<usize>) -> f64 {
    bins.clone().map(|bin| cells[bin] + cells[BINS + bin]).sum()
}

fn frequency(cells: &Cells, bins: &std::ops::Range<usize>) -> f64 {
    let seconds: f64 = bins.clone().map(|bin| cells[BINS + bin]).sum();
    seconds / both_classes(cells, bins).max(1.0)
}

/// The mean probability in the middles of bins, weighted by counts without negative ones.
fn predicted(cells: &Cells, bins: &std::ops::Range<usize>) -> f64 {
    let (mut sum, mut weights) = (0.0, f64::MIN_POSITIVE);
    for bin in bins.clone() {
        let weight = (cells[bin] + cells[BINS + bin]).max(0.0);
        sum += weight * sigmoid(middle_of(bin));
        weights += weight;
    }
    sum / weights
}
