//! The records of a source encoded by several schemas at once: a row has the numbers of each in turn.
//!
//! # Privacy
//! One record of the source is one row, which depends on that record and on the schemas alone. As with one schema, rows that do not fit in
//! memory are read again for each release, and a pass does not fail in the middle of a run.

use std::ops::ControlFlow;

use reticent_core::wall::{Records, WallError};
use reticent_tables::{Encoder, Source, TableError};

use crate::cancel::Cancel;
use crate::data::{self, MAX_KEPT};
use crate::error::Error;
use crate::guarded::guarded;
use crate::holdout::{Holdout, Part};

/// Rows of several encoders, read once to count them.
pub(crate) struct Joined {
    encoders: Vec<Encoder>,
    source: Source,
    /// All rows, unless they are too many.
    kept: Option<Vec<f64>>,
    count: usize,
    /// If it is there, only rows that it holds out are read.
    holdout: Option<Holdout>,
}

impl Joined {
    /// Reads all rows, unless the run is cancelled meanwhile.
    pub(crate) fn read(
        encoders: Vec<Encoder>,
        source: &Source,
        holdout: Option<Holdout>,
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let (mut kept, mut count) = (Some(Vec::new()), 0);
        let width = width(&encoders);
        pass(&encoders, source, &mut |block| {
            count += block.len() / width;
            kept = kept.take().filter(|kept: &Vec<f64>| kept.len() + block.len() <= MAX_KEPT);
            if let Some(kept) = &mut kept {
                kept.extend_from_slice(block);
            }
            if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if cancel.is_cancelled() {
            return Err(data::stopped());
        }
        if let Some(holdout) = &holdout {
            holdout.check_rows(count)?;
            count = holdout.counts().0;
            kept = kept.map(|kept| holdout.part(&kept, width, Part::HeldOut));
        }
        Ok(Self { encoders, source: source.clone(), kept, count, holdout })
    }

    /// Number of rows.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The rows as the wall takes them. Only releases about all records are made of them.
    pub(crate) fn records(self) -> Result<Records, WallError> {
        let Self { encoders, source, kept, count, holdout } = self;
        let width = width(&encoders);
        match kept {
            Some(values) => Records::new(values, width),
            None => {
                let read = move |_: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| {
                    // What cannot be read any more is left out, as in a pass of one encoder.
                    let _ = guarded(|| match &holdout {
                        None => pass(&encoders, &source, each),
                        Some(holdout) => {
                            let mut read = Ok(());
                            holdout.pass(
                                width,
                                Part::HeldOut,
                                |each| read = pass(&encoders, &source, each),
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

/// Calls `each` with blocks of rows until it returns [`Break`](ControlFlow::Break). Encoders read batches of their own sizes, so each block
/// is as long as the shortest that waits.
pub(crate) fn pass(
    encoders: &[Encoder],
    source: &Source,
    each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
) -> Result<(), TableError> {
    let mut streams: Vec<_> = encoders.iter().map(|encoder| encoder.stream(source)).collect();
    // Encoded rows of each encoder that are not part of a block yet.
    let mut waiting: Vec<Vec<f64>> = vec![Vec::new(); encoders.len()];
    let mut block = Vec::new();
    loop {
        for (stream, waiting) in streams.iter_mut().zip(&mut waiting) {
            while waiting.is_empty() {
                let Some(batch) = stream.next_batch()? else { return Ok(()) };
                waiting.extend_from_slice(batch.values());
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
        if each(&block).is_break() {
            return Ok(());
        }
    }
}
