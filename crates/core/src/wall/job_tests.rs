use super::super::records::{Place, Records};
use super::super::sum::tests::exact;
use super::super::{Draws, Geometry, NoiseSource, Query, Rate, Wall};
use super::*;
use crate::budget::{Privacy, Unlimited};
use crate::model::{multivariate_normal, poisson};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

const UNITS: usize = 400;
const WIDTH: usize = 3;

fn values() -> Vec<f64> {
    (0..UNITS * WIDTH).map(|k| 2.0 + 2.5 * (k as f64 * 0.37).sin()).collect()
}

/// A query of the registry, whose contributions are the values of a row, less a constant.
fn counts() -> impl Query {
    serde_json::from_str::<poisson::query::Centred>(r#"{"width":3,"max_count":4.0,"scaled":false}"#).unwrap()
}

/// One that writes vectors of four coordinates.
fn products() -> impl Query {
    serde_json::from_str::<multivariate_normal::query::Products>(r#"{"columns":3,"scaled":[],"outer":true}"#)
        .unwrap()
}

fn sums(geometry: Geometry, sampler: Sampler) -> Sums {
    let width = if matches!(geometry, Geometry::Outer { .. }) { 10 } else { WIDTH };
    Sums { what: "sums".into(), width, geometry, sampler, noise_multiplier: 3.0, steps: 2 }
}

fn ball() -> Sums {
    sums(Geometry::Ball { radius: 2.0 }, Sampler::Full)
}

fn poisson_sample() -> Sums {
    sums(Geometry::Ball { radius: 2.0 }, Sampler::Poisson { rate: Rate::at_most(0.3).unwrap() })
}

fn outer() -> Sums {
    sums(Geometry::Outer { radius: 1.5 }, Sampler::Full)
}

fn wall(records: Records, sums: Sums) -> (Wall, super::super::SumId) {
    let adjacency = Adjacency::ReplaceOne;
    let mut plan = Plan::new(UNITS, adjacency);
    let id = plan.sums(sums).unwrap();
    let privacy = Privacy::new(100.0, 1e-6, adjacency).unwrap();
    let source = NoiseSource::insecure_from_seed(7);
    (Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).unwrap(), id)
}

/// Records whose parts are summed by a closure.
struct Elsewhere<F>(F);

impl<F: FnMut(&Job) -> Vec<Partial> + Send> Place for Elsewhere<F> {
    fn units(&self) -> usize {
        UNITS
    }
    fn width(&self) -> usize {
        WIDTH
    }
    fn encoding(&self) -> String {
        "three numbers".into()
    }
    fn add(&mut self, job: &Job, _: &mut dyn FnMut() -> bool) -> Result<Vec<Partial>, WallError> {
        Ok((self.0)(job))
    }
}

/// The values of a release.
type Values = Vec<f64>;

/// Two releases about the records in this process, and about those of a place.
fn released(
    sums: &Sums,
    query: &impl Query,
    place: impl FnMut(&Job) -> Vec<Partial> + Send + 'static,
) -> (Vec<Values>, Result<Vec<Values>, WallError>) {
    let both = |records| {
        let (mut wall, id) = wall(records, sums.clone());
        (0..2).map(|_| Ok(wall.sum(id, query)?.values)).collect::<Result<Vec<_>, WallError>>()
    };
    let here = both(Records::new(values(), WIDTH).unwrap()).unwrap();
    (here, both(Records::at(Box::new(Elsewhere(place))).unwrap()))
}

/// The part of some units of the test's records.
fn part(job: &Job, units: Range<usize>) -> Partial {
    let mut part = job.nothing();
    let rows = &values()[units.start * WIDTH..units.end * WIDTH];
    job.add_rows(units.start, rows, &mut part).unwrap();
    part
}

/// A job of these sums, with the key of the first release of the test's seed.
fn job(sums: Sums, query: &impl Query) -> Job {
    let mut found = None;
    let key = NoiseSource::insecure_from_seed(7).sample_key().unwrap();
    let place = Elsewhere(|_: &Job| Vec::new());
    let (wall, id) = wall(Records::at(Box::new(place)).unwrap(), sums);
    found.replace(wall.job(id, query, &key).unwrap());
    found.unwrap()
}

fn fault<T>(result: Result<T, WallError>) -> &'static str {
    match result {
        Err(WallError::Job { fault }) => fault,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was not refused"),
    }
}

