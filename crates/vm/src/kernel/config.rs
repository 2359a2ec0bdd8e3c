//! A kernel's configuration.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The options that are built in; modules do not count.
#[derive(Debug, Default)]
pub(super) struct Config(BTreeSet<String>);

impl Config {
    pub(super) fn of(text: &str) -> Self {
        let built_in = |line: &str| Some(line.strip_prefix("CONFIG_")?.strip_suffix("=y")?.to_owned());
        Self(text.lines().filter_map(|line| built_in(line.trim_end())).collect())
    }

    pub(super) fn read(path: &Path) -> io::Result<Self> {
        fs::read_to_string(path).map(|text| Self::of(&text))
    }

    /// That of an image, where it is beside it.
    pub(super) fn beside(image: &Path) -> Option<Self> {
        places(image).iter().find_map(|place| Self::read(place).ok())
    }

    /// The first of these that is not built in.
    pub(super) fn first_missing<'a>(&self, options: &[&'a str]) -> Option<&'a str> {
        options.iter().copied().find(|option| !self.0.contains(*option))
    }
}

/// Where distributions and builds keep it: `config-7.1` next to `vmlinuz-7.1`, `config` next to it, `.config` above
/// `arch/x86/boot/bzImage`.
pub(super) fn places(image: &Path) -> Vec<PathBuf> {
    let folder = image.parent().unwrap_or(Path::new(""));
    let name = image.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let version = name.split_once('-').map(|(_, version)| folder.join(format!("config-{version}")));
    version.into_iter().chain([folder.join("config"), folder.join("../../../.config")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_absent_options_are_missing() {
        let config = Config::of("CONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\nCONFIG_D=\"y\"\nnonsense\n");
        assert_eq!(config.first_missing(&["A"]), None);
        for option in ["B", "C", "D", "E"] {
            assert_eq!(config.first_missing(&["A", option]), Some(option));
        }
    }

    #[test]
    fn a_build_tree_is_understood() {
        let tree = tempfile::tempdir().unwrap();
        let boot = tree.path().join("arch/x86/boot");
        fs::create_dir_all(&boot).unwrap();
        assert!(Config::beside(&boot.join("bzImage")).is_none());
        fs::write(tree.path().join(".config"), "CONFIG_A=y\n").unwrap();
        assert!(Config::beside(&boot.join("bzImage")).unwrap().first_missing(&["A"]).is_none());
    }
}
