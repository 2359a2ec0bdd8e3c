//! What a Profile may lack, by the names in its `unavailable`, and which part of it each is about.

use crate::vocabulary::Method;
use swtch_topology::Field;

/// Figures measured on one CPU, in the normal class only.
pub const ONE_CPU: Field = Field::new("total cost, ring and references");
/// Total cost c2.
pub const TOTAL: Field = Field::new("total cost");
/// c2 at several strides.
pub const STRIDES: Field = Field::new("strides");
/// The ring of processes.
pub const RING: Field = Field::new("ring of processes");
/// Messages without a wake-up.
pub const MESSAGES: Field = Field::new("messages");
/// Other operations of the kernel.
pub const REFERENCES: Field = Field::new("references");
/// The shape of the curve of c2.
pub const REGIONS: Field = Field::new("regions of the curve");
/// The kernel's count of switches.
pub const SWITCHES_COUNTED: Field = Field::new("switches counted");
/// The real-time class.
pub const CLASS_FIFO: Field = Field::new("class fifo");
/// A method whose tasks share a CPU.
pub const YIELD_ON_TWO_CPUS: Field = Field::new("method yield on two CPUs");

/// A part of a Profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfilePart {
    /// Direct cost c1.
    Direct,
    /// Total cost c2.
    Total,
    /// The ring of processes.
    Ring,
    /// The regions of the curve of c2 and their borders.
    Regions,
    /// Messages.
    Messages,
    /// Other operations of the kernel.
    References,
    /// How switches are counted.
    Counting,
}

/// How a name begins, and the parts that it is about; the first that fits counts.
const PARTS: [(&str, &[ProfilePart]); 17] = {
    use ProfilePart::{Counting, Direct, Messages, References, Regions, Ring, Total};
    [
        ("total cost, ring and references", &[Total, Regions, Ring, References]),
        ("total cost", &[Total, Regions]),
        ("strides", &[Total]),
        ("arrays above", &[Total]),
        ("c2", &[Total, Regions]),
        ("regions of the curve", &[Regions]),
        ("ring", &[Ring]),
        ("messages", &[Messages]),
        ("references", &[References]),
        ("system call", &[References]),
        ("fork", &[References]),
        ("thread create", &[References]),
        ("switches counted", &[Counting]),
        ("direct", &[Direct]),
        ("class", &[Direct]),
        ("placement", &[Direct]),
        ("method", &[Direct]),
    ]
};

impl ProfilePart {
    /// The parts that a row of `unavailable` is about; none where it is about the whole Profile, or swtch does not know the name.
    ///
    /// ```
    /// use swtch_profile::fields::{ProfilePart, TOTAL};
    /// assert_eq!(ProfilePart::of(&TOTAL), [ProfilePart::Total, ProfilePart::Regions]);
    /// ```
    pub fn of(field: &Field) -> &'static [Self] {
        let name = field.as_str();
        // A condition of c2 is called by its method and its array.
        if name.contains(" each (") && !name.starts_with("ring") {
            return &[Self::Total];
        }
        match PARTS.iter().find(|(begin, _)| name.starts_with(begin)) {
            Some((_, parts)) => parts,
            // A condition of c1 is called by its method.
            None if Method::ALL.iter().any(|method| name.starts_with(method.name())) => &[Self::Direct],
            None => &[],
        }
    }
}
