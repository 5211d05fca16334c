//! The public interface of the wall.

use reticent_core::budget::{
    Adjacency, Guarantee, Ledger, LedgerError, NotPrivate, Privacy, Request, Spent, Ticket, Unlimited,
};
use reticent_core::grid::Grid;
use reticent_core::math::symmetric;
use reticent_core::observer::{Observer, ObserverError, Step};
use reticent_core::wall::{
    Draws, Geometry, NoiseSource, Plan, PlanError, Query, Rate, Records, Released, Sampler, SumId, Sums,
    Wall, WallError,
};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Contributes the record itself, or the output of a misbehaving closure.
struct Column<F>(usize, F);

impl<F: Fn(&[f64], &mut [f64]) + Sync> Query for Column<F> {
    fn width(&self) -> usize {
        self.0
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        (self.1)(record, out);
    }
}

fn copy() -> impl Query {
    Column(2, |record: &[f64], out: &mut [f64]| out.copy_from_slice(record))
}

const RECORDS: usize = 500;

fn records() -> Records {
    let values = (0..2 * RECORDS).map(|k| 0.5 * (k as f64 * 0.7).sin()).collect();
    Records::new(values, 2).unwrap()
}

fn plain_sum() -> Vec<f64> {
    (0..2).map(|j| (0..RECORDS).map(|i| 0.5 * ((2 * i + j) as f64 * 0.7).sin()).sum()).collect()
}

fn plan(sampler: Sampler, multiplier: f64, steps: u64, adjacency: Adjacency) -> (Plan, SumId) {
    let mut plan = Plan::new(RECORDS, adjacency);
    let geometry = Geometry::Ball { radius: 1.0 };
    let sums =
        Sums { what: "the records".into(), width: 2, geometry, sampler, noise_multiplier: multiplier, steps };
    let id = plan.sums(sums).unwrap();
    (plan, id)
}

fn privacy(adjacency: Adjacency) -> Privacy {
    Privacy::new(50.0, 1e-5, adjacency).unwrap()
}

fn wall(seed: u64, sampler: Sampler, multiplier: f64, steps: u64) -> (Wall, SumId) {
    let (plan, id) = plan(sampler, multiplier, steps, Adjacency::ReplaceOne);
    let source = NoiseSource::insecure_from_seed(seed);
    let wall =
        Wall::new(records(), source, plan, &privacy(Adjacency::ReplaceOne), Box::new(Unlimited)).unwrap();
    (wall, id)
}

fn release(seed: u64, query: &impl Query, multiplier: f64) -> Released {
    let (mut wall, id) = wall(seed, Sampler::Full, multiplier, 1);
    wall.sum(id, query).unwrap()
}

/// Sample mean and variance over 400 seeds: within 5 standard errors, false alarm below 1e-5.
#[test]
fn the_noise_has_the_stated_deviation_and_no_bias() {
    let exact = plain_sum();
    let errors: Vec<f64> = (0..400)
        .map(|seed| {
            let released = release(seed, &copy(), 3.0);
            assert!((released.noise_sd[0] / 6.0 - 1.0).abs() < 1e-6);
            (released.values[0] - exact[0]) / released.noise_sd[0]
        })
        .collect();
    let mean = errors.iter().sum::<f64>() / 400.0;
    let variance = errors.iter().map(|e| e * e).sum::<f64>() / 400.0;
    assert!(mean.abs() < 5.0 / 20.0, "{mean}");
    assert!((variance - 1.0).abs() < 5.0 * (2.0f64 / 400.0).sqrt(), "{variance}");
}

#[test]
fn huge_noise_destroys_the_result() {
    let exact = plain_sum();
    let released = release(1, &copy(), 1e6);
    assert!((released.values[0] - exact[0]).abs() > 100.0 * exact[0].abs().max(1.0), "{released:?}");
}

#[test]
fn without_privacy_the_sum_is_plain() {
    let (plan, id) = plan(Sampler::Full, 1.0, 1, Adjacency::ReplaceOne);
    let mut wall =
        Wall::without_privacy(records(), NoiseSource::from_os().unwrap(), plan, Box::new(Unlimited)).unwrap();
    let released = wall
        .sum(id, &Column(2, |r: &[f64], out: &mut [f64]| out.copy_from_slice(&[1e3 * r[0], r[1]])))
        .unwrap();
    let exact: f64 = (0..RECORDS).map(|i| 1e3 * (0.5 * ((2 * i) as f64 * 0.7).sin())).sum();
    assert_eq!(released.values[0], exact, "no clipping, no noise");
    assert_eq!(released.guarantee.to_string(), "NOT PRIVATE: no noise");
    let receipt = wall.finish(0).unwrap();
    assert!(receipt.guarantee.cost().is_none());
}

