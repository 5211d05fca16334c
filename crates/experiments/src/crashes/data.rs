//! Fatal crashes by region, month and five categorical fields.

use crate::error::{ExperimentError, by_name};
use crate::numpy::RandomState;
use reticent_core::model::hmm::{Coded, Coding, Counts, Layout};
use reticent_tables::{Column, Encoder, Kind, Schema, Source};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// Kind of region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regions {
    /// The nine census divisions: about 285 events in a month of one.
    Division,
    /// The fifty states and the District of Columbia: about 50.
    State,
}

impl Regions {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Division, Self::State];

    /// Name on the command line and in the file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Division => "division",
            Self::State => "state",
        }
    }

    /// The names of the regions.
    #[must_use]
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Division => &DIVISIONS,
            Self::State => &STATES,
        }
    }
}

impl fmt::Display for Regions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Regions {
    type Err = ExperimentError;

    fn from_str(name: &str) -> Result<Self, ExperimentError> {
        by_name("kind of region", name, &Self::ALL, Self::name)
    }
}

/// The months of three years.
pub const MONTHS: usize = 36;

const DIVISIONS: [&str; 9] = [
    "New England",
    "Middle Atlantic",
    "East North Central",
    "West North Central",
    "South Atlantic",
    "East South Central",
    "West South Central",
    "Mountain",
    "Pacific",
];

const STATES: [&str; 51] = [
    "AK", "AL", "AR", "AZ", "CA", "CO", "CT", "DC", "DE", "FL", "GA", "HI", "IA", "ID", "IL", "IN", "KS",
    "KY", "LA", "MA", "MD", "ME", "MI", "MN", "MO", "MS", "MT", "NC", "ND", "NE", "NH", "NJ", "NM", "NV",
    "NY", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VA", "VT", "WA", "WI", "WV", "WY",
];

/// A field and its categories, which the code book of the data has.
pub const FIELDS: [(&str, &[&str]); 5] = [
    (
        "light",
        &[
            "Daylight",
            "Dark - not lighted",
            "Dark - lighted",
            "Dusk",
            "Dawn",
            "Dark - unknown lighting",
            "Other",
            "Unknown",
        ],
    ),
    (
        "weather",
        &[
            "Clear",
            "Cloudy",
            "Rain",
            "Snow",
            "Fog, smog, smoke",
            "Sleet or hail",
            "Severe crosswinds",
            "Blowing snow",
            "Freezing rain or drizzle",
            "Blowing sand, soil, dirt",
            "Other",
            "Unknown",
        ],
    ),
    (
        "manner",
        &[
            "Not with a vehicle in transport",
            "Angle",
            "Front-to-front",
            "Front-to-rear",
            "Sideswipe same direction",
            "Sideswipe opposite direction",
            "Rear-to-side",
            "Rear-to-rear",
            "Other",
            "Unknown",
        ],
    ),
    (
        "route",
        &[
            "State highway",
            "Local street - municipality",
            "US highway",
            "County road",
            "Interstate",
            "Local street - township",
            "Local street - frontage road",
            "Other",
            "Unknown",
        ],
    ),
    ("rural_urban", &["Rural", "Urban", "Unknown"]),
];

/// Encoded crashes.
#[derive(Debug, Clone)]
pub struct Crashes {
    /// Kind of region.
    pub regions: Regions,
    /// How rows are written: a number each for the region, the month and the fields.
    pub coding: Coding,
    /// The shape of the counts.
    pub layout: Layout,
    /// One row for each crash.
    pub rows: Vec<f64>,
    /// The true counts.
    pub counts: Counts,
}

impl Crashes {
    /// Reads `fars_2013_2015`, Parquet or CSV, in a folder.
    ///
    /// # Errors
    /// [`ExperimentError`] if there is no such file, or if it has other columns.
    pub fn read(folder: &Path, regions: Regions) -> Result<Self, ExperimentError> {
        let candidates = ["parquet", "csv"].map(|ending| folder.join(format!("fars_2013_2015.{ending}")));
        let Some(file) = candidates.into_iter().find(|file| file.is_file()) else {
            return Err(ExperimentError::NoData {
                file: "fars_2013_2015.parquet".into(),
                folder: folder.to_owned(),
            });
        };
        let categorical = |(name, levels): (&str, &[&str])| {
            let levels: Vec<String> = levels.iter().map(|&level| level.to_owned()).collect();
            let unknown = levels.contains(&"Unknown".to_owned()).then(|| "Unknown".to_owned());
            Column::new(name, Kind::Categorical { levels, unknown: unknown.clone(), missing: unknown })
        };
        let mut columns = vec![
            categorical((regions.name(), regions.names()))?,
            Column::numeric("t_month", 0.0, (MONTHS - 1) as f64)?,
        ];
        columns.extend(FIELDS.into_iter().map(categorical).collect::<Result<Vec<_>, _>>()?);
        let schema = Schema::new(None, columns)?;
        let values = Encoder::new(&schema)?.read(&Source::open(file)?)?.into_values();
        Self::of_encoded(regions, &values)
    }

