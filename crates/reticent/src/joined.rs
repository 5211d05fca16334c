//! The records of a source encoded by several schemas at once: a row has the numbers of each in turn.
//!
//! # Privacy
//! One record of the source is one row, which depends on that record and on the schemas alone. As with one schema, rows that do not fit in
//! memory are read again for each release, and a pass does not fail in the middle of a run.

use std::ops::ControlFlow;

use reticent_core::wall::{Records, WallError};
use reticent_tables::{Collector, Encoder, PrivacyUnit, Source, TableError, UnitKey, UnitRows};

use crate::cancel::Cancel;
use crate::data;
use crate::error::Error;
use crate::guarded::guarded;
use crate::holdout::{Holdout, Part};
use crate::memory;

/// Rows of several encoders, read once to count them.
pub(crate) struct Joined {
    encoders: Vec<Encoder>,
    source: Source,
    /// All rows, unless they are too many.
    kept: Option<Vec<f64>>,
    /// All units, if rows are none by themselves.
    units: Option<(UnitRows, usize)>,
    count: usize,
    /// If it is there, only rows that it holds out are read.
    holdout: Option<Holdout>,
}

impl Joined {
    /// Reads all rows, unless the run is cancelled meanwhile. With a privacy unit, the first encoder reads it as well.
    pub(crate) fn read(
        encoders: Vec<Encoder>,
        source: &Source,
        (unit, holdout): (Option<&PrivacyUnit>, Option<Holdout>),
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let (mut kept, mut count, max) = (Some(Vec::new()), 0, memory::numbers(memory::default_memory()));
        let width = width(&encoders);
        let mut collector = unit.map(|unit| Collector::new(width, unit.rows(), max)).transpose()?;
        let mut fault = None;
        pass(&encoders, source, &mut |block, units| {
            count += block.len() / width;
            if let Some(collector) = &mut collector {
                fault = collector.add(block, units).err();
            } else {
                kept = kept.take().filter(|kept: &Vec<f64>| kept.len() + block.len() <= max);
                if let Some(kept) = &mut kept {
                    kept.extend_from_slice(block);
                }
            }
            if fault.is_some() || cancel.is_cancelled() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if cancel.is_cancelled() {
            return Err(data::stopped());
        }
        fault.map_or(Ok(()), Err)?;
        if let (Some(collector), Some(unit)) = (collector, unit) {
            let units = collector.finish()?;
            let (count, units, kept) = (units.count(), Some((units, unit.rows().unwrap_or(1))), None);
            return Ok(Self { encoders, source: source.clone(), kept, units, count, holdout: None });
        }
        if let Some(holdout) = &holdout {
            holdout.check_rows(count)?;
            count = holdout.counts().0;
            kept = kept.map(|kept| holdout.part(&kept, width, Part::HeldOut));
        }
        Ok(Self { encoders, source: source.clone(), kept, units: None, count, holdout })
    }

    /// Number of rows, or of units.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The rows as the wall takes them. Only releases about all records are made of them.
    pub(crate) fn records(self) -> Result<Records, WallError> {
        let Self { encoders, source, kept, units, count, holdout } = self;
        let width = width(&encoders);
        if let Some((units, least)) = units {
            return data::units_of_rows(units, least);
        }
        match kept {
            Some(values) => Records::new(values, width),
            None => {
                let read = move |_: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| {
                    // What cannot be read any more is left out, as in a pass of one encoder.
                    let _ = guarded(|| match &holdout {
                        None => pass(&encoders, &source, &mut |block, _| each(block)),
                        Some(holdout) => {
                            let mut read = Ok(());
                            holdout.pass(
                                width,
                                Part::HeldOut,
                                |each| read = pass(&encoders, &source, &mut |block, _| each(block)),
                                each,
                            );
                            read
                        }
                    });
                };
                Records::streamed(count, width, Box::new(read))
            }
        }
    }
}

fn width(encoders: &[Encoder]) -> usize {
    encoders.iter().map(Encoder::width).sum()
}

/// Receives rows and their units.
type EachRows<'a> = &'a mut dyn FnMut(&[f64], &[Option<UnitKey>]) -> ControlFlow<()>;

/// Calls `each` with blocks of rows, and with their units if the first encoder reads them, until it returns [`Break`](ControlFlow::Break). Encoders read batches of their own sizes, so each block
/// is as long as the shortest that waits.
pub(crate) fn pass(encoders: &[Encoder], source: &Source, each: EachRows<'_>) -> Result<(), TableError> {
    let mut streams: Vec<_> = encoders.iter().map(|encoder| encoder.stream(source)).collect();
    // Encoded rows of each encoder that are not part of a block yet.
    let mut waiting: Vec<Vec<f64>> = vec![Vec::new(); encoders.len()];
    let (mut block, mut units) = (Vec::new(), Vec::new());
    loop {
        for (k, (stream, waiting)) in streams.iter_mut().zip(&mut waiting).enumerate() {
            while waiting.is_empty() {
                let Some(batch) = stream.next_batch()? else { return Ok(()) };
                waiting.extend_from_slice(batch.values());
                if k == 0 {
                    units.extend_from_slice(batch.units());
                }
            }
        }
        let rows = waiting.iter().zip(encoders).map(|(some, encoder)| some.len() / encoder.width());
        let rows = rows.min().unwrap_or(0);
        block.clear();
        for row in 0..rows {
            for (waiting, encoder) in waiting.iter().zip(encoders) {
                let width = encoder.width();
                block.extend_from_slice(&waiting[row * width..(row + 1) * width]);
            }
        }
        for (waiting, encoder) in waiting.iter_mut().zip(encoders) {
            waiting.drain(..rows * encoder.width());
        }
        let here = rows.min(units.len());
        if each(&block, &units[..here]).is_break() {
            return Ok(());
        }
        units.drain(..here);
    }
}
