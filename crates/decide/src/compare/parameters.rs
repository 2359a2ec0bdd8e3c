//! Parameters over a list: `{threads}` in a command becomes each of its values.

use crate::runs::{PlannedCommand, shell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::str::FromStr;

/// A name and its values, written `threads=1,2,4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// In commands it is in braces.
    pub name: String,
    /// Its values, in order.
    pub values: Vec<String>,
}

/// Why parameters cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// It is not written as a parameter is.
    #[error("'{0}' is not a parameter; write NAME=VALUE,VALUE,... such as threads=1,2,4")]
    Form(String),
    /// No command has it.
    #[error("no command has {{{0}}} in it; the parameter '{0}' changes nothing")]
    Unused(String),
    /// It is there twice.
    #[error("the parameter '{0}' is given twice; give all its values at once")]
    Twice(String),
}

impl FromStr for Parameter {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let wrong = || ParameterError::Form(text.to_owned());
        let (name, values) = text.split_once('=').ok_or_else(wrong)?;
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        let values: Vec<String> = values.split(',').map(str::to_owned).collect();
        if !is_name(name) || values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), values })
    }
}

/// A command in which parameters may be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Template {
    /// A line for the shell.
    Line(String),
    /// A program and its arguments.
    Words(Vec<OsString>),
}

impl Template {
    fn has(&self, name: &str) -> bool {
        let place = format!("{{{name}}}");
        match self {
            Self::Line(line) => line.contains(&place),
            Self::Words(words) => words.iter().any(|word| word.to_string_lossy().contains(&place)),
        }
    }

    /// As a person would write it.
    fn text(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Words(words) => {
                words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
            }
        }
    }

    fn filled(&self, values: &BTreeMap<String, String>) -> Self {
        match self {
            Self::Line(line) => Self::Line(filled(line, values)),
            Self::Words(words) => {
                let word = |word: &OsString| match word.to_str() {
                    Some(text) => filled(text, values).into(),
                    // A parameter's name is text, and this is not.
                    None => word.clone(),
                };
                Self::Words(words.iter().map(word).collect())
            }
        }
    }
}

fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Commands, and of each its values by the names of the parameters.
pub type Filled = (Vec<PlannedCommand>, Vec<BTreeMap<String, String>>);

/// Every command with every combination of the parameters that it names, and those values.
///
/// # Errors
/// When no command names a parameter, or it is given twice.
pub fn expand(
    templates: &[Template],
    prepare: Option<&str>,
    parameters: &[Parameter],
) -> Result<Filled, ParameterError> {
    for (index, Parameter { name, .. }) in parameters.iter().enumerate() {
        if !templates.iter().any(|template| template.has(name)) {
            return Err(ParameterError::Unused(name.clone()));
        }
        if parameters[..index].iter().any(|earlier| earlier.name == *name) {
            return Err(ParameterError::Twice(name.clone()));
        }
    }
    let mut found = (Vec::new(), Vec::new());
    for template in templates {
        let mut combinations = vec![BTreeMap::new()];
        for Parameter { name, values } in parameters.iter().filter(|parameter| template.has(&parameter.name))
        {
            let with = |chosen: BTreeMap<String, String>| {
                values.iter().map(move |value| {
                    let mut chosen = chosen.clone();
                    chosen.insert(name.clone(), value.clone());
                    chosen
                })
            };
            combinations = combinations.into_iter().flat_map(with).collect();
        }
        for chosen in combinations {
            let one = template.filled(&chosen);
            found.0.push(PlannedCommand {
                name: one.text(),
                words: match one {
                    Template::Line(line) => shell(&line),
                    Template::Words(words) => words,
                },
                prepare: prepare.map(|line| filled(line, &chosen)),
                ..PlannedCommand::default()
            });
            found.1.push(chosen);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(text: &str) -> Parameter {
        text.parse().unwrap()
    }

    #[test]
    fn every_combination_is_a_command() {
        let templates = [
            Template::Words(vec!["sort".into(), "--parallel={threads}".into(), "{file}".into()]),
            Template::Line("cat {file} | awk '{print}'".to_owned()),
        ];
        let parameters = [parameter("threads=1,2"), parameter("file=a,b")];
        let (commands, chosen) = expand(&templates, Some("touch {file}"), &parameters).unwrap();
        let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "sort --parallel=1 a",
                "sort --parallel=1 b",
                "sort --parallel=2 a",
                "sort --parallel=2 b",
                "cat a | awk '{print}'",
                "cat b | awk '{print}'",
            ]
        );
        assert_eq!(commands[5].words, ["sh", "-c", "cat b | awk '{print}'"]);
        assert_eq!(commands[1].prepare.as_deref(), Some("touch b"));
        assert_eq!(chosen[2]["threads"], "2");
        assert_eq!(chosen[4].len(), 1);
    }

    #[test]
    fn what_is_not_a_parameter_is_an_error() {
        for text in ["threads", "=1", "a b=1", "threads=", "threads=1,,2"] {
            assert_eq!(text.parse::<Parameter>(), Err(ParameterError::Form(text.to_owned())));
        }
        let templates = [Template::Line("sleep {time}".to_owned())];
        let error = expand(&templates, None, &[parameter("thread=1")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no command has {thread} in it; the parameter 'thread' changes nothing"
        );
        let error = expand(&templates, None, &[parameter("time=1"), parameter("time=2")]).unwrap_err();
        assert_eq!(error, ParameterError::Twice("time".to_owned()));
    }
}
