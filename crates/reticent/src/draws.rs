//! Draws from a posterior, as a file.

use std::path::Path;

use reticent_core::model::Draws;
use reticent_tables::Predictions;

use crate::error::Error;

/// Draws that are written at once.
const BLOCK: usize = 8192;

/// Writes draws: their number from 0, and a column for each parameter.
pub(crate) fn write(draws: &Draws, out: &Path) -> Result<(), Error> {
    let names: Vec<&str> = draws.names.iter().map(String::as_str).collect();
    let mut file = Predictions::of_draws(out, &names)?;
    for block in draws.values.chunks(BLOCK * names.len().max(1)) {
        let column = |k: usize| block.iter().skip(k).step_by(names.len()).copied().collect();
        let columns: Vec<Vec<f64>> = (0..names.len()).map(column).collect();
        file.append(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    }
    Ok(file.finish()?)
}
