//! The games of the audit, and the number of each.

use std::path::Path;

use reticent_core::budget::{Adjacency, Privacy};
use reticent_core::model::model;

use crate::canaries;
use crate::case::{Case, canary_cases, case, cases, unit_cases};
use crate::command::{self, Files, malformed_lines};
use crate::evaluation;
use crate::failure::Failure;
use crate::game::{Attack, Data, Effort};
use crate::row::{MAX_ROWS, Row};

/// The budget of complete fits.
const COMPLETE: (f64, f64) = (4.0, 1e-5);
/// The budget without a delta.
const PURE: (f64, f64) = (1.0, 0.0);
/// The budget of fits by the command line: small, so that few games refute a leak.
const COMMAND: (f64, f64) = (1.0, 1e-5);
/// The budget of fits with canaries. The bound allows that all of them are revealed with a probability of up to twice their number times
/// delta, so with the delta of other fits nothing could be refuted.
const CANARIES: (f64, f64) = (2.0, 1e-14);

/// A budget under an adjacency.
///
/// # Errors
/// [`Failure`] if epsilon or delta is out of range.
pub fn privacy((epsilon, delta): (f64, f64), adjacency: Adjacency) -> Result<Privacy, Failure> {
    Ok(Privacy::new(epsilon, delta, adjacency)?)
}

/// A part of the table of results.
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// Description of its games.
    pub about: &'static str,
    /// The results.
    pub rows: Vec<Row>,
}

/// The number of games of each kind.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// Complete fits through the library.
    pub complete: Effort,
    /// First releases of ordinary data.
    pub releases: Effort,
    /// First releases of special data.
    pub special: Effort,
    /// Fits by the command line.
    pub command: Effort,
    /// Fits of malformed files by the command line.
    pub odd: Effort,
    /// Runs with canaries.
    pub canaries: Effort,
    /// Whether costly fits are completed and played through the command line, and all malformed files are played.
    pub costly: bool,
}

impl Suite {
    /// The suite of the published table.
    #[must_use]
    pub fn full() -> Self {
        let effort =
            |cheap, cheap_below, seconds, min_games| Effort { cheap, cheap_below, seconds, min_games };
        Self {
            complete: effort(2000, 0.01, 5.0, 100),
            releases: effort(20_000, 0.004, 12.0, 400),
            special: effort(2000, 0.01, 3.0, 100),
            command: effort(2000, 0.01, 5.0, 240),
            odd: effort(2000, 0.01, 5.0, 240),
            canaries: effort(2000, 0.01, 5.0, 20),
            costly: true,
        }
    }

    /// A short suite for the tests.
    #[must_use]
    pub fn short() -> Self {
        let effort =
            |cheap, cheap_below, seconds, min_games| Effort { cheap, cheap_below, seconds, min_games };
        Self {
            complete: effort(300, 0.005, 1.0, 100),
            releases: effort(600, 0.005, 1.0, 60),
            special: effort(200, 0.005, 1.0, 50),
            command: Effort::exactly(160),
            odd: Effort::exactly(160),
            canaries: effort(20, 0.02, 0.4, 10),
            costly: false,
        }
    }

