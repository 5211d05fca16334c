//! A fitted model as named arrays, and the rest as JSON.

use crate::model::ModelError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A fitted model as arrays of numbers and a JSON description. The conversion is lossless.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    /// The arrays by name, each with its shape.
    pub arrays: BTreeMap<String, (Vec<usize>, Vec<f64>)>,
    /// The rest, with the name of each array in its place.
    pub state: Value,
}

/// The key of an object that refers to an array.
const ARRAY: &str = "array";

impl Saved {
    /// Splits a value: each list of floating-point numbers becomes an array that is named by its path.
    ///
    /// # Errors
    /// [`ModelError::NotFinite`]: JSON cannot represent such numbers.
    pub fn of(value: &impl Serialize) -> Result<Self, ModelError> {
        let mut arrays = BTreeMap::new();
        let value = serde_json::to_value(value).map_err(|_| ModelError::NotFinite)?;
        let state = take("", value, &mut arrays)?;
        Ok(Self { arrays, state })
    }

    /// The inverse of [`of`](Self::of).
    ///
    /// # Errors
    /// [`ModelError::NotSaved`] if the result is not of this type.
    pub fn restore<T: DeserializeOwned>(&self, model: &'static str) -> Result<T, ModelError> {
        let value = put(self.state.clone(), &self.arrays).ok_or(ModelError::NotSaved { model })?;
        T::deserialize(value).map_err(|_| ModelError::NotSaved { model })
    }
}

type Arrays = BTreeMap<String, (Vec<usize>, Vec<f64>)>;

fn take(place: &str, value: Value, arrays: &mut Arrays) -> Result<Value, ModelError> {
    let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match value {
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_f64) => {
            let numbers: Vec<f64> = items.iter().filter_map(Value::as_f64).collect();
            arrays.insert(place.to_owned(), (vec![numbers.len()], numbers));
            Ok(Value::Object(Map::from_iter([(ARRAY.to_owned(), Value::from(place))])))
        }
        // A number that is not finite would have become null.
        Value::Array(items) if items.iter().any(Value::is_null) => Err(ModelError::NotFinite),
        Value::Array(items) => {
            let items = items.into_iter().enumerate();
            items.map(|(k, item)| take(&below(&k.to_string()), item, arrays)).collect()
        }
        Value::Object(fields) => {
            let taken = fields.into_iter().map(|(name, value)| {
                let value = take(&below(&name), value, arrays)?;
                Ok((name, value))
            });
            Ok(Value::Object(taken.collect::<Result<_, ModelError>>()?))
        }
        other => Ok(other),
    }
}

fn put(value: Value, arrays: &Arrays) -> Option<Value> {
    match value {
        Value::Object(fields) => match fields.get(ARRAY) {
            Some(Value::String(name)) if fields.len() == 1 => Some(Value::from(arrays.get(name)?.1.clone())),
            _ => {
                let fields = fields.into_iter().map(|(name, value)| Some((name, put(value, arrays)?)));
                Some(Value::Object(fields.collect::<Option<_>>()?))
            }
        },
        Value::Array(items) => items.into_iter().map(|item| put(item, arrays)).collect(),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Part {
        weights: Vec<f64>,
        sizes: Vec<usize>,
        nothing: Option<f64>,
        empty: Vec<f64>,
    }

    #[test]
    fn saving_and_restoring_is_lossless() {
        let part = |x: f64| Part {
            weights: vec![x, 1e-310, -0.0, f64::MAX, 1.0 / 3.0],
            sizes: vec![2, 1],
            nothing: None,
            empty: Vec::new(),
        };
        let parts = vec![part(0.1), part(f64::MIN_POSITIVE)];
        let saved = Saved::of(&parts).unwrap();
        assert_eq!(saved.arrays.keys().collect::<Vec<_>>(), ["0.weights", "1.weights"]);
        let again: Vec<Part> = saved.restore("test").unwrap();
        for (a, b) in again.iter().zip(&parts) {
            let bits = |part: &Part| part.weights.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(a), bits(b));
        }
        assert_eq!(again, parts);
        assert!(matches!(Saved::of(&vec![f64::NAN]), Err(ModelError::NotFinite)));
        let lost = Saved { arrays: BTreeMap::new(), ..saved };
        assert!(matches!(lost.restore::<Vec<Part>>("test"), Err(ModelError::NotSaved { .. })));
    }
}
