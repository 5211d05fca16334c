//! The codebook of a schema: the names and units behind encoded rows.

use reticent_core::model::{Code, Codebook, CodedColumn};
use reticent_tables::{Column, Kind, Missing, Schema, Units};

/// The codebook of a schema whose bounds are all known.
pub(crate) fn codebook(schema: &Schema) -> Codebook {
    Codebook {
        columns: schema.features().iter().flat_map(feature).collect(),
        target: schema.target().map(|column| coded(column, code(column, true))),
    }
}

fn coded(column: &Column, code: Code) -> CodedColumn {
    CodedColumn { name: column.name().to_owned(), unit: column.unit().map(str::to_owned), code }
}

/// The coded columns of a feature: one, one for each word, or one more for missing values.
fn feature(column: &Column) -> Vec<CodedColumn> {
    if let Kind::Text { vocabulary, .. } = column.kind() {
        return vocabulary.iter().map(|word| coded(column, Code::Word { word: word.clone() })).collect();
    }
    let mut columns = vec![coded(column, code(column, false))];
    if let Kind::Numeric { missing: Missing::Indicator, .. } | Kind::Boolean { missing: Missing::Indicator } =
        column.kind()
    {
        columns.push(coded(column, Code::Missing));
    }
    columns
}

fn code(column: &Column, is_target: bool) -> Code {
    let levels: Vec<String> = column.levels().into_iter().map(str::to_owned).collect();
    match column.kind() {
        Kind::Numeric { scale, .. } => {
            // Without bounds nothing is encoded yet, and there is no model.
            let Units { centre, unit } = Units::of(*scale).unwrap_or(Units { centre: 0.0, unit: 1.0 });
            Code::Number { centre, scale: unit }
        }
        Kind::Categorical { .. } if !(is_target && levels.len() == 2) => Code::Levels { levels },
        _ => match <[String; 2]>::try_from(levels) {
            Ok(levels) => Code::Flag { levels },
            Err(levels) => Code::Levels { levels },
        },
    }
}