    /// Complete fits of a case through the library, unless they are too costly.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn complete_fits(&self, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        if case.costly && !self.costly {
            return Ok(Vec::new());
        }
        let row =
            || Attack::new(case, Data::Ordinary, privacy(COMPLETE, adjacency)?)?.complete(&self.complete);
        Ok(vec![row().map_err(|failure| failure.at(&format!("{}, {adjacency}", case.name)))?])
    }

    /// First releases of a case: of ordinary data, with and without a delta, and of special data.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn first_releases(&self, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        let play = || {
            let mut attacks = vec![Attack::with_large_budget(case, Data::Ordinary, adjacency)?];
            if attacks[0].is_of_several() {
                attacks.push(Attack::of_first_release(case, Data::Ordinary, adjacency)?);
            }
            if model(case.model)?.declaration().can_be_pure {
                attacks.push(Attack::new(case, Data::Ordinary, privacy(PURE, adjacency)?)?);
            }
            attacks
                .iter()
                .map(|attack| attack.first_releases(&self.releases))
                .collect::<Result<Vec<_>, Failure>>()
        };
        play().map_err(|failure| failure.at(&format!("{}, {adjacency}", case.name)))
    }

    /// First releases of a case from special data, unless they are too costly: no record, one record, a wrong estimate of their number, all at a bound.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn special_data(&self, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        if case.costly && !self.costly {
            return Ok(Vec::new());
        }
        let row = |data: &Data| {
            let row = || Attack::with_large_budget(case, *data, adjacency)?.first_releases(&self.special);
            row().map_err(|failure| failure.at(&format!("{}, {adjacency}, {data:?}", case.name)))
        };
        Data::special(adjacency).iter().map(row).collect()
    }

    /// First releases and complete fits of a case whose neighbours differ in all rows of a person.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn persons(&self, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        let mut rows = self.first_releases(case, adjacency)?;
        rows.extend(self.complete_fits(case, adjacency)?);
        Ok(rows)
    }

    /// Fits of the farthest neighbours of a case by the command line.
    ///
    /// # Errors
    /// [`Failure`] if the program cannot be run.
    pub fn by_command(
        &self,
        program: &Path,
        case: &Case,
        data: Data,
        adjacency: Adjacency,
    ) -> Result<Row, Failure> {
        let row = || {
            let privacy = privacy(COMMAND, adjacency)?;
            let (_, records) = data.common(case, adjacency);
            let attack = Attack::new(case, data, privacy)?;
            let file = |lines: &[String]| case.file(lines).into_bytes();
            let (first, second) = (file(&attack.neighbours.lines), file(&attack.neighbours.other_lines));
            let files = Files { first, second, records };
            command::play(program, (case, data.name(adjacency)), &files, privacy, &self.command)
        };
        row().map_err(|failure| failure.at(&format!("{}, {adjacency}, command line", case.name)))
    }

    /// Fits of malformed files by the command line: one malformed line replaces an ordinary one (replace-one) or is added (add/remove).
    ///
    /// # Errors
    /// [`Failure`] if the program cannot be run.
    pub fn malformed_files(
        &self,
        program: &Path,
        case: &Case,
        adjacency: Adjacency,
    ) -> Result<Vec<Row>, Failure> {
        let privacy = privacy(COMMAND, adjacency)?;
        let ordinary = case.lines[0].as_bytes();
        let instead = (adjacency == Adjacency::ReplaceOne).then_some(ordinary);
        let row = |(what, line): (&str, Vec<u8>)| {
            let files = Files::with_line(case, &line, instead);
            let row = command::play(program, (case, what), &files, privacy, &self.odd);
            row.map_err(|failure| failure.at(&format!("{}, {adjacency}, {what}", case.name)))
        };
        malformed_lines(case.header.split(',').count()).into_iter().map(row).collect()
    }

    /// Many canaries at once, unless they are too costly.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn many_canaries(&self, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        if case.costly && !self.costly {
            return Ok(Vec::new());
        }
        let row = || canaries::play(case, privacy(CANARIES, adjacency)?, &self.canaries);
        Ok(vec![row().map_err(|failure| failure.at(&format!("{}, {adjacency}, canaries", case.name)))?])
    }

    /// Private evaluations of a model of a case on neighbouring test records; those of a number and of two classes suffice, since the release
    /// is the same for every model.
    ///
    /// # Errors
    /// [`Failure`] if an evaluation is refused.
    pub fn evaluations(&self, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        let row = evaluation::play(case, adjacency, &self.releases);
        let row = row.map_err(|failure| failure.at(&format!("evaluation of {}, {adjacency}", case.name)))?;
        Ok(row.into_iter().collect())
    }

    /// Plays all games; `each` is called with every result. Games through the library and through the command line run in parallel.
    ///
    /// # Errors
    /// [`Failure`] if a game cannot be played.
    pub fn play(&self, program: &Path, each: impl Fn(&Row) + Sync) -> Result<Vec<Section>, Failure> {
        let each = &each;
        let sections = std::thread::scope(|scope| {
            let command = scope.spawn(move || self.play_command(program, each));
            let library = self.play_library(each);
            (library, command.join())
        });
        let (library, Ok(command)) = sections else {
            return Err(Failure::new("the games through the command line ended early"));
        };
        let rows = library?.into_iter().chain(command?);
        let sections: Vec<Section> =
            TITLES.iter().zip(rows).map(|(&(title, about), rows)| Section { title, about, rows }).collect();
        // The error probability of the table is shared by at most so many results.
        match sections.iter().map(|section| section.rows.len()).sum::<usize>() {
            0..=MAX_ROWS => Ok(sections),
            more => {
                Err(Failure::new(format!("{more} results, and at most {MAX_ROWS} have their confidence")))
            }
        }
    }

    /// The first five sections.
    fn play_library(&self, each: &impl Fn(&Row)) -> Result<Vec<Vec<Row>>, Failure> {
        type Play = fn(&Suite, &Case, Adjacency) -> Result<Vec<Row>, Failure>;
        let games: [(Play, Vec<Case>); 5] = [
            (Self::first_releases, cases()),
            (Self::special_data, cases()),
            (Self::complete_fits, cases()),
            (Self::many_canaries, canary_cases()),
            (Self::persons, unit_cases()),
        ];
        let mut sections = Vec::new();
        for (play, cases) in games {
            let mut rows = Vec::new();
            for (case, adjacency) in both(cases) {
                let some = play(self, &case, adjacency)?;
                some.iter().for_each(each);
                rows.extend(some);
            }
            sections.push(rows);
        }
        for (case, adjacency) in both(vec![case("linear"), case("logistic")]) {
            let some = self.evaluations(&case, adjacency)?;
            some.iter().for_each(each);
            sections[0].extend(some);
        }
        Ok(sections)
    }

    /// The last two sections.
    fn play_command(&self, program: &Path, each: &impl Fn(&Row)) -> Result<Vec<Vec<Row>>, Failure> {
        // The short suite omits other cases and the other adjacency for malformed files: the readers are the same.
        let few =
            || if self.costly { vec![case("dirichlet"), case("linear")] } else { vec![case("dirichlet")] };
        let (mut rows, mut odd) = (Vec::new(), Vec::new());
        let ordinary = both(cases()).map(|(case, adjacency)| (case, adjacency, Data::Ordinary));
        let ordinary = ordinary.filter(|(case, ..)| self.costly || !case.costly);
        let special = both(few()).flat_map(|(case, adjacency)| {
            Data::special(adjacency).iter().map(move |data| (case.clone(), adjacency, *data))
        });
        // Which records are held out must not depend on any of them.
        let holdout =
            Case { name: "linear with a holdout".into(), arguments: &["--holdout", "0.2"], ..case("linear") };
        let holdout = [(holdout, Adjacency::ReplaceOne, Data::Ordinary)];
        let persons = unit_cases().into_iter().filter(|case| case.model == "linear");
        let persons = both(persons.collect()).map(|(case, adjacency)| (case, adjacency, Data::Ordinary));
        for (case, adjacency, data) in ordinary.chain(special).chain(holdout).chain(persons) {
            let row = self.by_command(program, &case, data, adjacency)?;
            each(&row);
            rows.push(row);
        }
        let played = |(_, adjacency): &(Case, Adjacency)| self.costly || *adjacency == Adjacency::ReplaceOne;
        for (case, adjacency) in both(few()).filter(played) {
            let some = self.malformed_files(program, &case, adjacency)?;
            some.iter().for_each(each);
            odd.extend(some);
        }
        Ok(vec![rows, odd])
    }
}

