//! The first sentence about a model: what was fitted to what, with what privacy, when, and by which command.

use reticent::{Adjacency, SavedModel};

/// What was fitted to what, with what privacy, and when.
#[must_use]
pub fn sentence(model: &SavedModel) -> String {
    let (schema, receipt, card) = (model.schema(), model.receipt(), model.card());
    let name = model.kind().name();
    let mut text = format!("{} {name} model", article(name));
    if let Some(target) = schema.target() {
        text += &format!(" of {}", target.name());
        if let Some([negative, positive]) = model.codebook().classes() {
            text += &format!(" (positive class: {positive}, against {negative})");
        } else if let Some(unit) = target.unit() {
            text += &format!(" in {unit}");
        }
        text += " by";
    } else {
        text += " of";
    }
    let columns = schema.features().len();
    text += &format!(" {columns} column{}", if columns == 1 { "" } else { "s" });
    text += &match receipt.adjacency {
        Adjacency::ReplaceOne => format!(", fitted to {}", receipt.counted()),
        // Their number is private: this is the public guess.
        Adjacency::AddRemove => format!(", fitted to about {}", receipt.counted()),
    };
    if let Some(description) = schema.description() {
        text += &format!(" ({description})");
    }
    text += &card.fitted_on.map_or(String::new(), |day| format!(" on {day}"));
    text += &match (receipt.guarantee.cost(), &card.asked) {
        (Some(_), Some(asked)) => format!(
            ", with differential privacy: epsilon {}, delta {:e}, {} adjacency.",
            asked.epsilon, asked.delta, asked.adjacency
        ),
        (Some(_), None) => format!(", with differential privacy: {}.", receipt.guarantee),
        (None, _) => format!(", without privacy ({}).", receipt.guarantee),
    };
    text
}

/// "An" before a vowel, and before an h that is read as a letter, as in hmm.
fn article(name: &str) -> &'static str {
    let mut letters = name.chars();
    let is_vowel = |letter: Option<char>| letter.is_some_and(|letter| "aeiou".contains(letter));
    let first = letters.next();
    if is_vowel(first) || (first == Some('h') && !is_vowel(letters.next())) { "An" } else { "A" }
}

/// The command that makes such a fit, but for the names of files.
#[must_use]
pub fn command(model: &SavedModel) -> String {
    let (card, receipt) = (model.card(), model.receipt());
    let mut text = format!("reticent fit {} --data DATA --schema SCHEMA", model.kind().name());
    match &card.asked {
        None => text += " --no-privacy",
        Some(asked) => {
            text += &format!(" --epsilon {} --delta {:e}", asked.epsilon, asked.delta);
            if asked.adjacency == Adjacency::AddRemove {
                text += &format!(" --adjacency add-remove --records {}", receipt.records);
            }
        }
    }
    if let Some(held) = &card.holdout {
        text += &format!(" --holdout {}", held.share);
    }
    for (name, value) in &card.settings {
        text += &format!(" --set {name}={value}");
    }
    text + " --out MODEL"
}

#[cfg(test)]
mod tests {
    #[test]
    fn articles_are_those_of_the_sound() {
        for (name, article) in [("hmm", "An"), ("linear", "A"), ("hurdle", "A"), ("ordinal", "An")] {
            assert_eq!(super::article(name), article, "{name}");
        }
    }
}