/// A seed is for tests: such a run states no epsilon.
#[test]
fn a_fixed_seed_has_no_guarantee() {
    let (mut wall, id) = wall(1, Sampler::Full, 3.0, 1);
    let released = wall.sum(id, &copy()).unwrap();
    assert_eq!(released.guarantee, Guarantee::None(NotPrivate::FixedSeed));
    let receipt = wall.finish(2).unwrap();
    let text = receipt.to_string();
    assert!(text.contains("NOT PRIVATE: fixed seed") && !text.contains("epsilon"), "{text}");
    assert!(text.contains("projections: 2") && text.contains("no ledger"), "{text}");
}

#[test]
fn a_real_run_has_a_receipt_that_can_be_read_by_machines() {
    let (plan, id) = plan(Sampler::Fixed { batch: 5 }, 2.0, 10, Adjacency::ReplaceOne);
    let privacy = privacy(Adjacency::ReplaceOne);
    let mut wall =
        Wall::new(records(), NoiseSource::from_os().unwrap(), plan, &privacy, Box::new(Unlimited)).unwrap();
    assert_eq!(wall.sum(id, &copy()).unwrap().expected_batch, 5.0);
    let receipt = wall.finish(0).unwrap();
    let cost = receipt.guarantee.cost().unwrap();
    assert!(cost.epsilon.upper > 0.0 && cost.epsilon.upper < 50.0);
    let json = serde_json::to_value(&receipt).unwrap();
    assert_eq!(json["groups"][0]["made"], 1);
    assert_eq!(json["groups"][0]["planned"], 10);
    assert_eq!(json["groups"][0]["kind"]["sum"]["sampler"]["fixed"]["batch"], 5);
    assert_eq!(json["groups"][0]["event"]["repeat"][0]["release"]["sampling"]["fixed"]["records"], RECORDS);
    assert!(receipt.to_string().contains("the number of records is public"));
}

/// Whatever a query does, its release has noise: two seeds differ.
#[test]
fn bad_contributions_get_noise_too() {
    type Bad = fn(&[f64], &mut [f64]);
    let queries: [Bad; 5] = [
        |_, out| out.fill(f64::NAN),
        |_, out| out.fill(f64::INFINITY),
        |_, out| out.fill(1e308),
        |_, _| {},
        |record, out| out.fill(if record[0] > 0.0 { f64::NAN } else { -1e300 }),
    ];
    for query in queries {
        let query = Column(2, query);
        let (a, b) = (release(1, &query, 1.0), release(2, &query, 1.0));
        assert_ne!(a.values, b.values);
        // 500 records of norm at most 1, and noise of standard deviation 2.
        assert!(a.values.iter().all(|x| x.abs() < RECORDS as f64 + 40.0), "{a:?}");
    }
}

#[test]
fn sums_do_not_depend_on_threads() {
    let wide = Column(300, |record: &[f64], out: &mut [f64]| {
        out.iter_mut().enumerate().for_each(|(k, x)| *x = (record[0] * k as f64).sin() / 20.0);
    });
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut plan = Plan::new(RECORDS, Adjacency::ReplaceOne);
            let id = plan
                .sums(Sums {
                    what: "wide".into(),
                    width: 300,
                    geometry: Geometry::Ball { radius: 1.0 },
                    sampler: Sampler::Full,
                    noise_multiplier: 2.0,
                    steps: 1,
                })
                .unwrap();
            let source = NoiseSource::insecure_from_seed(9);
            let privacy = privacy(Adjacency::ReplaceOne);
            let mut wall = Wall::new(records(), source, plan, &privacy, Box::new(Unlimited)).unwrap();
            wall.sum(id, &wide).unwrap().values
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
}

#[test]
fn nothing_is_released_beyond_the_plan() {
    let (mut wall, id) = wall(1, Sampler::Full, 3.0, 2);
    wall.sum(id, &copy()).unwrap();
    assert_eq!(wall.sum(id, &copy()).unwrap().step, 2);
    assert!(matches!(wall.sum(id, &copy()), Err(WallError::Exhausted { planned: 2, .. })));
    let wide = Column(3, |_: &[f64], _: &mut [f64]| {});
    assert!(matches!(wall.sum(id, &wide), Err(WallError::Width { planned: 2, given: 3 })));
}

