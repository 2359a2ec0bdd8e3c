//! Where things are in a compiled scheduler, by its own description of its types (BTF).

use crate::error::SchedulerError;
use libbpf_rs::btf::types::{Composite, DataSec, Enum, Enum64, Int};
use libbpf_rs::btf::{Btf, BtfType, HasSize};
use libbpf_rs::{Map, MapCore, Object};
use std::collections::BTreeMap;

/// A place in a section or structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Bytes from the beginning.
    pub(crate) offset: usize,
    /// Its size.
    pub(crate) bytes: usize,
}

/// The fields of a structure by name.
pub(crate) type Fields = BTreeMap<String, Place>;

/// Where the variables, the fields of `sched_ext_ops` and those of maps' values lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Section and place of every variable.
    variables: BTreeMap<String, (String, Place)>,
    /// Fields of `struct sched_ext_ops`.
    pub(crate) ops: Fields,
    /// Fields of `struct user_exit_info`.
    pub(crate) exit_info: Fields,
    /// By map, the fields of its values, in their order.
    values: BTreeMap<String, Vec<(String, Place)>>,
}

impl Layout {
    /// Reads it from a compiled object.
    ///
    /// # Errors
    /// When it is none, or lacks what every scheduler has.
    pub(crate) fn of(name: &str, object: &[u8]) -> Result<Self, SchedulerError> {
        let btf = Btf::from_raw(name, object)
            .map_err(SchedulerError::bpf(format!("read the object of {name}")))?
            .ok_or_else(|| SchedulerError::missing("description of its types (BTF)"))?;
        let mut layout = Self {
            ops: structure(&btf, "sched_ext_ops")?,
            // A scheduler from elsewhere may keep no account of its end.
            exit_info: structure(&btf, "user_exit_info").unwrap_or_default(),
            ..Self::default()
        };
        for section in btf.type_by_kind::<DataSec<'_>>() {
            let section_name = text(section.name());
            for info in section.iter() {
                let Some(variable) = btf.type_by_id::<BtfType<'_>>(info.ty) else { continue };
                let name = text(variable.name());
                match section_name.as_str() {
                    ".ksyms" => {}
                    ".maps" => {
                        layout.values.insert(name, value_fields(&btf, &variable).unwrap_or_default());
                    }
                    _ => {
                        let place = Place { offset: info.offset as usize, bytes: info.size };
                        layout.variables.insert(name, (section_name.clone(), place));
                    }
                }
            }
        }
        Ok(layout)
    }

    /// Whether the scheduler keeps the kernel's account of its end (`UEI_DEFINE(uei)` of scx_cargo's headers).
    pub(crate) fn keeps_exit_info(&self) -> bool {
        !self.exit_info.is_empty() && self.variables.contains_key("uei")
    }

    /// Section and place of a variable.
    pub(crate) fn variable(&self, name: &str) -> Result<(&str, Place), SchedulerError> {
        let found = self.variables.get(name);
        let (section, place) = found.ok_or_else(|| SchedulerError::missing(format!("variable {name}")))?;
        Ok((section, *place))
    }

    /// The constants that a user may set: numbers among what is read only, without those that loaders set.
    pub(crate) fn constants(&self) -> Vec<&str> {
        let is_of_headers =
            |name: &str| ["__", "uei_", "scx_lib_"].iter().any(|start| name.starts_with(start));
        let is_set = |name: &str, section: &str, place: &Place| {
            section == ".rodata" && matches!(place.bytes, 1 | 2 | 4 | 8) && !is_of_headers(name)
        };
        let constants = self.variables.iter().filter(|(name, (section, place))| is_set(name, section, place));
        constants.map(|(name, _)| name.as_str()).collect()
    }

    /// The variables whose names begin so.
    pub(crate) fn beginning_with<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a str> {
        self.variables.keys().map(String::as_str).filter(move |name| name.starts_with(start))
    }

    /// The fields of a map's values.
    pub(crate) fn value(&self, map: &str) -> Option<&[(String, Place)]> {
        self.values.get(map).map(Vec::as_slice)
    }
}

/// The map of a data section in a loaded object: libbpf puts the object's name in front of those that every object has.
pub(crate) fn map_of_section<'a>(object: &'a Object, section: &str) -> Option<Map<'a>> {
    object.maps().find(|map| map.name().to_string_lossy().ends_with(section))
}

fn text(name: Option<&std::ffi::OsStr>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn structure(btf: &Btf<'_>, name: &str) -> Result<Fields, SchedulerError> {
    let missing = || SchedulerError::missing(format!("struct {name}"));
    let found = btf.type_by_name::<Composite<'_>>(name).ok_or_else(missing)?;
    Ok(fields(btf, &found).into_iter().collect())
}

fn fields(btf: &Btf<'_>, structure: &Composite<'_>) -> Vec<(String, Place)> {
    let field = |member: libbpf_rs::btf::types::CompositeMember<'_>| {
        let libbpf_rs::btf::types::MemberAttr::Normal { offset } = member.attr else { return None };
        let bytes = btf.type_by_id::<BtfType<'_>>(member.ty).map_or(0, size);
        Some((text(member.name), Place { offset: offset as usize / 8, bytes }))
    };
    structure.iter().filter_map(field).collect()
}

/// The size of a number, array of characters or structure; 0 for what is neither.
fn size(of: BtfType<'_>) -> usize {
    let plain = of.skip_mods_and_typedefs();
    if let Ok(int) = Int::try_from(plain) {
        return int.size();
    }
    if let Ok(array) = libbpf_rs::btf::types::Array::try_from(plain) {
        return array.capacity() * size(array.contained_type());
    }
    if let Ok(composite) = Composite::try_from(plain) {
        return composite.size();
    }
    if let Ok(choice) = Enum::try_from(plain) {
        return choice.size();
    }
    Enum64::try_from(plain).map_or(0, |choice| choice.size())
}

/// A map is a variable of a structure whose member `value` points to the type of its values.
fn value_fields(btf: &Btf<'_>, variable: &BtfType<'_>) -> Option<Vec<(String, Place)>> {
    let map = Composite::try_from(variable.next_type()?.skip_mods_and_typedefs()).ok()?;
    let member = map.iter().find(|member| member.name.is_some_and(|name| name == "value"))?;
    let pointer = btf.type_by_id::<BtfType<'_>>(member.ty)?;
    let value = Composite::try_from(pointer.next_type()?.skip_mods_and_typedefs()).ok()?;
    Some(fields(btf, &value))
}
