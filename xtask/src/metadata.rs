//! The workspace as `cargo metadata` tells it.

use crate::process::cargo;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A crate of the workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// What it names in its own manifest, for building, testing or running.
    pub(crate) dependencies: Vec<String>,
    /// Kind and name: ("bin", "swtch").
    pub(crate) targets: Vec<(String, String)>,
    /// Whether it goes to Cargo's registry.
    pub(crate) is_published: bool,
    /// What the registry shows of a crate and its manifest does not say.
    pub(crate) missing_fields: Vec<&'static str>,
}

/// What the registry shows of a crate.
const DESCRIBING: [&str; 6] = ["description", "license", "readme", "repository", "keywords", "categories"];

impl Package {
    /// Whether it yields something that is handed out: a program, or a library that Python loads.
    pub(crate) fn is_delivered(&self) -> bool {
        self.name != "xtask" && self.targets.iter().any(|(kind, _)| kind == "bin" || kind == "cdylib")
    }
}

/// The crates of this workspace.
pub(crate) fn workspace() -> Result<Vec<Package>> {
    let output = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    packages(&String::from_utf8(output.stdout).context("`cargo metadata` did not print UTF-8")?)
}

/// The packages in the JSON that `cargo metadata --no-deps` prints.
pub(crate) fn packages(json: &str) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_str(json).context("`cargo metadata` did not print JSON")?;
    list(&metadata["packages"])
        .map(package)
        .collect::<Option<_>>()
        .context("`cargo metadata` lacks an expected field")
}

fn package(value: &Value) -> Option<Package> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let target = |target: &Value| {
        list(&target["kind"]).map(|kind| Some((text(kind)?, text(&target["name"])?))).collect::<Vec<_>>()
    };
    let is_empty = |field: &&str| {
        value[*field].as_str().is_none_or(str::is_empty) && value[*field].as_array().is_none_or(Vec::is_empty)
    };
    Some(Package {
        name: text(&value["name"])?,
        folder: Path::new(value["manifest_path"].as_str()?).parent()?.to_owned(),
        dependencies: list(&value["dependencies"]).map(|one| text(&one["name"])).collect::<Option<_>>()?,
        targets: list(&value["targets"]).flat_map(target).collect::<Option<_>>()?,
        // `publish = false` is an empty list of registries.
        is_published: value["publish"].as_array().is_none_or(|registries| !registries.is_empty()),
        missing_fields: DESCRIBING.into_iter().filter(is_empty).collect(),
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_can_be_read() {
        let packages = workspace().unwrap();
        let xtask = packages.iter().find(|package| package.name == "xtask").unwrap();
        assert!(xtask.folder.ends_with("xtask") && xtask.dependencies.contains(&"anyhow".to_owned()));
        assert!(xtask.targets.contains(&("bin".into(), "xtask".into())) && !xtask.is_delivered());
    }

    #[test]
    fn other_output_is_refused() {
        assert!(packages("error").is_err());
        assert!(packages(r#"{"packages": [{"name": 3}]}"#).is_err());
    }
}