    /// Of rows with a number for each level, but for the month.
    fn of_encoded(regions: Regions, values: &[f64]) -> Result<Self, ExperimentError> {
        let levels: Vec<usize> = [regions.names().len(), MONTHS]
            .into_iter()
            .chain(FIELDS.iter().map(|(_, levels)| levels.len()))
            .collect();
        let column =
            |(k, &levels): (usize, &usize)| Coded { inputs: if k == 1 { 1 } else { levels }, levels };
        let encoded = Coding { columns: levels.iter().enumerate().map(column).collect(), region: 0, time: 1 };
        let layout = encoded.layout()?;
        let columns = levels.iter().map(|&levels| Coded { inputs: 1, levels }).collect();
        let coding = Coding { columns, region: 0, time: 1 };
        let number = |level: usize, levels: usize| 2.0 * level as f64 / (levels - 1) as f64 - 1.0;
        let (mut rows, mut counts) = (Vec::new(), vec![0.0; layout.width()]);
        for record in values.chunks(encoded.width()) {
            let event: Option<Vec<usize>> = encoded.event(record).collect();
            let (Some(cell), Some(event)) = (encoded.cell(&layout, record), event) else { continue };
            rows.push(number(cell / MONTHS, levels[0]));
            rows.push(number(cell % MONTHS, MONTHS));
            let counts = &mut counts[cell * layout.categories()..];
            for ((level, range), levels) in event.into_iter().zip(layout.field_ranges()).zip(&levels[2..]) {
                rows.push(number(level, *levels));
                counts[range.start + level] += 1.0;
            }
        }
        let counts = Counts::new(&layout, counts, None)?;
        Ok(Self { regions, coding, layout, rows, counts })
    }

    /// Events of a cell.
    #[must_use]
    pub fn events(&self, cell: usize) -> f64 {
        let first = cell * self.layout.categories();
        self.counts.values()[first..first + self.layout.fields[0]].iter().sum()
    }

    /// A mark for each cell that is not held out: all but a tenth, by NumPy's generator with the number of the split, from 1.
    #[must_use]
    pub fn split(&self, split: usize) -> Vec<bool> {
        let cells = self.layout.cells();
        let order = RandomState::new(split as u32 + 1).permutation(cells);
        let mut observed = vec![true; cells];
        order[cells - cells / 10..].iter().for_each(|&cell| observed[cell] = false);
        observed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    #[allow(clippy::print_stderr, reason = "a test says when it skips")]
    fn the_crashes_are_as_described() {
        let folder = std::env::var_os("RETICENT_DATA").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
            PathBuf::from,
        );
        if !folder.is_dir() {
            eprintln!("skipped: the data sets are not here");
            return;
        }
        // From the description of the file: 92,424 crashes, 36 months, 11 of 1,836 state-months without any.
        for (regions, empty) in [(Regions::Division, 0), (Regions::State, 11)] {
            let crashes = Crashes::read(&folder, regions).unwrap();
            assert_eq!(crashes.rows.len(), 92_424 * 7);
            assert_eq!(
                (0..crashes.layout.cells()).filter(|&cell| crashes.events(cell) == 0.0).count(),
                empty
            );
            let held_out = crashes.split(3).iter().filter(|observed| !**observed).count();
            assert_eq!(held_out, crashes.layout.cells() / 10);
            // Rows and counts agree.
            let mut cells = vec![0.0; crashes.layout.cells()];
            for row in crashes.rows.chunks(7) {
                cells[crashes.coding.cell(&crashes.layout, row).unwrap()] += 1.0;
            }
            assert!(cells.iter().enumerate().all(|(cell, &count)| count == crashes.events(cell)));
        }
    }
}
