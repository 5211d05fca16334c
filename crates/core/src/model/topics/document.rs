//! One document: the words of a public vocabulary and how often each occurs.

/// The encoding of documents in rows of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// The count of each word of the vocabulary.
    Counts,
    /// At most this many distinct words in increasing order, each as $w + Vn$ for word $w$ and count $n$; zeros fill
    /// the rest.
    Slots(usize),
}

use serde::{Deserialize, Serialize};

impl Layout {
    /// Numbers in a row, for a vocabulary of this many words.
    #[must_use]
    pub fn width(self, words: usize) -> usize {
        match self {
            Self::Counts => words,
            Self::Slots(slots) => slots,
        }
    }

    /// Writes a document to a row, which holds zeros. If it has more distinct words than slots, the most frequent ones are kept,
    /// and of equally frequent ones the first: a pure function of the document. Words outside the vocabulary are ignored.
    pub fn write(self, counts: &[(u32, u32)], words: usize, row: &mut [f64]) {
        let mut kept: Vec<(u32, u32)> =
            counts.iter().copied().filter(|(word, count)| (*word as usize) < words && *count > 0).collect();
        match self {
            Self::Counts => kept.iter().for_each(|(word, count)| row[*word as usize] += f64::from(*count)),
            Self::Slots(slots) => {
                if kept.len() > slots {
                    kept.sort_by_key(|&(word, count)| (std::cmp::Reverse(count), word));
                    kept.truncate(slots);
                }
                kept.sort_unstable();
                for (place, (word, count)) in row.iter_mut().zip(kept) {
                    *place = f64::from(word) + words as f64 * f64::from(count);
                }
            }
        }
    }
}

/// The distinct words of a document, and how often each occurs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// In increasing order.
    pub words: Vec<usize>,
    /// Positive.
    pub counts: Vec<f32>,
}

impl Document {
    /// Decodes a row. Values that are no counts are ignored.
    #[must_use]
    pub fn read(row: &[f64], layout: Layout, words: usize) -> Self {
        let each = |(place, &x): (usize, &f64)| {
            let (word, count) = match layout {
                Layout::Counts => (place, x),
                Layout::Slots(_) => {
                    let count = (x / words as f64).floor();
                    ((x - count * words as f64) as usize, count)
                }
            };
            (count > 0.0 && word < words && (count as f32).is_finite()).then_some((word, count as f32))
        };
        // The first empty slot is the end.
        let end = matches!(layout, Layout::Slots(_)).then(|| row.iter().position(|x| *x == 0.0)).flatten();
        let (words, counts) = row[..end.unwrap_or(row.len())].iter().enumerate().filter_map(each).unzip();
        Self { words, counts }
    }

    /// Total number of words.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.counts.iter().map(|&count| f64::from(count)).sum()
    }

    /// The document rescaled to another length. A document without words is unchanged.
    pub fn resize(&mut self, length: f64) {
        let by = (length / self.length()) as f32;
        self.counts.iter_mut().for_each(|count| *count *= by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_hold_the_same_document() {
        let counts = [(7, 2), (3, 5), (99, 4), (0, 1), (5, 0)];
        let expected = Document { words: vec![0, 3, 7], counts: vec![1.0, 5.0, 2.0] };
        for layout in [Layout::Counts, Layout::Slots(4)] {
            let mut row = vec![0.0; layout.width(10)];
            layout.write(&counts, 10, &mut row);
            assert_eq!(Document::read(&row, layout, 10), expected);
        }
        // With too few slots the most frequent words stay.
        let mut row = [0.0; 2];
        Layout::Slots(2).write(&counts, 10, &mut row);
        assert_eq!(Document::read(&row, Layout::Slots(2), 10).words, [3, 7]);
    }

    #[test]
    fn resizing_keeps_the_shares() {
        let mut document = Document { words: vec![1, 2], counts: vec![3.0, 1.0] };
        document.resize(100.0);
        assert_eq!(document.counts, [75.0, 25.0]);
        let mut empty = Document::default();
        empty.resize(100.0);
        assert_eq!(empty, Document::default());
    }

    #[test]
    fn what_is_no_count_is_ignored() {
        let row = [f64::NAN, -1.0, f64::INFINITY, 1e300, 2.0];
        assert_eq!(Document::read(&row, Layout::Counts, 5).words, [4]);
        assert_eq!(Document::read(&row, Layout::Slots(5), 5).words.len(), 0);
    }
}
