//! JSON as rt-app's users write it: keys that come twice and keep their order, comments, commas before a closing bracket.

use crate::spec::Fault;

/// A value and where it begins, bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Json {
    pub(super) at: usize,
    pub(super) value: JsonValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonValue {
    Null,
    Bool(bool),
    /// A number without a fraction.
    Integer(i64),
    /// Any other number, as it is written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) at: usize,
    pub(super) key: String,
    pub(super) value: Json,
}

/// Values in values; deeper ones are refused rather than overflow the stack.
const DEEPEST: usize = 64;

/// Reads a whole text.
pub(super) fn read(text: &str) -> Result<Json, Fault> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.skip()?;
    if reader.at < text.len() {
        return Err(reader.fault("something follows the end; expected nothing"));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::new(self.at..self.at, problem)
    }

    /// Blanks and comments.
    fn skip(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if let Some(comment) = trimmed.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return Err(self.fault("this comment is not closed; expected */"));
                };
                self.at += end + 4;
            } else if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else {
                return Ok(());
            }
        }
    }

    fn takes(&mut self, character: char) -> Result<bool, Fault> {
        self.skip()?;
        let there = self.rest().starts_with(character);
        self.at += if there { character.len_utf8() } else { 0 };
        Ok(there)
    }

    fn value(&mut self) -> Result<Json, Fault> {
        self.skip()?;
        let at = self.at;
        if self.depth == DEEPEST {
            return Err(self.fault(format!("values are nested more than {DEEPEST} deep")));
        }
        self.depth += 1;
        let value = match self.rest().chars().next() {
            Some('{') => self.object()?,
            Some('[') => self.list()?,
            Some('"') => JsonValue::Text(self.string()?),
            _ => self.word()?,
        };
        self.depth -= 1;
        Ok(Json { at, value })
    }

    fn object(&mut self) -> Result<JsonValue, Fault> {
        self.at += 1;
        let mut entries = Vec::new();
        while !self.takes('}')? {
            let at = self.at;
            if !self.rest().starts_with('"') {
                return Err(self.fault("expected a key in double quotes, or }"));
            }
            let key = self.string()?;
            let value = if self.takes(':')? {
                self.value()?
            } else if self.rest().starts_with([',', '}']) {
                // rt-app's workgen lets a value be left out where it means nothing.
                Json { at, value: JsonValue::Null }
            } else {
                return Err(self.fault(format!("expected : after the key \"{key}\"")));
            };
            entries.push(Entry { at, key, value });
            // Asking for the comma has skipped blanks.
            if !self.takes(',')? && !self.rest().starts_with('}') {
                return Err(self.fault("expected , or }"));
            }
        }
        Ok(JsonValue::Object(entries))
    }

    fn list(&mut self) -> Result<JsonValue, Fault> {
        self.at += 1;
        let mut values = Vec::new();
        while !self.takes(']')? {
            values.push(self.value()?);
            if !self.takes(',')? && !self.rest().starts_with(']') {
                return Err(self.fault("expected , or ]"));
            }
        }
        Ok(JsonValue::List(values))
    }

    fn string(&mut self) -> Result<String, Fault> {
        let mut texts = serde_json::Deserializer::from_str(self.rest()).into_iter();
        match texts.next() {
            Some(Ok(text)) => {
                self.at += texts.byte_offset();
                Ok(text)
            }
            Some(Err(error)) if !error.is_eof() => Err(self.fault("this is not a text of JSON")),
            _ => Err(self.fault("this text is not closed; expected \"")),
        }
    }

    /// A number or a word.
    fn word(&mut self) -> Result<JsonValue, Fault> {
        let rest = self.rest();
        let ends = |character: char| !(character.is_ascii_alphanumeric() || "+-._".contains(character));
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let value = match word {
            "null" => JsonValue::Null,
            // Some files are written by Python.
            "true" | "True" => JsonValue::Bool(true),
            "false" | "False" => JsonValue::Bool(false),
            _ => match (word.parse::<i64>(), word.parse::<f64>()) {
                (Ok(integer), _) => JsonValue::Integer(integer),
                (Err(_), Ok(_)) => JsonValue::Number(word.to_owned()),
                _ => return Err(self.fault(
                    "expected a value: a number, a text in double quotes, true, false, a list or an object",
                )),
            },
        };
        self.at += word.len();
        Ok(value)
    }
}

impl Json {
    /// What it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            JsonValue::Null => "null",
            JsonValue::Bool(_) => "true or false",
            JsonValue::Integer(_) => "a number",
            JsonValue::Number(_) => "a number with a fraction",
            JsonValue::Text(_) => "a text",
            JsonValue::List(_) => "a list",
            JsonValue::Object(_) => "an object",
        }
    }

    pub(super) fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::new(self.at..self.at, problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_come_twice_stay_in_order() {
        let json =
            read("{ /* two */ \"run\": 1, // and\n \"sleep\": -2, \"run\": [3.5, \"a\\\"b\",], }").unwrap();
        let JsonValue::Object(entries) = json.value else { panic!("an object") };
        let keys: Vec<_> = entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["run", "sleep", "run"]);
        assert_eq!(entries[1].value.value, JsonValue::Integer(-2));
        let JsonValue::List(values) = &entries[2].value.value else { panic!("a list") };
        assert_eq!(values[0].value, JsonValue::Number("3.5".to_owned()));
        assert_eq!(values[1].value, JsonValue::Text("a\"b".to_owned()));
    }

    #[test]
    fn a_value_may_be_left_out() {
        let json = read("{ \"suspend\", \"yield\" }").unwrap();
        let JsonValue::Object(entries) = json.value else { panic!("an object") };
        assert_eq!(
            entries.iter().map(|entry| entry.value.value.clone()).collect::<Vec<_>>(),
            [JsonValue::Null, JsonValue::Null]
        );
    }

    #[test]
    fn what_is_not_json_is_told_where() {
        for (text, at) in [
            ("{\"a\" 1}", 5),
            ("{\"a\": }", 6),
            ("{\"a\": 1 \"b\": 2}", 8),
            ("[1, 2", 5),
            ("{} x", 3),
            ("/* open", 0),
            ("\"open", 0),
            ("{a: 1}", 1),
        ] {
            let fault = read(text).unwrap_err();
            assert_eq!(fault.at.start, at, "{text}: {}", fault.problem);
        }
        assert!(read(&"[".repeat(100_000)).unwrap_err().problem.contains("deep"));
    }
}