/// Records the calls, and fails at the start if its flag is set.
struct RecordingLedger(Arc<Mutex<Vec<&'static str>>>, bool);

impl Ledger for RecordingLedger {
    fn name(&self) -> String {
        "scribe".into()
    }
    fn reserve(&mut self, request: &Request) -> Result<Ticket, LedgerError> {
        assert!(request.guarantee.cost().is_some());
        self.0.lock().unwrap().push("reserve");
        Ok(Ticket("1".into()))
    }
    fn start(&mut self, _: &Ticket) -> Result<(), LedgerError> {
        self.0.lock().unwrap().push("start");
        if self.1 { Err(LedgerError::Failed("the disk is full".into())) } else { Ok(()) }
    }
    fn settle(&mut self, _: Ticket, spent: Spent<'_>) -> Result<(), LedgerError> {
        self.0.lock().unwrap().push(if spent.cost.is_some() { "settle" } else { "settle nothing" });
        Ok(())
    }
}

#[test]
fn the_ledger_comes_before_the_release() {
    for fails in [false, true] {
        let log = Arc::new(Mutex::new(Vec::new()));
        let (plan, id) = plan(Sampler::Full, 3.0, 2, Adjacency::ReplaceOne);
        let ledger = Box::new(RecordingLedger(log.clone(), fails));
        let privacy = privacy(Adjacency::ReplaceOne);
        let mut wall = Wall::new(records(), NoiseSource::from_os().unwrap(), plan, &privacy, ledger).unwrap();
        assert_eq!(*log.lock().unwrap(), ["reserve"]);
        let witness = log.clone();
        let query = Column(2, move |_: &[f64], _: &mut [f64]| {
            assert!(
                witness.lock().unwrap().contains(&"start"),
                "a record was read before the start was written"
            );
        });
        let released = wall.sum(id, &query);
        assert_eq!(released.is_err(), fails, "no release unless the ledger accepts the start");
        wall.finish(0).unwrap();
        let expected: &[&str] =
            if fails { &["reserve", "start", "settle nothing"] } else { &["reserve", "start", "settle"] };
        assert_eq!(*log.lock().unwrap(), expected);
    }
}

#[test]
fn budgets_adjacencies_and_deltas_are_checked() {
    let make = |multiplier, privacy: Privacy, adjacency| {
        let (plan, _) = plan(Sampler::Full, multiplier, 1, adjacency);
        Wall::new(records(), NoiseSource::from_os().unwrap(), plan, &privacy, Box::new(Unlimited)).err()
    };
    let replace = Adjacency::ReplaceOne;
    let strict = Privacy::new(0.1, 1e-5, replace).unwrap();
    assert!(matches!(make(1.0, strict, replace), Some(WallError::OverBudget { .. })));
    assert!(matches!(make(1.0, privacy(replace), Adjacency::AddRemove), Some(WallError::Privacy(_))));
    // With a delta of 1/N or more, publishing one record at random would be allowed.
    let large = Privacy::new(50.0, 1.0 / RECORDS as f64, replace).unwrap();
    assert!(matches!(make(1.0, large, replace), Some(WallError::Privacy(_))));
    assert!(make(1.0, large.allow_large_delta(), replace).is_none());
    assert!(
        make(1.0, Privacy::new(50.0, 0.0, replace).unwrap(), replace).is_some(),
        "a Gaussian needs a delta"
    );
    for (epsilon, delta) in [(0.0, 1e-5), (f64::NAN, 1e-5), (1.0, 1.0), (1.0, -0.1)] {
        assert!(Privacy::new(epsilon, delta, replace).is_err());
    }
}

#[test]
fn wrong_records_are_refused_without_a_value() {
    for (values, width) in [(vec![1.0, 7.25, 3.0], 2), (vec![7.25], 0)] {
        let error = Records::new(values, width).err().unwrap().to_string();
        assert!(!error.contains("7.25"), "{error}");
    }
    let (plan, _) = plan(Sampler::Full, 1.0, 1, Adjacency::ReplaceOne);
    let few = Records::new(vec![0.0; 8], 2).unwrap();
    let wall = Wall::new(
        few,
        NoiseSource::from_os().unwrap(),
        plan,
        &privacy(Adjacency::ReplaceOne),
        Box::new(Unlimited),
    );
    let error = wall.err().unwrap().to_string();
    assert!(error.contains("500") && !error.contains('4'), "{error}");
}

/// Under replace-one, Poisson samples are accounted with twice the norm bound, so a non-negative ball gets more noise
/// than its diameter requires.
#[test]
fn poisson_replacement_uses_twice_the_norm_bound() {
    let sd = |sampler| {
        let mut plan = Plan::new(RECORDS, Adjacency::ReplaceOne);
        let geometry = Geometry::NonNegativeBall { radius: 1.0 };
        let id = plan
            .sums(Sums { what: "x".into(), width: 2, geometry, sampler, noise_multiplier: 1.0, steps: 1 })
            .unwrap();
        let source = NoiseSource::insecure_from_seed(1);
        let mut wall =
            Wall::new(records(), source, plan, &privacy(Adjacency::ReplaceOne), Box::new(Unlimited)).unwrap();
        wall.sum(id, &copy()).unwrap().noise_sd[0]
    };
    assert!((sd(Sampler::Full) / 2f64.sqrt() - 1.0).abs() < 1e-5);
    assert!((sd(Sampler::Poisson { rate: Rate::at_most(0.5).unwrap() }) / 2.0 - 1.0).abs() < 1e-5);
}

/// The draw follows the tempered scores: two candidates with a known log ratio, 4 standard deviations.
#[test]
fn draws_are_tempered() {
    let hits = (0..2000)
        .filter(|&seed| {
            let mut plan = Plan::new(10, Adjacency::ReplaceOne);
            let draws =
                Draws { what: "pick".into(), candidates: 2, lower: 0.0, upper: 1.0, epsilon: 0.2, draws: 1 };
            let id = plan.draws(draws).unwrap();
            let records = Records::new(vec![1.0; 10], 1).unwrap();
            let source = NoiseSource::insecure_from_seed(seed);
            let privacy = Privacy::new(1.0, 0.0, Adjacency::ReplaceOne).unwrap();
            let mut wall = Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).unwrap();
            let grid = Grid::new(vec![0.0, 1.0], |record: &[f64], point: f64| record[0] * point);
            let drawn = wall.draw(id, &grid, &[]).unwrap();
            assert!((drawn.power - 0.1).abs() < 1e-9);
            drawn.index == 1
        })
        .count() as f64;
    // Ten records of score 1 at power 0.1: log odds of 1.
    let p = 1.0 / (1.0 + (-1f64).exp());
    assert!((hits / 2000.0 - p).abs() < 4.0 * (p * (1.0 - p) / 2000.0).sqrt(), "{hits}");
}

