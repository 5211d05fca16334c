//! What a schema rests on, and what it does with values that it does not allow, as sentences for the receipt.

use super::{Column, Kind, Missing, Origin, Scale, Schema};

impl Schema {
    /// Where bounds, moments and levels come from if they were not stated, as sentences for the receipt; and then also which
    /// bounds were. And what is assumed of lines, if quotes may join them.
    #[must_use]
    pub fn assumptions(&self) -> Vec<String> {
        let of = |what: &str, origin: Origin, of: fn(&Kind) -> bool, how: &str| {
            let names = self.names(|column| column.origin() == origin && of(column.kind()))?;
            Some(format!("{what} of {names} {how}"))
        };
        let assumed = |what: &str, kind: fn(&Kind) -> bool| {
            of(what, Origin::AssumedPublic, kind, "were read from the data and are assumed to be public")
        };
        let bounded: fn(&Kind) -> bool =
            |kind| matches!(kind, Kind::Numeric { scale: Scale::Bounds { .. }, .. });
        let stated = "were chosen without looking at the data";
        let estimated = "were estimated from the data with a share of the privacy budget";
        let newlines = self.layout.quoted_newlines.then(|| {
            "quoted fields may contain newlines, so one line of the file can change several records: each change is \
             assumed to concern one record of the table"
                .to_owned()
        });
        [
            of("the bounds", Origin::Estimated, bounded, estimated),
            assumed("the bounds", bounded),
            assumed("the mean and deviation", |kind| {
                matches!(kind, Kind::Numeric { scale: Scale::Moments { .. }, .. })
            }),
            assumed("the levels", |kind| matches!(kind, Kind::Categorical { .. })),
            of("the bounds", Origin::Stated, bounded, stated).filter(|_| !self.is_stated()),
            newlines,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Who is protected and what each counts as, as sentences for the receipt. Nothing if rows are the privacy units.
    #[must_use]
    pub fn unit_rules(&self) -> Vec<String> {
        let Some(unit) = self.privacy_unit() else { return Vec::new() };
        let column = unit.column();
        let counts = match unit.rows() {
            None => "each privacy unit counts once, as the mean of its rows, so estimates describe the average unit and not the average row"
                .to_owned(),
            Some(1) => "of each privacy unit one row counts, chosen by secret coins".to_owned(),
            Some(rows) => format!(
                "of each privacy unit at most {rows} rows count, chosen by secret coins, each as 1/{rows} of a unit"
            ),
        };
        vec![
            format!(
                "the privacy unit is all rows with the same value of {column}; the number of rows is private"
            ),
            counts,
            format!("a row without a value of {column} is a unit of its own and protected as a single row"),
        ]
    }

    /// What values that the schema does not allow count as, as sentences for the receipt. They depend on the schema alone.
    #[must_use]
    pub fn value_rules(&self) -> Vec<String> {
        let unstated = |kind: &Kind| {
            matches!(
                kind,
                Kind::Numeric { missing: Missing::Unstated | Missing::Indicator, .. }
                    | Kind::Boolean { missing: Missing::Unstated | Missing::Indicator }
            )
        };
        let features =
            |of: &dyn Fn(&Column) -> bool| join(self.features().iter().filter(|column| of(column)));
        let bounded =
            |column: &Column| matches!(column.kind(), Kind::Numeric { scale: Scale::Bounds { .. }, .. });
        let text = |column: &Column| matches!(column.kind(), Kind::Text { missing: None, .. });
        let shared = [
            self.names(bounded)
                .map(|names| format!("numbers outside the bounds count as the nearer bound ({names})")),
            features(&|column| unstated(column.kind())).map(|names| {
                format!("missing and malformed ones count as the middle of the range ({names})")
            }),
            features(&text).map(|names| format!("missing texts count as texts without words ({names})")),
        ];
        let own = self.features().iter().filter_map(feature_rule);
        let rules = shared.into_iter().flatten().chain(own).chain(self.target().map(target_rule));
        rules.map(|rule| format!("values outside the schema: {rule}")).collect()
    }

    fn names(&self, of: impl Fn(&Column) -> bool) -> Option<String> {
        join(self.columns().filter(|column| of(column)))
    }
}

fn join<'a>(columns: impl Iterator<Item = &'a Column>) -> Option<String> {
    let names: Vec<&str> = columns.map(Column::name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The rule of a feature, if it is one of its own.
fn feature_rule(column: &Column) -> Option<String> {
    let name = column.name();
    match column.kind() {
        Kind::Categorical { levels, unknown, missing } => {
            let first = levels.first().map_or("", String::as_str);
            let of_missing = missing.as_deref().or(unknown.as_deref()).unwrap_or(first);
            let of_unknown = unknown.as_deref().or(missing.as_deref()).unwrap_or(first);
            Some(levels_rule(name, of_missing, of_unknown))
        }
        Kind::Text { missing: Some(text), .. } => Some(format!("missing ones of {name} count as {text:?}")),
        _ => value_rule(column),
    }
}

fn target_rule(target: &Column) -> String {
    let name = target.name();
    match target.kind() {
        Kind::Categorical { unknown, missing, .. } => match (unknown, missing) {
            (None, None) => format!("a record with {name} missing or unlisted contributes nothing"),
            (Some(unknown), None) => {
                format!("a record without {name} contributes nothing, unlisted ones count as {unknown:?}")
            }
            (unknown, Some(missing)) => levels_rule(name, missing, unknown.as_ref().unwrap_or(missing)),
        },
        _ => value_rule(target).unwrap_or_else(|| format!("a record without {name} contributes nothing")),
    }
}

fn levels_rule(name: &str, missing: &str, unknown: &str) -> String {
    if missing == unknown {
        format!("missing and unlisted ones of {name} count as {missing:?}")
    } else {
        format!("missing ones of {name} count as {missing:?}, unlisted ones as {unknown:?}")
    }
}

/// The rule of a number or a truth value, if a value is stated.
fn value_rule(column: &Column) -> Option<String> {
    let value = match column.kind() {
        Kind::Numeric { missing: Missing::Value(value), .. } => value.to_string(),
        Kind::Boolean { missing: Missing::Value(value) } => value.to_string(),
        _ => return None,
    };
    Some(format!("missing and malformed ones of {} count as {value}", column.name()))
}
