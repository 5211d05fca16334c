//! Marker values of records: no message may contain a part of them.

/// Values of records in the seeds: a text and a number.
pub(crate) const SECRETS: [&str; 2] = ["SECRETVALUE", "987654.321"];

/// Length of the parts searched for, since a mutation may leave only a part. Shorter ones occur by chance.
const PART: usize = 5;

/// Asserts that neither the message of an error nor its debug form contains a part of a secret.
pub(crate) fn assert_discreet(error: &(impl std::fmt::Display + std::fmt::Debug)) {
    assert_without_secrets(&format!("{error}\n{error:?}"));
}

/// Asserts that a text contains no part of a secret.
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
    fn a_part_of_a_value_is_detected() {
        assert_without_secrets("t.csv: there is no column \"VALU\", 9876");
        for text in ["... XETVALU ...", "SECRETVALUE", "at 4.321", "87654"] {
            assert!(std::panic::catch_unwind(|| assert_without_secrets(text)).is_err(), "{text}");
        }
    }
}
