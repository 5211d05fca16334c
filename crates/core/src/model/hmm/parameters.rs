//! Named parameters, and simulated events.

use super::posterior::{Fit, HmmPosterior, StateDraws};
use super::{Coded, Hmm};
use crate::engine::conjugate::choose;
use crate::model::parameters::{BetaMarginal, Block, Fixed, Joint, Marginal, Parameter, Sampled};
use crate::model::{Code, Codebook, CodedColumn, Parameters};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

impl StateDraws {
    /// With the states in this order.
    pub(super) fn ordered(self, order: &[usize], width: usize) -> Self {
        let states = order.len();
        let profile =
            |draw: Vec<f64>| order.iter().flat_map(|&k| draw[k * width..][..width].to_vec()).collect();
        let matrix = |draw: Vec<f64>| {
            order
                .iter()
                .flat_map(|&from| order.iter().map(|&to| draw[from * states + to]).collect::<Vec<_>>())
                .collect()
        };
        let one = |values: &[f64]| order.iter().map(|&k| values[k]).collect();
        Self {
            profiles: self.profiles.into_iter().map(profile).collect(),
            transitions: self.transitions.into_iter().map(matrix).collect(),
            events: one(&self.events),
            moves: one(&self.moves),
            noisy: self.noisy,
        }
    }

    /// Whether all parts have the lengths that the model requires, for one that was read from a file.
    pub(super) fn is_consistent(&self, states: usize, width: usize) -> bool {
        let right = |draws: &[Vec<f64>], length: usize| {
            let valid =
                |draw: &Vec<f64>| draw.len() == length && draw.iter().all(|p| (0.0..=1.0 + 1e-9).contains(p));
            !draws.is_empty() && draws.iter().all(valid)
        };
        let finite = |values: &[f64]| values.len() == states && values.iter().all(|x| x.is_finite());
        right(&self.profiles, states * width)
            && right(&self.transitions, states * states)
            && finite(&self.events)
            && finite(&self.moves)
    }
}

/// The levels of a column, as an event has them.
fn levels(coded: Coded, column: &CodedColumn) -> Vec<String> {
    match &column.code {
        Code::Levels { levels } if levels.len() == coded.levels => levels.clone(),
        _ if coded.levels == 2 && !matches!(column.code, Code::Number { .. }) => column.sides().to_vec(),
        Code::Number { scale, .. } => {
            // Evenly spaced values from one bound to the other.
            let last = coded.levels.saturating_sub(1).max(1) as f64;
            let digits = (3 - (2.0 * scale.abs() / last).log10().floor() as i32).clamp(0, 12) as usize;
            let value = |k: usize| column.decode(2.0 * k as f64 / last - 1.0);
            let text = |k: usize| {
                let text = format!("{:.digits$}", value(k));
                if text.contains('.') {
                    text.trim_end_matches('0').trim_end_matches('.').to_owned()
                } else {
                    text
                }
            };
            (0..coded.levels).map(text).collect()
        }
        _ => (1..=coded.levels).map(|k| k.to_string()).collect(),
    }
}