#[test]
fn symmetric_coordinates_keep_the_norm() {
    let matrix = [1.0, 2.0, 3.0, 2.0, 5.0, -1.0, 3.0, -1.0, 0.5];
    let mut coordinates = vec![0.0; symmetric::width(3)];
    symmetric::to_coordinates(&matrix, 3, &mut coordinates);
    let norm = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((norm(&coordinates) - norm(&matrix)).abs() < 1e-12);
    let mut back = vec![0.0; 9];
    symmetric::from_coordinates(&coordinates, 3, &mut back);
    assert!(back.iter().zip(matrix).all(|(a, b)| (a - b).abs() < 1e-12));
}

/// Sums of scores decide a draw, so they must never overflow, however many records there are: under add/remove the
/// stated number is only a guess.
#[test]
fn scores_far_from_zero_are_refused() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let mut plan = Plan::new(10, adjacency);
        let far = |lower: f64| Draws {
            what: "d".into(),
            candidates: 2,
            lower,
            upper: lower + 1.0,
            epsilon: 0.1,
            draws: 1,
        };
        assert!(plan.draws(far(1e6)).is_err());
        assert!(plan.draws(far(-30.0)).is_ok());
    }
}

/// No epsilon, in text or JSON, and no noise multiplier for a run without noise.
#[test]
fn a_run_without_a_guarantee_states_none() {
    for open in [false, true] {
        let mut plan = Plan::new(RECORDS, Adjacency::ReplaceOne);
        let draws = Draws { what: "d".into(), candidates: 2, lower: 0.0, upper: 1.0, epsilon: 0.5, draws: 1 };
        plan.draws(draws).unwrap();
        let geometry = Geometry::Ball { radius: 1.0 };
        let sums = Sums {
            what: "s".into(),
            width: 2,
            geometry,
            sampler: Sampler::Full,
            noise_multiplier: 4.0,
            steps: 1,
        };
        plan.sums(sums).unwrap();
        let source = NoiseSource::insecure_from_seed(1);
        let wall = if open {
            Wall::without_privacy(records(), source, plan, Box::new(Unlimited)).unwrap()
        } else {
            Wall::new(records(), source, plan, &privacy(Adjacency::ReplaceOne), Box::new(Unlimited)).unwrap()
        };
        let receipt = wall.finish(0).unwrap();
        for text in [receipt.to_string(), serde_json::to_string(&receipt).unwrap()] {
            assert!(!text.contains("epsilon") && !text.contains("bounded-range"), "{text}");
            assert!(!open || !text.contains("multiplier 4"), "{text}");
        }
    }
}

