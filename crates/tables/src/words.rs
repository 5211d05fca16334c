//! What a word is: the longest runs of letters and digits, in lower case.

/// Calls `each` with every word of a text, in order. `lower` is scratch space.
pub(crate) fn each_word(text: &str, lower: &mut String, mut each: impl FnMut(&str)) {
    let mut lowered = |word: &str, each: &mut dyn FnMut(&str)| {
        lower.clear();
        lower.extend(word.chars().flat_map(char::to_lowercase));
        each(lower);
    };
    if !text.is_ascii() {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        return words.for_each(|word| lowered(word, &mut each));
    }
    // The same for most texts, and several times as fast.
    let (mut start, mut capital) = (0, false);
    for end in 0..=text.len() {
        match text.as_bytes().get(end).map_or(Class::Between, |&byte| CLASSES[usize::from(byte)]) {
            Class::Small => {}
            Class::Capital => capital = true,
            Class::Between => {
                if capital {
                    lowered(&text[start..end], &mut each);
                } else if start < end {
                    each(&text[start..end]);
                }
                (start, capital) = (end + 1, false);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Class {
    Small,
    Capital,
    Between,
}

/// What each byte of an ASCII text is.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Between; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_uppercase() {
            classes[byte] = Class::Capital;
        } else if (byte as u8).is_ascii_alphanumeric() {
            classes[byte] = Class::Small;
        }
        byte += 1;
    }
    classes
};

/// Whether a vocabulary entry can ever be found in a text.
pub(crate) fn is_word(entry: &str) -> bool {
    let (mut words, mut same) = (0, false);
    each_word(entry, &mut String::new(), |word| {
        words += 1;
        same = word == entry;
    });
    words == 1 && same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        let mut found = Vec::new();
        each_word("The Élan—of b2b, \"quoted\"!", &mut String::new(), |word| found.push(word.to_owned()));
        assert_eq!(found, ["the", "élan", "of", "b2b", "quoted"]);
        found.clear();
        each_word(" --Plain ascii,B2B 7", &mut String::new(), |word| found.push(word.to_owned()));
        assert_eq!(found, ["plain", "ascii", "b2b", "7"]);
        assert!(
            is_word("élan") && !is_word("Élan") && !is_word("two words") && !is_word("") && !is_word("-")
        );
    }
}