const OVERLAP: &str = "units are missing from the job, or are in two parts of the sum";

/// Splits of all kinds, rows given in pieces of all sizes, and a job that was written and read.
#[test]
fn parts_add_up_to_the_sum_of_all() {
    fn check(sums: &Sums, query: &impl Query) {
        for pieces in [1, 2, 7, 64, 65, UNITS] {
            let place = move |job: &Job| {
                let job = Job::read(&job.write()).unwrap();
                assert_eq!((job.encoding(), job.units(), job.width()), ("three numbers", UNITS, WIDTH));
                let starts: Vec<usize> = (0..=pieces).map(|k| k * UNITS / pieces).collect();
                let parts = starts.windows(2).map(|ends| part(&job, ends[0]..ends[1]));
                let sent: Vec<Partial> = parts.map(|part| Partial::read(&part.write()).unwrap()).collect();
                sent.into_iter().rev().collect()
            };
            let (here, there) = released(sums, query, place);
            assert_eq!(here, there.unwrap(), "{pieces}");
            assert_ne!(here[0], here[1]);
        }
    }
    check(&ball(), &counts());
    check(&poisson_sample(), &counts());
    check(&outer(), &products());
    check(
        &Sums { noise_multiplier: 30.0, ..sums(Geometry::L1Ball { radius: 3.0 }, Sampler::Full) },
        &counts(),
    );
    check(&sums(Geometry::Box { lower: vec![0.5; 3], upper: vec![1.5; 3] }, Sampler::Full), &counts());
}

/// The same for units of several rows: 400 rows of 150 units.
#[test]
fn parts_of_units_of_several_rows_add_up() {
    let rows: Vec<usize> = (0..150).map(|k| if k < 100 { 2 } else { 4 }).collect();
    let values = values();
    for (sums, outer) in [(ball(), false), (poisson_sample(), false), (outer(), true)] {
        fn of(sums: &Sums, query: &impl Query, values: &[f64], rows: &[usize]) {
            let job = job(sums.clone(), query);
            let mut records = Records::of_units(values.to_vec(), WIDTH, rows).unwrap();
            let key = SampleKey::new(job.description.key);
            let sampled = sums.sampler.sampled(&key, 0..rows.len());
            let mut expected = vec![0; sums.width];
            exact((&mut records, sampled.as_deref(), &mut || false), query, &job.lattice, &mut expected)
                .unwrap();
            let (mut low, mut high) = (job.nothing(), job.nothing());
            let split: usize = rows[..70].iter().sum::<usize>() * WIDTH;
            job.add_units(0, (&values[..split], &rows[..70]), &mut low).unwrap();
            job.add_units(70, (&values[split..], &rows[70..]), &mut high).unwrap();
            assert_eq!(job.join(vec![high, low]).unwrap().units(&job.lattice), expected);
            let mut part = job.nothing();
            assert!(fault(job.add_units(0, (&values[..split - 1], &rows[..70]), &mut part)).contains("rows"));
            assert!(fault(job.add_units(0, (&[], &[usize::MAX, 2]), &mut part)).contains("rows"));
        }
        if outer {
            of(&sums, &products(), &values, &rows);
        } else {
            of(&sums, &counts(), &values, &rows);
        }
    }
}