/// Cases with each of their adjacencies.
fn both(cases: Vec<Case>) -> impl Iterator<Item = (Case, Adjacency)> {
    let both = |case: Case| case.adjacencies().iter().map(move |adjacency| (case.clone(), *adjacency));
    cases.into_iter().flat_map(both)
}

/// Titles and descriptions of the sections.
const TITLES: [(&str, &str); 7] = [
    (
        "First releases",
        "Fits through the library up to the last release that does not depend on earlier ones. The score is the log likelihood ratio of the noise \
         between the two data sets, so that no test has more power. The claim in mu is that of these releases, the claim in epsilon that of the complete \
         fit. Observed over claimed mu is the tightness of the noise: below 1, the noise exceeds what these neighbours require. The last rows are private \
         evaluations of a public model, whose neighbours are sets of test records.",
    ),
    (
        "Special data",
        "The same on an empty data set, on one record (or the fewest that the model has a plan for), with a wrong estimate of the number of records, and with all records at a bound.",
    ),
    (
        "Complete fits",
        "Fits through the library to the end. The event may depend on the releases, the numbers of the posterior, and the outcome of the fit.",
    ),
    (
        "Many canaries",
        "Each of many canaries takes part with probability 1/2 (add/remove), or an ordinary record does in its place (replace-one); guesses are \
         about those whose traces in the releases are strongest and weakest (Steinke, Nasr, Jagielski 2023, Theorem 5.2).",
    ),
    (
        "Privacy units",
        "First releases and complete fits of tables in which one person has 40 rows and others one to three. Neighbours differ in all rows of that person: \
         they have other values, are fewer, or are not there.",
    ),
    (
        "Command line",
        "`reticent fit` on a CSV file, as a process: the event may depend on its exit code, its output and the files it writes.",
    ),
    (
        "Malformed files",
        "The same with a malformed line in the middle of the file, which replaces an ordinary line (replace-one) or is added (add/remove).",
    ),
];
