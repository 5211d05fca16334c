//! The column that has the privacy unit of each record.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::value::whole_number;
use crate::units::{UnitKey, UnitSecret};

/// Where the column is among those that are read, and the secret of a run.
#[derive(Clone)]
pub(super) struct UnitColumn {
    pub(super) place: usize,
    pub(super) secret: UnitSecret,
}

/// Not the secret.
impl fmt::Debug for UnitColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnitColumn").field("place", &self.place).finish_non_exhaustive()
    }
}

impl UnitColumn {
    /// The unit of a value; `None` if it is missing.
    ///
    /// # Privacy
    /// A function of this value alone, so that no other record has a part in which unit this one belongs to. Values are the same unit if their texts are,
    /// without the spaces around them, or if both are the same whole number, however the file stores it: `7`, `7.0` and `007`. Two persons who have the same value
    /// are protected as one. The secret keeps anyone who has the number from guessing the value.
    pub(super) fn key(&self, text: Option<&[u8]>) -> Option<UnitKey> {
        let text = text.map(<[u8]>::trim_ascii).filter(|text| !text.is_empty())?;
        let mut hash = Sha256::new_with_prefix(self.secret);
        match whole_number(text) {
            Some((negative, digits)) => {
                hash.update([u8::from(negative)]);
                hash.update(digits);
            }
            None => {
                hash.update([2]);
                hash.update(text);
            }
        }
        hash.finalize().first_chunk().map(|bytes| UnitKey::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_however_it_is_stored_is_one_unit() {
        let column = UnitColumn { place: 0, secret: [3; 32] };
        let key = |text: &str| column.key(Some(text.as_bytes()));
        for same in ["7.0", " 7 ", "007", "7.", "+7"] {
            assert_eq!(key(same), key("7"), "{same:?}");
        }
        // Digits beyond those of a double are kept apart.
        let long = ["12345678901234567890", "12345678901234567891", "12345678901234567890.5"].map(key);
        assert!(long[0] != long[1] && long[0] != long[2]);
        assert_eq!(key("12345678901234567890.0"), long[0]);
        for other in ["-7", "7.5", "7a", "a7", "70", "0", "0x7", "7e0", "."] {
            assert_ne!(key(other), key("7"), "{other:?}");
        }
        for missing in ["", " "] {
            assert_eq!(key(missing), None);
        }
        assert_eq!(column.key(None), None);
        // Another run has other numbers.
        assert_ne!(UnitColumn { place: 0, secret: [4; 32] }.key(Some(b"7")), key("7"));
        assert!(!format!("{column:?}").contains('3'));
    }
}