/// Twice in one part, in two parts, and beyond the stated number: before any noise is drawn.
#[test]
fn overlapping_partial_sums_are_refused() {
    let job = job(ball(), &counts());
    let all = values();
    let mut once = part(&job, 100..200);
    for units in [100..200, 0..101, 199..201, 150..151, 90..300] {
        let rows = &all[units.start * WIDTH..units.end * WIDTH];
        assert_eq!(fault(job.add_rows(units.start, rows, &mut once)), OVERLAP, "{units:?}");
        assert_eq!(fault(job.join(vec![part(&job, 100..201), part(&job, units)])), OVERLAP);
    }
    for first in [UNITS, UNITS - 1, usize::MAX] {
        assert_eq!(fault(job.add_rows(first, &all[..2 * WIDTH], &mut once)), OVERLAP, "{first}");
    }
    assert_eq!(fault(job.add_rows(0, &all[..WIDTH + 1], &mut once)), "rows are incomplete");
    // Nothing was added by what was refused, and neighbours join without a gap.
    assert!(once == part(&job, 100..200));
    job.add_rows(200, &all[200 * WIDTH..300 * WIDTH], &mut once).unwrap();
    job.add_rows(50, &all[50 * WIDTH..100 * WIDTH], &mut once).unwrap();
    assert!(once == part(&job, 50..300));
    // At the wall, whose release stays charged.
    let place = |job: &Job| vec![part(job, 0..UNITS), part(job, 3..4)];
    assert_eq!(fault(released(&ball(), &counts(), place).1), OVERLAP);
    // Ranges that no process made.
    let forged = |units: &str| {
        let text = String::from_utf8(part(&job, 0..1).write()).unwrap();
        Partial::read(text.replace(r#"{"start":0,"end":1}"#, units).as_bytes()).unwrap()
    };
    for units in [r#"{"start":0,"end":401}"#, r#"{"start":3,"end":18446744073709551615}"#] {
        assert_eq!(fault(job.join(vec![forged(units)])), OVERLAP, "{units}");
    }
    // Empty ranges claim no unit, so that their sums would be those of nobody.
    for units in [
        r#"{"start":5,"end":5}"#,
        r#"{"start":5,"end":4}"#,
        r#"{"start":3,"end":5},{"start":7,"end":7}"#,
        r#"{"start":3,"end":5},{"start":4,"end":6}"#,
        r#"{"start":3,"end":5},{"start":3,"end":5}"#,
        r#"{"start":3,"end":5},{"start":5,"end":6}"#,
        r#"{"start":8,"end":9},{"start":3,"end":5}"#,
    ] {
        assert!(fault(job.join(vec![forged(units)])).contains("ranges of units"), "{units}");
    }
    // Without ranges there are no units, and the sums are dropped.
    assert!(job.join(vec![forged("")]).unwrap() == job.nothing().sums);
}

/// The sums of a repetition do not matter: an error would depend on them.
#[test]
fn a_repeated_partial_sum_counts_once() {
    let place = |job: &Job| {
        let other = {
            let mut part = job.nothing();
            job.add_rows(200, &vec![1.0; 200 * WIDTH], &mut part).unwrap();
            part
        };
        let (low, high) = (part(job, 0..200), part(job, 200..UNITS));
        vec![low.clone(), high.clone(), high, low.clone(), other, low]
    };
    let (here, there) = released(&ball(), &counts(), place);
    assert_eq!(here, there.unwrap());
}

/// A part that is lost, or all of them, leaves zeros: the same as records that contribute none.
#[test]
fn lost_units_contribute_zeros() {
    let job = job(ball(), &counts());
    let found = job.join(vec![part(&job, 0..100), part(&job, 250..UNITS)]).unwrap().units(&job.lattice);
    let mut absent = values();
    absent[100 * WIDTH..250 * WIDTH].fill(f64::NAN);
    let mut expected = vec![0; WIDTH];
    let mut records = Records::new(absent, WIDTH).unwrap();
    exact((&mut records, None, &mut || false), &counts(), &job.lattice, &mut expected).unwrap();
    assert_eq!(found, expected);
    assert!(expected.iter().all(|sum| *sum != 0));
    // Only noise: 15 standard deviations.
    let (mut wall, id) = wall(Records::at(Box::new(Elsewhere(|_: &Job| Vec::new()))).unwrap(), ball());
    let released = wall.sum(id, &counts()).unwrap();
    assert!(released.values.iter().all(|x| x.abs() < 15.0 * released.noise_sd[0]));
}

#[test]
fn partial_sums_of_other_jobs_are_refused() {
    let (job, sampled) = (job(ball(), &counts()), job(poisson_sample(), &counts()));
    assert_eq!(fault(job.join(vec![part(&sampled, 0..10)])), "it is of another job");
    assert_eq!(fault(sampled.join(vec![part(&job, 0..10)])), "it is of another job");
    assert_eq!(fault(job.add_rows(0, &[1.0; 3], &mut sampled.nothing())), "it is of another job");
    let mut forged = part(&job, 0..10);
    forged.job[31] ^= 1;
    assert_eq!(fault(job.join(vec![part(&job, 10..UNITS), forged])), "it is of another job");
    for sums in [Total::Units(vec![0; 2]), Total::Units(Vec::new()), Total::Squares(vec![0; WIDTH])] {
        let short = Partial { sums, ..part(&job, 0..10) };
        let mut to = Partial { units: Vec::new(), ..short.clone() };
        assert_eq!(fault(job.join(vec![short])), "it has another width");
        assert_eq!(fault(job.add_rows(0, &[1.0; 3], &mut to)), "it has another width");
    }
    let squares = self::job(outer(), &products());
    let mut to = Partial { sums: Total::Units(vec![0; 10]), ..squares.nothing() };
    assert_eq!(fault(squares.add_rows(0, &[1.0; 3], &mut to)), "it has another width");
    // Every release has a job of its own, even of the same query.
    let place = {
        let mut kept: Vec<Partial> = Vec::new();
        move |job: &Job| {
            if kept.is_empty() {
                kept.push(part(job, 0..UNITS));
            }
            kept.clone()
        }
    };
    assert_eq!(fault(released(&ball(), &counts(), place).1), "it is of another job");
}

/// No number in a job, and no damage to its text, makes more than an error: or it is a job, which can be used.
#[test]
fn damaged_jobs_are_refused() {
    let text = String::from_utf8(job(poisson_sample(), &counts()).write()).unwrap();
    let edited = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        Job::read(text.replacen(from, to, 1).as_bytes()).err().map(|error| error.to_string())
    };
    let state = r#"{\"width\":3,"#;
    for (from, to) in [
        (r#""version":""#, r#""version":"9"#),
        (r#""radius":2.0"#, r#""radius":1e999"#),
        (r#""radius":2.0"#, r#""radius":null"#),
        (r#""radius":2.0"#, r#""radius":-2.0"#),
        (r#""radius":2.0"#, r#""radius":1e300"#),
        (r#""noise_multiplier":3.0"#, r#""noise_multiplier":0.0"#),
        (r#""noise_multiplier":3.0"#, r#""noise_multiplier":1e-7"#),
        (r#""rate":0."#, r#""rate":7."#),
        (r#""steps":2"#, r#""steps":0"#),
        (r#""records":400"#, r#""records":0"#),
        (r#""records":400"#, r#""records":-1"#),
        (r#""width":3,"geometry""#, r#""width":4,"geometry""#),
        (r#""width":3,"geometry""#, r#""width":99999999999,"geometry""#),
        (r#""width":3,"least""#, r#""width":0,"least""#),
        (r#""least":1"#, r#""least":0"#),
        (r#""units":400"#, r#""units":-4"#),
        (r#""key":["#, r#""key":[1,"#),
        (r#""key":["#, r#""key":[-"#),
        (r#"poisson-counts"#, r#"poisson-county"#),
        (state, r#"{\"width\":-3,"#),
        (state, r#"{\"width\":4,"#),
        (state, r#"{\"width\":3e0,"#),
        (r#"\"max_count\":4.0"#, r#"\"max_count\":null"#),
        (r#"\"max_count\":4.0"#, r#"\"max_count\":1e999"#),
        (r#"{"poisson":{"#, r#"{"fixed":{"batch":3},"poisson":{"#),
    ] {
        let error = edited(from, to).unwrap_or_else(|| panic!("{from} {to}"));
        assert!(!error.is_empty());
    }
    let fixed = text.find(r#"{"poisson""#).unwrap();
    let end = fixed + text[fixed..].find("}}").unwrap() + 2;
    let local = format!("{}{}{}", &text[..fixed], r#"{"fixed":{"batch":3}}"#, &text[end..]);
    assert!(fault(Job::read(local.as_bytes())).contains("one by one"));
    // Any other damage: bytes replaced, removed and repeated.
    let mut state = 3u64;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    crate::wall::silence_query_panics();
    let mut used = 0;
    for _ in 0..3000 {
        let mut bytes = text.clone().into_bytes();
        let at = random(bytes.len());
        match random(3) {
            0 => bytes[at] = b"0123456789-.eE\"{}[],:n"[random(22)],
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, b"0123456789"[random(10)]),
        }
        let Ok(job) = Job::read(&bytes) else { continue };
        used += 1;
        let mut part = job.nothing();
        let _ = job.add_rows(0, &vec![1.0; job.width().min(1000)], &mut part);
        let _ = job.add_rows(random(500), &values(), &mut part);
    }
    assert!((100..2900).contains(&used), "{used}");
    assert!(Partial::read(b"{}").is_err() && Partial::read(&[0xff; 9]).is_err());
}

/// What cannot be sent is refused before anything is charged, and works where the records are in this process.
#[test]
fn local_releases_are_refused_elsewhere() {
    struct Here;
    impl Query for Here {
        fn width(&self) -> usize {
            WIDTH
        }
        fn contribute(&self, _: &[f64], _: &mut [f64]) {}
    }
    let there = || Records::at(Box::new(Elsewhere(|job: &Job| vec![part(job, 0..UNITS)]))).unwrap();
    let local = |result: Result<super::super::Released, WallError>| matches!(result, Err(WallError::Local { what }) if what == "sums");
    let (mut closed, id) = wall(there(), ball());
    assert!(local(closed.sum(id, &Here)));
    assert_eq!(closed.close(0).receipt.groups[0].made, 0);
    for sampler in [Sampler::Fixed { batch: 4 }, Sampler::Pass { batch: 4 }] {
        let (mut closed, id) = wall(there(), Sums { sampler, ..ball() });
        assert!(local(closed.sum(id, &counts())), "{sampler:?}");
        assert_eq!(closed.close(0).receipt.groups[0].made, 0);
        let (mut open, id) = wall(Records::new(values(), WIDTH).unwrap(), Sums { sampler, ..ball() });
        assert!(open.sum(id, &Here).is_ok() && open.sum(id, &counts()).is_ok());
    }
    let mut plan = Plan::new(UNITS, Adjacency::ReplaceOne);
    let draws = Draws { what: "draws".into(), candidates: 3, lower: 0.0, upper: 1.0, epsilon: 0.5, draws: 1 };
    let (id, pick) = (plan.sums(ball()).unwrap(), plan.draws(draws).unwrap());
    let source = NoiseSource::insecure_from_seed(1);
    let mut wall = Wall::without_privacy(there(), source, plan, Box::new(Unlimited)).unwrap();
    assert!(local(wall.sum(id, &counts())), "without noise");
    assert!(matches!(wall.draw(pick, &counts(), &[]), Err(WallError::Local { .. })));
    assert!(wall.close(0).receipt.groups.iter().all(|group| group.made == 0));
}

/// The release stays charged: parts of it may have been computed.
#[test]
fn a_place_that_fails_is_an_error_without_a_value() {
    struct Broken;
    impl Place for Broken {
        fn units(&self) -> usize {
            UNITS
        }
        fn width(&self) -> usize {
            WIDTH
        }
        fn add(&mut self, _: &Job, _: &mut dyn FnMut() -> bool) -> Result<Vec<Partial>, WallError> {
            Err(WallError::Place { fault: "no executor" })
        }
    }
    let (mut wall, id) = wall(Records::at(Box::new(Broken)).unwrap(), ball());
    let error = wall.sum(id, &counts()).unwrap_err();
    assert!(error.to_string().contains("no executor; what was reserved stays charged"), "{error}");
    assert_eq!(wall.close(0).receipt.groups[0].made, 1);
}

/// The environment of a process that adds some units: the folder of its files, and the units.
const FOLDER: &str = "RETICENT_TEST_JOB_FOLDER";

/// In a process of its own: reads a job and the records of a file, and writes a partial sum.
#[test]
fn worker() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let ends = std::env::var("RETICENT_TEST_JOB_UNITS").unwrap();
    let ends: Vec<usize> = ends.split('-').map(|end| end.parse().unwrap()).collect();
    let job = Job::read(&fs::read(folder.join("job")).unwrap()).unwrap();
    let bytes = fs::read(folder.join("records")).unwrap();
    let rows: Vec<f64> = bytes.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x)).collect();
    let mut part = job.nothing();
    // In pieces, as from a file.
    for first in (ends[0]..ends[1]).step_by(33) {
        let end = (first + 33).min(ends[1]);
        job.add_rows(first, &rows[first * WIDTH..end * WIDTH], &mut part).unwrap();
    }
    let name = std::env::var("RETICENT_TEST_JOB_PART").unwrap();
    fs::write(folder.join(name), part.write()).unwrap();
}

/// A process that adds rows to a job has no wall, and its output may be in a log: the message of a query that panics is not printed there either.
#[test]
fn messages_of_panicking_queries_of_jobs_are_not_printed() {
    struct Secret;
    impl Query for Secret {
        fn width(&self) -> usize {
            WIDTH
        }
        fn contribute(&self, record: &[f64], _: &mut [f64]) {
            panic!("the record is {record:?}");
        }
    }
    const JOB: &str = "RETICENT_TEST_PANICKING_JOB";
    if let Ok(text) = std::env::var(JOB) {
        let job = Job { query: Box::new(Secret), ..Job::read(text.as_bytes()).unwrap() };
        let mut part = job.nothing();
        job.add_rows(0, &values(), &mut part).unwrap();
        assert!(part.sums == job.nothing().sums);
        return;
    }
    let text = String::from_utf8(job(ball(), &counts()).write()).unwrap();
    let name = "wall::job::tests::messages_of_panicking_queries_of_jobs_are_not_printed";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(JOB, text)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stderr) + String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
    assert!(!output.contains("the record is"), "{output}");
}

fn spawn(folder: &Path, units: Range<usize>, part: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "wall::job::tests::worker"])
        .env(FOLDER, folder)
        .env("RETICENT_TEST_JOB_UNITS", format!("{}-{}", units.start, units.end))
        .env("RETICENT_TEST_JOB_PART", part)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// Two processes with half of the rows each, one of which is tried again, and a copy of a part that arrives twice.
#[test]
fn processes_that_share_the_records_give_the_same_integers() {
    fn check(name: &str, sums: &Sums, query: &impl Query) {
        let folder = std::env::temp_dir().join(format!("reticent-job-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let bytes: Vec<u8> = values().iter().flat_map(|x| x.to_le_bytes()).collect();
        fs::write(folder.join("records"), bytes).unwrap();
        let files = folder.clone();
        let place = move |job: &Job| {
            fs::write(files.join("job"), job.write()).unwrap();
            let halves = [0..UNITS / 2, UNITS / 2..UNITS, 0..UNITS / 2];
            let children = halves.into_iter().zip(["low", "high", "retry"]);
            let children: Vec<Child> = children.map(|(units, part)| spawn(&files, units, part)).collect();
            for mut child in children {
                assert!(child.wait().unwrap().success());
            }
            let read = |part: &str| Partial::read(&fs::read(files.join(part)).unwrap()).unwrap();
            assert!(read("low") == read("retry"), "a task that is tried again gives the same integers");
            vec![read("high"), read("low"), read("retry"), read("high")]
        };
        let (here, there) = released(sums, query, place);
        assert_eq!(here, there.unwrap(), "{name}");
        fs::remove_dir_all(&folder).unwrap();
    }
    check("ball", &ball(), &counts());
    check("outer", &outer(), &products());
    check("poisson", &poisson_sample(), &counts());
}
