//! The codebook: the names, units and levels behind the numbers of encoded rows. All of it is public.

/// What the numbers of an encoded row stand for, in the terms of the schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Codebook {
    /// The columns of inputs, in the order of [`TableShape::columns`](crate::model::TableShape::columns).
    pub columns: Vec<CodedColumn>,
    /// The target, if there is one.
    pub target: Option<CodedColumn>,
}

/// A column, and how its values are encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct CodedColumn {
    /// Its name in the schema.
    pub name: String,
    /// The unit of its numbers.
    pub unit: Option<String>,
    /// How its values are encoded.
    pub code: Code,
}

/// How the values of a column are encoded.
#[derive(Debug, Clone, PartialEq)]
pub enum Code {
    /// As one number: a value is `centre + scale * code`.
    Number {
        /// The value of the code 0.
        centre: f64,
        /// The difference between the values of the codes 0 and 1.
        scale: f64,
    },
    /// As one number: -1 for the first level and 1 for the second. In a target, the second is the positive class.
    Flag {
        /// The two levels.
        levels: [String; 2],
    },
    /// As one number: 1 where the value of the column is missing, and -1 elsewhere.
    Missing,
    /// As one number for each level: 1 for the level of the record, and 0 for the others. In a target of more than two classes, as the
    /// index of the class.
    Levels {
        /// The levels.
        levels: Vec<String>,
    },
    /// As the number of times that a word occurs. The column's name is that of the text.
    Word {
        /// The word.
        word: String,
    },
}

impl CodedColumn {
    /// Inputs of the column.
    #[must_use]
    pub fn width(&self) -> usize {
        match &self.code {
            Code::Levels { levels } => levels.len(),
            _ => 1,
        }
    }

    /// The value of a code in the column's own units.
    #[must_use]
    pub fn decode(&self, code: f64) -> f64 {
        match self.code {
            Code::Number { centre, scale } => centre + scale * code,
            _ => code,
        }
    }

    /// A difference between two codes in the column's own units.
    #[must_use]
    pub fn decode_difference(&self, difference: f64) -> f64 {
        match self.code {
            Code::Number { scale, .. } => scale * difference,
            _ => difference,
        }
    }

    /// The two sides of a column that is encoded as one number: its levels, or numbers below and above the middle.
    #[must_use]
    pub fn sides(&self) -> [String; 2] {
        match &self.code {
            Code::Flag { levels } => levels.clone(),
            Code::Missing => ["known".to_owned(), "missing".to_owned()],
            Code::Word { word } => [format!("without {word}"), format!("with {word}")],
            Code::Levels { levels } => {
                let level = levels.first().map_or("", String::as_str);
                [format!("not {level}"), level.to_owned()]
            }
            Code::Number { centre, scale } => {
                let middle = rounded(*centre, *scale);
                [format!("at most {middle}"), format!("above {middle}")]
            }
        }
    }

    /// The levels of a column whose numbers are cut into so many bins of equal width: its own levels, or its two sides, if it is no number.
    #[must_use]
    pub fn bins(&self, bins: usize) -> Vec<String> {
        match &self.code {
            Code::Levels { levels } if levels.len() > 1 => levels.clone(),
            Code::Number { .. } => {
                let edge = |k: usize| self.decode(2.0 * k as f64 / bins as f64 - 1.0);
                let width = self.decode_difference(2.0 / bins as f64);
                let name =
                    |k: usize| format!("{} to {}", rounded(edge(k), width), rounded(edge(k + 1), width));
                (0..bins).map(name).collect()
            }
            _ => self.sides().to_vec(),
        }
    }

    /// The name that identifies the column: that of the schema, with what is encoded of it.
    #[must_use]
    pub fn label(&self) -> String {
        match &self.code {
            Code::Missing => format!("{} is missing", self.name),
            Code::Word { word } => format!("{}: {word}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// A number with three digits of a width.
fn rounded(x: f64, width: f64) -> String {
    let decimals = if width > 0.0 { (2 - width.log10().floor() as i32).clamp(0, 12) } else { 6 };
    let text = format!("{x:.*}", decimals as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

impl Codebook {
    /// A codebook for encoded rows of unknown origin: columns `x1`, `x2` and so on, and a target `y`, in encoded units.
    #[must_use]
    pub fn unnamed(shape: &crate::model::TableShape) -> Self {
        use crate::model::Target;
        let column = |(k, &width): (usize, &usize)| {
            let code = if width == 1 {
                Code::Number { centre: 0.0, scale: 1.0 }
            } else {
                Code::Levels { levels: (1..=width).map(|level| level.to_string()).collect() }
            };
            CodedColumn { name: format!("x{}", k + 1), unit: None, code }
        };
        let code = match shape.target {
            Target::Nothing => None,
            Target::Number => Some(Code::Number { centre: 0.0, scale: 1.0 }),
            Target::TwoClasses => Some(Code::Flag { levels: ["no".into(), "yes".into()] }),
            Target::Classes => Some(Code::Levels { levels: Vec::new() }),
        };
        let target = code.map(|code| CodedColumn { name: "y".into(), unit: None, code });
        Self { columns: shape.columns.iter().enumerate().map(column).collect(), target }
    }

    /// The columns with the index of their first input.
    pub fn places(&self) -> impl Iterator<Item = (usize, &CodedColumn)> {
        self.columns.iter().scan(0, |next, column| {
            let first = *next;
            *next += column.width();
            Some((first, column))
        })
    }

    /// Inputs of a record.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.columns.iter().map(CodedColumn::width).sum()
    }

    /// The number of target units per unit of the code: 1 for classes.
    #[must_use]
    pub fn target_scale(&self) -> f64 {
        self.target.as_ref().map_or(1.0, |target| target.decode_difference(1.0))
    }

    /// The unit of the target.
    #[must_use]
    pub fn target_unit(&self) -> Option<&str> {
        self.target.as_ref().and_then(|target| target.unit.as_deref())
    }

    /// The two classes of the target: the negative and the positive one.
    #[must_use]
    pub fn classes(&self) -> Option<&[String; 2]> {
        match self.target.as_ref().map(|target| &target.code) {
            Some(Code::Flag { levels }) => Some(levels),
            _ => None,
        }
    }
}