impl Fit {
    /// `profile[state, column, level]`, `transition[from, to]` and `state_probability[region, time, state]`. The last are probabilities, which have no
    /// distribution of their own.
    pub(super) fn named_parameters(&self, codebook: &Codebook) -> Parameters {
        let HmmPosterior { model, frequencies, .. } = &self.posterior;
        let state = |name: &'static str, k: usize| (name, (k + 1).to_string());
        let columns: Vec<(usize, Vec<String>)> = self
            .coding
            .columns
            .iter()
            .zip(&codebook.columns)
            .enumerate()
            .map(|(k, (coded, column))| {
                // A field that is one number has two levels, by its sign.
                let is_field = ![self.coding.region, self.coding.time].contains(&k);
                let names = if is_field && coded.inputs == 1 {
                    column.sides().to_vec()
                } else {
                    levels(*coded, column)
                };
                (k, names)
            })
            .collect();
        let fields: Vec<(String, String)> = columns
            .iter()
            .filter(|(k, _)| ![self.coding.region, self.coding.time].contains(k))
            .flat_map(|(k, names)| names.iter().map(|name| (codebook.columns[*k].label(), name.clone())))
            .collect();
        let profiles = (0..model.states).flat_map(|k| fields.iter().map(move |field| (k, field)));
        let profile = |(coordinate, (k, (column, level))): (usize, (usize, &(String, String)))| {
            let place = vec![state("state", k), ("column", column.clone()), ("level", level.clone())];
            Parameter::new("profile", place, coordinate)
        };
        let pairs = (0..model.states).flat_map(|from| (0..model.states).map(move |to| (from, to)));
        let transition = |(coordinate, (from, to))| {
            Parameter::new("transition", vec![state("from", from), state("to", to)], coordinate)
        };
        let (regions, times) = (&columns[self.coding.region].1, &columns[self.coding.time].1);
        let cells = regions.iter().flat_map(|region| times.iter().map(move |time| (region, time)));
        let probability = |(coordinate, ((region, time), k)): (usize, ((&String, &String), usize))| {
            let place = vec![("region", region.clone()), ("time", time.clone()), state("state", k)];
            Parameter::new("state_probability", place, coordinate).with_note("a posterior probability")
        };
        let of_cells = cells.flat_map(|cell| (0..model.states).map(move |k| (cell, k)));
        let known = frequencies.iter().map(|p| Box::new(Fixed(*p)) as Box<dyn Marginal>).collect();
        let (profile_joint, transition_joint) = self.posterior.joints();
        let mut blocks =
            vec![Block { parameters: profiles.enumerate().map(profile).collect(), joint: profile_joint }];
        blocks.extend(
            transition_joint
                .map(|joint| Block { parameters: pairs.enumerate().map(transition).collect(), joint }),
        );
        let parameters = of_cells.enumerate().map(probability).collect();
        blocks.push(Block { parameters, joint: Joint::Independent(known) });
        Parameters::new(blocks)
    }

    /// An event: a cell by chance, each with the same probability, since the number of events of a cell is not part of the model; its state; and a
    /// category of each field by the profile of a draw.
    pub(super) fn event(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let HmmPosterior { model, frequencies, profiles, draws, .. } = &self.posterior;
        let Hmm { layout, states, .. } = model;
        let (cell, width) = (rng.random_range(0..layout.cells()), layout.categories());
        let state = choose(&frequencies[cell * states..][..*states], rng);
        let drawn = draws.as_ref().map(|draws| &draws.profiles[rng.random_range(0..draws.profiles.len())]);
        let profile = &drawn.unwrap_or(profiles)[state * width..][..width];
        let mut fields = layout.field_ranges();
        let mut record = Vec::new();
        for (k, coded) in self.coding.columns.iter().enumerate() {
            let level = if k == self.coding.region {
                cell / layout.steps
            } else if k == self.coding.time {
                cell % layout.steps
            } else {
                fields.next().map_or(0, |range| choose(&profile[range], rng))
            };
            if coded.inputs > 1 {
                record.extend((0..coded.inputs).map(|l| f64::from(u8::from(l == level))));
            } else {
                record.push(2.0 * level as f64 / coded.levels.saturating_sub(1).max(1) as f64 - 1.0);
            }
        }
        record
    }
}

impl HmmPosterior {
    /// The joint distributions of the profiles and of the transition matrix: the stored draws, or for early files beta densities with the
    /// stored moments and no transitions.
    fn joints(&self) -> (Joint, Option<Joint>) {
        let Hmm { layout, states, .. } = &self.model;
        let width = layout.categories();
        let Some(draws) = &self.draws else {
            let one = |(mean, sd): (&f64, &f64)| {
                Box::new(BetaMarginal::of_moments(*mean, sd * sd, sd * sd)) as Box<dyn Marginal>
            };
            return (
                Joint::Independent(self.profiles.iter().zip(&self.profiles_sd).map(one).collect()),
                None,
            );
        };
        let flag = |p: f64, total: f64| {
            let sd = (p * (1.0 - p) / (total.max(0.0) + 1.0)).max(0.0).sqrt();
            if draws.noisy { sd } else { f64::INFINITY }
        };
        let profiles_sd =
            self.profiles.iter().enumerate().map(|(k, &p)| flag(p, draws.events[k / width])).collect();
        let count = draws.transitions.len() as f64;
        let mean = |k: usize| draws.transitions.iter().map(|draw| draw[k]).sum::<f64>() / count;
        let transitions_sd = (0..states * states).map(|k| flag(mean(k), draws.moves[k / states])).collect();
        let sampled = |draws: &[Vec<f64>], sd| Joint::Sampled(Sampled::new(draws.iter().cloned(), sd));
        (sampled(&draws.profiles, profiles_sd), Some(sampled(&draws.transitions, transitions_sd)))
    }
}
