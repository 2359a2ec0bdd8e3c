//! Objects that this process has compiled. A sweep runs a scheduler thousands of times, and compiling one takes longer than most runs.

use super::compile::{CompileOptions, Compiled, compile};
use super::error::ScxError;
use super::package::Package;
use crate::fingerprint::hash_of_path;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Objects that are kept at a time. With one more, all are forgotten.
const MOST: usize = 64;

/// What decides about an object besides the contents of files.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Wish {
    source_path: PathBuf,
    package: Package,
    options: CompileOptions,
    compiler: Option<String>,
}

/// An object, and the files that it was compiled from, with their hashes. A file that could not be read has none.
struct Kept {
    bytes: Arc<[u8]>,
    files: Vec<(PathBuf, Option<String>)>,
}

impl Kept {
    fn new(compiled: Compiled) -> Self {
        let hashed = |path: PathBuf| {
            // Looked at again from wherever the process is then.
            let path = std::path::absolute(&path).unwrap_or(path);
            let hash = hash_of_path(&path).ok();
            (path, hash)
        };
        Self { bytes: compiled.bytes.into(), files: compiled.files.into_iter().map(hashed).collect() }
    }

    fn is_current(&self) -> bool {
        self.files.iter().all(|(path, hash)| hash.is_some() && hash_of_path(path).ok() == *hash)
    }
}

/// One slot a wish: threads that wish the same wait for one compiler.
type Slots = BTreeMap<Wish, Arc<Mutex<Option<Kept>>>>;

static SLOTS: Mutex<Slots> = Mutex::new(BTreeMap::new());

/// The object of a source: compiled, or kept from before where no file has changed since. A header that is new in a directory of an earlier place
/// is not noticed.
pub(super) fn object(source_path: &Path, options: &CompileOptions) -> Result<Arc<[u8]>, ScxError> {
    let wish = Wish {
        source_path: std::path::absolute(source_path)
            .map_err(ScxError::io(format!("read {}", source_path.display())))?,
        package: Package::of(source_path),
        options: options.clone(),
        compiler: std::env::var("CC").ok(),
    };
    let slot = slot(&wish);
    let mut kept = locked(&slot);
    if let Some(kept) = kept.as_ref().filter(|kept| kept.is_current()) {
        return Ok(kept.bytes.clone());
    }
    let compiled = compile(source_path, &wish.package, options)?;
    Ok(kept.insert(Kept::new(compiled)).bytes.clone())
}

fn slot(wish: &Wish) -> Arc<Mutex<Option<Kept>>> {
    let mut slots = locked(&SLOTS);
    if slots.len() >= MOST && !slots.contains_key(wish) {
        slots.clear();
    }
    slots.entry(wish.clone()).or_default().clone()
}

/// A thread that panicked has left a whole value: an object is put into its place at once.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_object_is_compiled_again_when_a_header_of_it_changes_and_only_then() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a scheduler.bpf.c");
        let header = folder.path().join("its header.h");
        fs::write(&header, "#define SLICE 1\n").unwrap();
        fs::write(
            &source,
            "#include <scx/common.bpf.h>\n#include \"its header.h\"\nconst volatile u64 slice = SLICE;\n",
        )
        .unwrap();
        let options = CompileOptions::default();
        let first = object(&source, &options).unwrap();
        assert!(Arc::ptr_eq(&first, &object(&source, &options).unwrap()));
        let other = CompileOptions { defines: vec!["OTHER".to_owned()], ..CompileOptions::default() };
        assert!(!Arc::ptr_eq(&first, &object(&source, &other).unwrap()));
        fs::write(&header, "#define SLICE 2\n").unwrap();
        let second = object(&source, &options).unwrap();
        assert_ne!(first, second);
        fs::remove_file(&header).unwrap();
        assert!(object(&source, &options).unwrap_err().to_string().contains("its header.h"));
    }
}