/// The id of a draw of another plan is refused before anything is charged.
#[test]
fn an_id_of_another_kind_costs_nothing() {
    let mut other = Plan::new(RECORDS, Adjacency::ReplaceOne);
    let draws = Draws { what: "d".into(), candidates: 2, lower: 0.0, upper: 1.0, epsilon: 0.5, draws: 1 };
    let foreign = other.draws(draws).unwrap();
    let (mut wall, id) = wall(1, Sampler::Pass { batch: 100 }, 4.0, 5);
    assert!(matches!(wall.draw(foreign, &copy(), &[]), Err(WallError::UnknownGroup)));
    wall.sum(id, &copy()).unwrap();
    assert_eq!(wall.finish(0).unwrap().groups[0].made, 1);
}

/// A query whose width changes after the check gets the planned width.
#[test]
fn a_query_cannot_change_its_planned_width() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct ChangingWidth(AtomicUsize);
    impl Query for ChangingWidth {
        fn width(&self) -> usize {
            if self.0.fetch_add(1, Ordering::Relaxed) == 0 { 2 } else { 3 }
        }
        fn contribute(&self, _: &[f64], out: &mut [f64]) {
            assert_eq!(out.len(), 2);
        }
    }
    let (mut wall, id) = wall(1, Sampler::Full, 4.0, 1);
    assert_eq!(wall.sum(id, &ChangingWidth(AtomicUsize::new(0))).unwrap().values.len(), 2);
}

/// The message of a panicking query may contain its record: the test runs in its own process, whose output is read.
#[test]
fn messages_of_panicking_queries_are_not_printed() {
    if std::env::var_os("RETICENT_PANICS").is_some() {
        let secret = Column(2, |record: &[f64], _: &mut [f64]| panic!("the record is {record:?}"));
        release(1, &secret, 1.0);
        return;
    }
    let test = std::env::current_exe().unwrap();
    let output = std::process::Command::new(test)
        .args(["--exact", "messages_of_panicking_queries_are_not_printed", "--nocapture"])
        .env("RETICENT_PANICS", "1")
        .output()
        .unwrap();
    let output_text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !output_text.contains("the record is"), "{output_text}");
}

/// The same rows in blocks.
fn streamed(rows_at_a_time: usize) -> Records {
    let values: Vec<f64> = (0..2 * RECORDS).map(|k| 0.5 * (k as f64 * 0.7).sin()).collect();
    let pass = move |wanted: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| {
        let Some(wanted) = wanted else {
            let _ = values.chunks(2 * rows_at_a_time).try_for_each(each);
            return;
        };
        assert!(wanted.is_sorted_by(|a, b| a < b));
        for rows in wanted.chunks(rows_at_a_time) {
            let some: Vec<f64> = rows.iter().flat_map(|row| values[2 * row..][..2].to_vec()).collect();
            let _ = each(&some);
        }
    };
    Records::streamed(RECORDS, 2, Box::new(pass)).unwrap()
}

/// For sums over all records, sums over samples, and draws.
#[test]
fn sums_do_not_depend_on_blocks() {
    let samplers = [
        Sampler::Full,
        Sampler::Fixed { batch: 50 },
        Sampler::Poisson { rate: Rate::at_most(0.1).unwrap() },
        Sampler::Pass { batch: 100 },
    ];
    for sampler in samplers {
        let all = |records: Records| {
            let (mut plan, sums) = plan(sampler, 3.0, 8, Adjacency::ReplaceOne);
            let draws =
                Draws { what: "side".into(), candidates: 2, lower: -1.0, upper: 1.0, epsilon: 0.1, draws: 1 };
            let draws = plan.draws(draws).unwrap();
            let source = NoiseSource::insecure_from_seed(7);
            let privacy = privacy(Adjacency::ReplaceOne);
            let mut wall = Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).unwrap();
            let released: Vec<Vec<f64>> = (0..8).map(|_| wall.sum(sums, &copy()).unwrap().values).collect();
            (released, wall.draw(draws, &copy(), &[]).unwrap().index)
        };
        let kept = all(records());
        for rows in [1, 7, 128, RECORDS] {
            assert_eq!(all(streamed(rows)), kept, "{sampler}, {rows} rows at a time");
        }
    }
}

