//! Values that stand for those of a person: no message may contain them, nor a part of them.

/// What records contain in the inputs that mutations start from: a text and a number.
pub(crate) const SECRETS: [&str; 2] = ["SECRETVALUE", "987654.321"];

/// A mutation may leave only a part of a value. Shorter ones occur by chance.
const PART: usize = 5;

/// Fails if a message, or what a program prints of an error, contains a part of a secret.
///
/// # Panics
/// Then.
pub(crate) fn assert_discreet(error: &(impl std::fmt::Display + std::fmt::Debug)) {
    assert_without_secrets(&format!("{error}\n{error:?}"));
}

/// The same for a text.
pub(crate) fn assert_without_secrets(text: &str) {
    for secret in SECRETS {
        let parts = (0..=secret.len() - PART).map(|start| &secret[start..start + PART]);
        for part in parts {
            assert!(!text.contains(part), "a message contains a part of a value: {text:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_value_is_noticed() {
        assert_without_secrets("t.csv: there is no column \"VALU\", 9876");
        for text in ["... XETVALU ...", "SECRETVALUE", "at 4.321", "87654"] {
            assert!(std::panic::catch_unwind(|| assert_without_secrets(text)).is_err(), "{text}");
        }
    }
}
