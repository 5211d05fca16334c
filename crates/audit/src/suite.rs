//! All games, and how many of each.

use std::path::Path;

use reticent_core::budget::{Adjacency, Privacy};
use reticent_core::model::model;

use crate::canaries;
use crate::case::{Case, canary_cases, case, cases};
use crate::command::{self, Files, odd_lines};
use crate::failure::Failure;
use crate::game::{Arena, Data, Effort};
use crate::row::{MAX_ROWS, Row};

/// The budget of whole fits.
const WHOLE: (f64, f64) = (4.0, 1e-5);
/// The budget without a delta.
const PURE: (f64, f64) = (1.0, 0.0);
/// The budget of fits by the command line: so small that what gives a record away is seen in few games.
const COMMAND: (f64, f64) = (1.0, 1e-5);
/// The budget of fits with canaries. The bound allows for all of them being revealed with a probability of up to twice their number times delta,
/// so that a delta as of other fits would leave nothing to refute.
const CANARIES: (f64, f64) = (2.0, 1e-14);

/// A budget under an adjacency.
///
/// # Errors
/// [`Failure`] if it is none.
pub fn privacy((epsilon, delta): (f64, f64), adjacency: Adjacency) -> Result<Privacy, Failure> {
    Ok(Privacy::new(epsilon, delta, adjacency)?)
}

/// A part of the table of results.
pub struct Section {
    /// What its games are.
    pub title: &'static str,
    /// More about them.
    pub about: &'static str,
    /// The results.
    pub rows: Vec<Row>,
}

/// How many games of each kind.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// Of whole fits through the library.
    pub whole: Effort,
    /// Of first releases.
    pub releases: Effort,
    /// Of first releases from special data.
    pub special: Effort,
    /// Of fits by the command line.
    pub command: Effort,
    /// The same with odd files.
    pub odd: Effort,
    /// Of runs with canaries.
    pub canaries: Effort,
    /// Whether costly fits are played to their end and through the command line, and all odd files.
    pub costly: bool,
}

impl Suite {
    /// For the table in the documentation.
    #[must_use]
    pub fn full() -> Self {
        let effort = |cheap, cheap_below, seconds, least| Effort { cheap, cheap_below, seconds, least };
        Self {
            whole: effort(2000, 0.01, 8.0, 100),
            releases: effort(20_000, 0.004, 20.0, 400),
            special: effort(2000, 0.01, 4.0, 100),
            command: effort(2000, 0.01, 5.0, 240),
            odd: effort(2000, 0.01, 5.0, 240),
            canaries: effort(2000, 0.01, 8.0, 20),
            costly: true,
        }
    }

    /// For every run of the tests.
    #[must_use]
    pub fn short() -> Self {
        let effort = |cheap, cheap_below, seconds, least| Effort { cheap, cheap_below, seconds, least };
        Self {
            whole: effort(300, 0.005, 1.0, 100),
            releases: effort(600, 0.005, 1.0, 60),
            special: effort(200, 0.005, 1.0, 50),
            command: Effort::games_in_any_case(160),
            odd: Effort::games_in_any_case(160),
            canaries: effort(20, 0.02, 0.4, 10),
            costly: false,
        }
    }