/// The plain sum adds records in order, whatever the blocks.
#[test]
fn plain_sums_do_not_depend_on_blocks() {
    let sum = |records: Records| {
        let (plan, sums) = plan(Sampler::Full, 1.0, 1, Adjacency::ReplaceOne);
        let source = NoiseSource::insecure_from_seed(1);
        let mut wall = Wall::without_privacy(records, source, plan, Box::new(Unlimited)).unwrap();
        wall.sum(sums, &copy()).unwrap().values
    };
    assert_eq!(sum(streamed(13)), sum(records()));
}

/// A stream with fewer or more rows than stated does not change their number: missing rows are absent records.
#[test]
fn a_stream_has_exactly_the_stated_rows() {
    let count = Column(1, |record: &[f64], out: &mut [f64]| out[0] = 1.0 + record[0]);
    for (given, blocks, expected) in [(400, 9, 800.0), (600, 7, 1000.0), (500, 500, 1000.0), (0, 1, 0.0)] {
        let pass = move |_: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| {
            // The last block is cut short: an incomplete row is ignored.
            let _ = (0..given).step_by(blocks).try_for_each(|k| each(&vec![1.0; blocks.min(given - k)]));
        };
        let records = Records::streamed(RECORDS, 1, Box::new(pass)).unwrap();
        let mut plan = Plan::new(RECORDS, Adjacency::ReplaceOne);
        let geometry = Geometry::Box { lower: vec![1.0], upper: vec![2.0] };
        let (what, sampler) = ("x".into(), Sampler::Full);
        let sums = Sums { what, width: 1, geometry, sampler, noise_multiplier: 1.0, steps: 2 };
        let sums = plan.sums(sums).unwrap();
        let source = NoiseSource::insecure_from_seed(1);
        let mut wall = Wall::without_privacy(records, source, plan, Box::new(Unlimited)).unwrap();
        for _ in 0..2 {
            assert_eq!(wall.sum(sums, &count).unwrap().values, [expected], "{given}");
        }
    }
    assert!(matches!(Records::streamed(1, 0, Box::new(|_, _| ())), Err(WallError::Shape { width: 0 })));
}

/// Keeps the request.
struct RequestLedger(Arc<Mutex<Option<Request>>>);

impl Ledger for RequestLedger {
    fn name(&self) -> String {
        "asked".into()
    }
    fn reserve(&mut self, request: &Request) -> Result<Ticket, LedgerError> {
        *self.0.lock().unwrap() = Some(request.clone());
        Ok(Ticket(String::new()))
    }
    fn start(&mut self, _: &Ticket) -> Result<(), LedgerError> {
        Ok(())
    }
    fn settle(&mut self, _: Ticket, _: Spent<'_>) -> Result<(), LedgerError> {
        Ok(())
    }
}

/// Two stages about the same records are priced, reserved and receipted as one plan: Gaussian releases with noise
/// multipliers 3 and 4 cost as much as one with 2.4, since squared reciprocals add.
#[test]
fn stages_are_priced_as_one_plan() {
    let adjacency = Adjacency::ReplaceOne;
    let both = || {
        let (first, id) = plan(Sampler::Full, 3.0, 1, adjacency);
        let (second, same) = plan(Sampler::Full, 4.0, 1, adjacency);
        assert_eq!(id, same);
        (first.then(second).unwrap(), id)
    };
    let source = || NoiseSource::from_os().unwrap();
    let (together, _) = plan(Sampler::Full, 2.4, 1, adjacency);
    let cost = together.price(1e-5).unwrap().epsilon.upper;
    let request = Arc::default();
    let ledger = || Box::new(RequestLedger(Arc::clone(&request)));
    let less = Privacy::new(0.99 * cost, 1e-5, adjacency).unwrap();
    let refused = Wall::new(records(), source(), both().0, &less, ledger());
    assert!(matches!(refused, Err(WallError::OverBudget { .. })));
    assert!(request.lock().unwrap().is_none());

    let enough = Privacy::new(1.001 * cost, 1e-5, adjacency).unwrap();
    let (plan, id) = both();
    let mut wall = Wall::new(records(), source(), plan, &enough, ledger()).unwrap();
    let first = wall.sum(id, &copy()).unwrap();
    assert!(matches!(wall.sum(id, &copy()), Err(WallError::Exhausted { .. })));
    wall.next_stage(records()).unwrap();
    let second = wall.sum(id, &copy()).unwrap();
    assert!((second.noise_sd[0] / first.noise_sd[0] - 4.0 / 3.0).abs() < 1e-6);
    assert!(matches!(wall.sum(id, &copy()), Err(WallError::Exhausted { .. })));
    assert!(matches!(wall.next_stage(records()), Err(WallError::NoStage)));
    let receipt = wall.finish(0).unwrap();
    assert_eq!(receipt.groups.iter().map(|group| group.made).collect::<Vec<_>>(), [1, 1]);
    let priced = receipt.guarantee.cost().unwrap().epsilon.upper;
    assert!((priced / cost - 1.0).abs() < 1e-3, "{priced} {cost}");
    assert_eq!(request.lock().unwrap().as_ref().unwrap().releases.len(), 2);

    // Another number of records cannot be an encoding of the same records.
    let (plan, _) = both();
    let mut wall = Wall::new(records(), source(), plan, &enough, ledger()).unwrap();
    let fewer = Records::new(vec![0.0; 2 * (RECORDS - 1)], 2).unwrap();
    assert!(matches!(wall.next_stage(fewer), Err(WallError::RecordCount { .. })));
}

