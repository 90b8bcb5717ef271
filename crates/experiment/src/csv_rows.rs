//! Values as rows of comma-separated values.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::failure::Failure;

/// The fields of a row, each with the name of its column.
pub type Fields = Vec<(String, String)>;

/// An object as a row: null is empty, a list is its elements, and a field of an inner object has
/// both names, as in `messages_by_kind.REQUEST`.
pub fn csv_fields(row: &Value) -> Fields {
    let mut fields = Vec::new();
    add_fields(&mut fields, String::new(), row);
    fields
}

fn add_fields(fields: &mut Fields, name: String, value: &Value) {
    let text = match value {
        Value::Object(inner) => {
            for (key, value) in inner {
                let dot = if name.is_empty() { "" } else { "." };
                add_fields(fields, format!("{name}{dot}{key}"), value);
            }
            return;
        }
        Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(" "),
        Value::Null | Value::String(_) | Value::Bool(_) | Value::Number(_) => word(value),
    };
    fields.push((name, text));
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The columns of all rows, in the order in which they first come.
pub fn csv_header(rows: &[Fields]) -> Vec<String> {
    let mut seen = HashSet::new();
    let names = rows.iter().flatten().map(|(name, _)| name);
    names.filter(|name| seen.insert(name.as_str())).cloned().collect()
}

/// A row's fields in the order of these columns.
pub fn csv_row(header: &[String], row: &Fields) -> Vec<String> {
    let fields: HashMap<&str, &str> = row.iter().map(|(name, it)| (&**name, &**it)).collect();
    header.iter().map(|name| fields.get(&**name).copied().unwrap_or_default().to_owned()).collect()
}

/// Lines of comma-separated values.
pub fn csv_text<R>(rows: impl Iterator<Item = R>) -> Result<String, Failure>
where
    R: IntoIterator<Item: AsRef<[u8]>>,
{
    let mut text = Vec::new();
    let mut writer = csv::Writer::from_writer(&mut text);
    for row in rows {
        writer.write_record(row).map_err(|error| Failure::World(error.to_string()))?;
    }
    drop(writer);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_has_a_field_for_every_column_and_no_json_in_it() {
        let row = csv_fields(&json!({ "a": null, "b": "x,y", "d": { "e": 1 }, "f": [2, "g"] }));
        let other = csv_fields(&json!({ "c": 1.5, "b": true }));
        let header = csv_header(&[row.clone(), other.clone()]);
        assert_eq!(header, ["a", "b", "d.e", "f", "c"]);
        assert_eq!(csv_row(&header, &row), ["", "x,y", "1", "2 g", ""]);
        assert_eq!(csv_row(&header, &other), ["", "true", "", "", "1.5"]);
    }
}