    /// Whole fits of a case through the library, unless they are too costly.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn whole_fits(&self, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        if case.costly && !self.costly {
            return Ok(Vec::new());
        }
        let row = || Arena::new(case, Data::Ordinary, privacy(WHOLE, adjacency)?)?.whole(&self.whole);
        Ok(vec![row().map_err(|failure| failure.at(&format!("{}, {adjacency}", case.name)))?])
    }

    /// First releases of a case: of ordinary data, with and without a delta, and of special data.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn first_releases(&self, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        let play = || {
            let mut arenas = vec![Arena::sharp(case, Data::Ordinary, adjacency)?];
            if model(case.model)?.can_be_pure() {
                arenas.push(Arena::new(case, Data::Ordinary, privacy(PURE, adjacency)?)?);
            }
            arenas
                .iter()
                .map(|arena| arena.first_releases(&self.releases))
                .collect::<Result<Vec<_>, Failure>>()
        };
        play().map_err(|failure| failure.at(&format!("{}, {adjacency}", case.name)))
    }

    /// First releases of a case from special data, unless they are too costly: none, one record, a wrong guess of their number, all at a bound.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn special_data(&self, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        if case.costly && !self.costly {
            return Ok(Vec::new());
        }
        let row = |data: &Data| {
            let row = || Arena::sharp(case, *data, adjacency)?.first_releases(&self.special);
            row().map_err(|failure| failure.at(&format!("{}, {adjacency}, {data:?}", case.name)))
        };
        Data::special(adjacency).iter().map(row).collect()
    }

    /// A case by the command line: neighbours that are farthest apart.
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
            let arena = Arena::new(case, data, privacy)?;
            let file = |lines: &[String]| case.file(lines).into_bytes();
            let (first, second) = (file(&arena.neighbours.lines), file(&arena.neighbours.other_lines));
            let files = Files { first, second, records };
            command::play(program, (case, data.name(adjacency)), &files, privacy, &self.command)
        };
        row().map_err(|failure| failure.at(&format!("{}, {adjacency}, command line", case.name)))
    }

    /// Odd files by the command line: a line that no reader expects, in the place of an ordinary one or of none.
    ///
    /// # Errors
    /// [`Failure`] if the program cannot be run.
    pub fn odd_files(&self, program: &Path, case: &Case, adjacency: Adjacency) -> Result<Vec<Row>, Failure> {
        let privacy = privacy(COMMAND, adjacency)?;
        let ordinary = case.lines[0].as_bytes();
        let instead = (adjacency == Adjacency::ReplaceOne).then_some(ordinary);
        let row = |(what, line): (&str, Vec<u8>)| {
            let files = Files::with_line(case, &line, instead);
            let row = command::play(program, (case, what), &files, privacy, &self.odd);
            row.map_err(|failure| failure.at(&format!("{}, {adjacency}, {what}", case.name)))
        };
        odd_lines(case.header.split(',').count()).into_iter().map(row).collect()
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

    /// All games; `each` sees a result as soon as it is there. Those through the library and those through the command line are played side by side.
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
        // The confidence of the whole table is shared by so many.
        match sections.iter().map(|section| section.rows.len()).sum::<usize>() {
            0..=MAX_ROWS => Ok(sections),
            more => {
                Err(Failure::new(format!("{more} results, and at most {MAX_ROWS} have their confidence")))
            }
        }
    }

    /// The first four sections.
    fn play_library(&self, each: &impl Fn(&Row)) -> Result<Vec<Vec<Row>>, Failure> {
        type Play = fn(&Suite, &Case, Adjacency) -> Result<Vec<Row>, Failure>;
        let games: [(Play, Vec<Case>); 4] = [
            (Self::first_releases, cases()),
            (Self::special_data, cases()),
            (Self::whole_fits, cases()),
            (Self::many_canaries, canary_cases()),
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
        Ok(sections)
    }

    /// The last two sections.
    fn play_command(&self, program: &Path, each: &impl Fn(&Row)) -> Result<Vec<Vec<Row>>, Failure> {
        // In short, what other cases and the other adjacency would add to odd files takes longer than it is worth: readers are the same.
        let few =
            || if self.costly { vec![case("dirichlet"), case("linear")] } else { vec![case("dirichlet")] };
        let (mut rows, mut odd) = (Vec::new(), Vec::new());
        let ordinary = both(cases()).map(|(case, adjacency)| (case, adjacency, Data::Ordinary));
        let ordinary = ordinary.filter(|(case, ..)| self.costly || !case.costly);
        let special = both(few()).flat_map(|(case, adjacency)| {
            Data::special(adjacency).iter().map(move |data| (case.clone(), adjacency, *data))
        });
        for (case, adjacency, data) in ordinary.chain(special) {
            let row = self.by_command(program, &case, data, adjacency)?;
            each(&row);
            rows.push(row);
        }
        let played = |(_, adjacency): &(Case, Adjacency)| self.costly || *adjacency == Adjacency::ReplaceOne;
        for (case, adjacency) in both(few()).filter(played) {
            let some = self.odd_files(program, &case, adjacency)?;
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

/// What the sections of the table are.
const TITLES: [(&str, &str); 6] = [
    (
        "First releases",
        "Fits through the library up to the last release that does not depend on earlier ones. The score is the log likelihood ratio of the noise \
         between the two data sets, so that no test has more power. The claim in mu is that of these releases, the claim in epsilon that of the whole \
         fit. Observed over claimed mu is how tight the noise is: what is missing to 1 is noise that these neighbours did not need.",
    ),
    (
        "Special data",
        "The same on data that are empty, one record, not as many as was guessed, or all at a bound.",
    ),
    (
        "Whole fits",
        "Fits through the library to the end. The event is about the releases, the numbers of the posterior, and how the fit ended.",
    ),
    (
        "Many canaries",
        "Each of many canaries takes part with probability 1/2 (add/remove), or an ordinary record does in its place (replace-one); guesses are \
         about those whose traces in the releases are strongest and weakest (Steinke, Nasr, Jagielski 2023, Theorem 5.2).",
    ),
    (
        "Command line",
        "`reticent fit` from a CSV file to all that it prints, writes and ends with, as a process.",
    ),
    (
        "Odd files",
        "The same with a line that no reader expects in the middle of the file: in the place of an ordinary line (replace-one), or of none (add/remove).",
    ),
];