/// Stops once its flag is set.
struct StoppingObserver(Arc<std::sync::atomic::AtomicBool>);

impl Observer for StoppingObserver {
    fn should_stop(&mut self) -> bool {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// A pass over streamed records can end between two blocks, without a release.
#[test]
fn a_pass_can_be_stopped_midway() {
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (asked, blocks) = (Arc::clone(&stop), Arc::new(Mutex::new(0)));
    let counted = Arc::clone(&blocks);
    let pass = move |_: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| {
        for _ in 0..RECORDS {
            *counted.lock().unwrap() += 1;
            asked.store(true, std::sync::atomic::Ordering::Relaxed);
            if each(&[0.5, 0.5]).is_break() {
                return;
            }
        }
    };
    let streamed = Records::streamed(RECORDS, 2, Box::new(pass)).unwrap();
    let (plan, id) = plan(Sampler::Full, 3.0, 2, Adjacency::ReplaceOne);
    let source = NoiseSource::from_os().unwrap();
    let wall =
        Wall::new(streamed, source, plan, &privacy(Adjacency::ReplaceOne), Box::new(Unlimited)).unwrap();
    let mut wall = wall.observed_by(Box::new(StoppingObserver(stop)));
    assert!(matches!(wall.sum(id, &copy()), Err(WallError::Stopped)));
    assert_eq!(*blocks.lock().unwrap(), 1);
    assert!(matches!(wall.sum(id, &copy()), Err(WallError::Stopped)), "before the next release too");
}

/// Replays the first releases, and keeps the new ones.
struct ReplayingObserver(Vec<Vec<f64>>, Arc<Mutex<Vec<Vec<f64>>>>);

impl Observer for ReplayingObserver {
    fn replay(&mut self, step: Step<'_>) -> Result<Option<Vec<f64>>, ObserverError> {
        Ok(self.0.get(step.step as usize - 1).cloned())
    }
    fn on_release(&mut self, _: Step<'_>, values: &[f64]) -> Result<(), ObserverError> {
        self.1.lock().unwrap().push(values.to_vec());
        Ok(())
    }
}

/// A resumed run reads no record for earlier releases, and makes no more releases than planned.
#[test]
fn replayed_releases_read_no_record() {
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let query = Column(2, move |_: &[f64], _: &mut [f64]| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    let before = vec![vec![1.0, 2.0], vec![3.0, 4.0]];
    let made = Arc::default();
    let (plan, id) = plan(Sampler::Full, 3.0, 3, Adjacency::ReplaceOne);
    let observer = Box::new(ReplayingObserver(before.clone(), Arc::clone(&made)));
    let source = NoiseSource::insecure_from_seed(1);
    let (privacy, ledger) = (privacy(Adjacency::ReplaceOne), Box::new(Unlimited));
    let mut wall = Wall::new(records(), source, plan, &privacy, ledger).unwrap().observed_by(observer);
    for values in before {
        assert_eq!(wall.sum(id, &query).unwrap().values, values);
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 0);
    let fresh = wall.sum(id, &query).unwrap().values;
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), RECORDS);
    assert_eq!(*made.lock().unwrap(), [fresh]);
    assert!(matches!(wall.sum(id, &query), Err(WallError::Exhausted { .. })));
    assert_eq!(wall.finish(0).unwrap().groups[0].made, 3);
}

/// The same for draws, whose index is kept.
#[test]
fn replayed_draws_read_no_record() {
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let query = Column(2, move |_: &[f64], _: &mut [f64]| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    let mut plan = Plan::new(RECORDS, Adjacency::ReplaceOne);
    let draws = Draws { what: "pick".into(), candidates: 2, lower: 0.0, upper: 1.0, epsilon: 0.2, draws: 2 };
    let id = plan.draws(draws).unwrap();
    let made = Arc::default();
    let observer = Box::new(ReplayingObserver(vec![vec![1.0]], Arc::clone(&made)));
    let source = NoiseSource::insecure_from_seed(1);
    let (privacy, ledger) = (privacy(Adjacency::ReplaceOne), Box::new(Unlimited));
    let mut wall = Wall::new(records(), source, plan, &privacy, ledger).unwrap().observed_by(observer);
    assert_eq!(wall.draw(id, &query, &[]).unwrap().index, 1);
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 0);
    let fresh = wall.draw(id, &query, &[]).unwrap().index;
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), RECORDS);
    assert_eq!(*made.lock().unwrap(), [[fresh as f64]]);
    assert!(matches!(wall.draw(id, &query, &[]), Err(WallError::Exhausted { .. })));
}

