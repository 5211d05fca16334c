//! What a word is: the longest runs of letters and digits, in lower case.

/// Calls `each` with every word of a text, in order. `lower` is scratch space.
pub(crate) fn each_word(text: &str, lower: &mut String, mut each: impl FnMut(&str)) {
    let mut each = |word: &str| {
        if word.is_empty() {
            return;
        }
        if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            each(word);
        } else {
            lower.clear();
            lower.extend(word.chars().flat_map(char::to_lowercase));
            each(lower);
        }
    };
    if !text.is_ascii() {
        return text.split(|c: char| !c.is_alphanumeric()).for_each(each);
    }
    // The same for most texts, and several times as fast.
    let mut start = 0;
    for (end, byte) in text.bytes().chain([b' ']).enumerate() {
        if !byte.is_ascii_alphanumeric() {
            if start < end {
                each(&text[start..end]);
            }
            start = end + 1;
        }
    }
}

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
