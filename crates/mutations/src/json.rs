//! Mutations of JSON values: mutated bytes rarely parse.

use serde_json::{Map, Value, json};

use crate::Dice;

/// Hostile texts: markup, scripts, terminal sequences, paths, and look-alikes.
pub(crate) const TEXTS: [&str; 16] = [
    "",
    "<script>hostile()</script>",
    "</script><script>hostile()</script>",
    "<!--<script>",
    "\"><img src=x onerror=hostile()>",
    "' onmouseover='hostile()",
    "{{ 7 * 7 }}{% raw %}",
    "\u{1b}[31mred\u{1b}]0;title\u{7}",
    "\u{202e}lanretxe\u{2066}\u{200f}",
    "\u{0}\r\n\t\u{8}\u{7f}\u{9b}",
    "../../../../etc/passwd",
    "%s%n{}{0}",
    "\u{feff}\u{fffe}\u{10ffff}e\u{301}",
    "&lt;script&gt;&amp;",
    "regression",
    "NaN",
];

/// Applies a few edits to nested values.
pub(crate) fn mutate(value: &mut Value, dice: &mut Dice) {
    for _ in 0..=dice.below(3) {
        let (from, at) = (dice.below(count(value)), dice.below(count(value)));
        let other = nth(value, from).clone();
        edit(nth(value, at), &other, dice);
    }
}

/// Number of nested values, including itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The nested value of this index in depth-first order, starting with itself.
fn nth(value: &mut Value, mut number: usize) -> &mut Value {
    if number == 0 {
        return value;
    }
    number -= 1;
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => unreachable!("values without others in them have no second"),
    };
    for item in inner {
        let size = count(item);
        if number < size {
            return nth(item, number);
        }
        number -= size;
    }
    unreachable!("the number is below the count")
}

fn edit(value: &mut Value, other: &Value, dice: &mut Dice) {
    match (dice.below(8), &mut *value) {
        (0, _) => *value = other.clone(),
        (1, Value::Array(items)) if !items.is_empty() => drop(items.remove(dice.below(items.len()))),
        (1, Value::Object(fields)) if !fields.is_empty() => {
            let name = fields.keys().nth(dice.below(fields.len())).cloned().unwrap_or_default();
            fields.remove(&name);
        }
        (2, Value::Array(items)) => {
            let original = items.clone();
            (0..dice.below(200)).for_each(|_| items.extend(original.iter().take(8).cloned()));
        }
        (2, Value::Object(fields)) => drop(fields.insert((*dice.pick(&TEXTS)).to_owned(), other.clone())),
        (3, Value::Number(number)) => {
            let scale = *dice.pick(&[-1.0, 0.0, 2.0, 1e-3, 1e3, 1e9, 1e-300, 1e300]);
            *value = json!(number.as_f64().unwrap_or(1.0) * scale);
        }
        (3 | 4, Value::String(text)) => text.push_str(dice.pick::<&str>(&TEXTS)),
        (5, _) => *value = nested(value.take(), 1 << dice.below(7)),
        _ => *value = unexpected(dice),
    }
}

/// The value nested in `depth` arrays.
fn nested(value: Value, depth: usize) -> Value {
    (0..depth).fold(value, |inner, _| Value::Array(vec![inner]))
}

/// A value of a rarely expected type or size.
fn unexpected(dice: &mut Dice) -> Value {
    match dice.below(16) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!([]),
        3 => Value::Object(Map::new()),
        4 => json!(0),
        5 => json!(-1),
        6 => json!(u64::MAX),
        7 => json!(i64::MIN),
        8 => json!(1u64 << dice.below(64)),
        9 => json!(1e308),
        10 => json!(-1e-308),
        11 => json!(0.5),
        12 => json!("A".repeat(1 << dice.below(13))),
        _ => json!(dice.pick(&TEXTS)),
    }
}