/// A release that cannot be recorded is not returned.
#[test]
fn a_release_that_cannot_be_recorded_is_not_returned() {
    struct Full;
    impl Observer for Full {
        fn on_release(&mut self, _: Step<'_>, _: &[f64]) -> Result<(), ObserverError> {
            Err(ObserverError::Journal("the disk is full".into()))
        }
    }
    let (plan, id) = plan(Sampler::Full, 3.0, 1, Adjacency::ReplaceOne);
    let source = NoiseSource::insecure_from_seed(1);
    let (privacy, ledger) = (privacy(Adjacency::ReplaceOne), Box::new(Unlimited));
    let wall = Wall::new(records(), source, plan, &privacy, ledger).unwrap();
    let mut wall = wall.observed_by(Box::new(Full));
    assert!(matches!(wall.sum(id, &copy()), Err(WallError::Observer(_))));
    assert!(matches!(wall.sum(id, &copy()), Err(WallError::Exhausted { .. })));
}

/// Sparse contributions need a domain that contains 0 and has the same unit for all coordinates.
#[test]
fn only_balls_hold_sparse_contributions() {
    struct Sparse;
    impl Query for Sparse {
        fn width(&self) -> usize {
            2
        }
        fn block(&self) -> usize {
            1
        }
        fn blocks(&self, _: &[f64], blocks: &mut Vec<usize>) {
            blocks.push(1);
        }
        fn contribute(&self, _: &[f64], out: &mut [f64]) {
            out[0] = 0.5;
        }
    }
    let (mut wall, id) = wall(1, Sampler::Full, 1.0, 1);
    let released = wall.sum(id, &Sparse).unwrap();
    let far = 6.0 * released.noise_sd[0];
    assert!(released.values[0].abs() < far, "only noise: {released:?}");
    assert!((released.values[1] - 0.5 * RECORDS as f64).abs() < far, "{released:?}");
    let mut plan = Plan::new(RECORDS, Adjacency::ReplaceOne);
    let geometry = Geometry::Box { lower: vec![1.0; 2], upper: vec![2.0; 2] };
    let sampler = Sampler::Full;
    let sums = Sums { what: "box".into(), width: 2, geometry, sampler, noise_multiplier: 10.0, steps: 1 };
    let id = plan.sums(sums).unwrap();
    let source = NoiseSource::insecure_from_seed(1);
    let mut wall =
        Wall::new(records(), source, plan, &privacy(Adjacency::ReplaceOne), Box::new(Unlimited)).unwrap();
    assert!(matches!(wall.sum(id, &Sparse), Err(WallError::Sparse)));
}

/// A plan with so little noise that its certificate does not suffice states up to which epsilon it does: a plan of slightly less is priced.
#[test]
fn the_largest_certified_epsilon_is_stated() {
    let price = |multiplier: f64| plan(Sampler::Full, multiplier, 1, Adjacency::ReplaceOne).0.price(1e-5);
    let Err(PlanError::Certificate { epsilon, largest }) = price(0.05) else { panic!("it is not certified") };
    assert!(epsilon > 200.0 && largest > 50.0 && largest < 100.0, "{epsilon} {largest}");
    let mut multiplier = 0.05;
    let priced = loop {
        multiplier *= 1.002;
        match price(multiplier) {
            Ok(cost) => break cost.epsilon.upper,
            Err(PlanError::Certificate { epsilon, .. }) => assert!(epsilon > largest, "{epsilon} {largest}"),
            Err(other) => panic!("{other}"),
        }
    };
    assert!(priced <= largest && priced > 0.99 * largest, "{priced} {largest}");
}
