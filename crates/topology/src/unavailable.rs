//! What is missing, and why: the same row in every document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The name of a figure, or of a part of a document: `tasks.wait_ns`. The crate of a document has a table of the names that it looks up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Field(Cow<'static, str>);

impl Field {
    /// A name that is known when this is compiled.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// As it is in documents.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is one of `others` or a part of one: `intervals.wakeups` and `switches after 0.5 s` are parts of `intervals` and of `switches`.
    pub fn is_of(&self, others: &[Self]) -> bool {
        others.iter().any(|other| {
            self.0.strip_prefix(&*other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ']))
        })
    }
}

impl From<&'static str> for Field {
    fn from(name: &'static str) -> Self {
        Self::new(name)
    }
}

impl From<String> for Field {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A figure that could not be measured, recorded or read. It takes the place of a zero that was not counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// What.
    #[serde(rename = "what")]
    #[schemars(with = "String")]
    pub field: Field,
    /// Why, and what would allow it.
    #[serde(rename = "why")]
    pub reason: String,
}

impl Unavailable {
    /// A row from its two parts.
    ///
    /// ```
    /// use swtch_topology::Unavailable;
    /// let row = Unavailable::new("tasks.wait_ns", "samples do not see it");
    /// assert_eq!(serde_json::to_string(&row)?, r#"{"what":"tasks.wait_ns","why":"samples do not see it"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn new(field: impl Into<Field>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }

    /// The reason that `rows` give for a figure; nothing where it is there.
    pub fn reason_in<'a>(rows: &'a [Self], field: &Field) -> Option<&'a str> {
        rows.iter().find(|row| row.field == *field).map(|row| row.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_belongs_to_its_table_and_to_no_other() {
        const TASKS: Field = Field::new("tasks");
        for (name, belongs) in [
            ("tasks", true),
            ("tasks.wait_ns", true),
            ("tasks after 1 s", true),
            ("tasks_x", false),
            ("task", false),
        ] {
            assert_eq!(Field::from(name).is_of(&[Field::new("wakes"), TASKS]), belongs, "{name}");
        }
    }
}
