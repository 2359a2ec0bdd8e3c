//! From options and facts to conditions: what will be measured, what cannot be, and why.

use crate::condition::{Condition, Reference, Work};
use crate::options::{Options, OptionsError, Preset, SMALLEST_ARRAY_BYTES};
use crate::traversal::{ELEMENT_BYTES, Pattern};
use swtch_profile::fields;
use swtch_profile::model::{Field, Unavailable};
use swtch_profile::vocabulary::{Access, Carrier, Class, HandOff, Method, Tasks};
use swtch_topology::Placement;
use swtch_topology::capability::Probes;
use swtch_topology::host::Host;

/// Tasks in the ring of the direct cost.
const DIRECT_RING_TASKS: u32 = 8;
/// The sweep ends at this multiple of the last-level cache.
const LARGEST_ARRAY_CACHES: u64 = 4;
/// Assumed when the machine does not report its caches.
const UNKNOWN_CACHE_BYTES: u64 = 8 << 20;
/// Strides of the default run: within a line, a line, across lines, a page.
const STRIDES_BYTES: [u64; 4] = [64, 256, 1024, 4096];

/// Pipes or sockets and the messages in each. `ALONE`: as few as possible, on one CPU. `DEEP`: enough to leave the caches next to it.
/// `HALF_DEEP`: a part of them finds its memory near; with the other two it follows how many do. `FEW`: as many as `DEEP` in a tenth of the
/// channels. The allocator has less to do where messages of one socket lay beside each other, and pipes need more pages than they keep.
/// `MANY`: those of sockets are more than caches hold, some 25 MB, as eight groups of hackbench have them under way.
/// `SINGLE`: one message in each of several, for a CPU that reads messages of another one. `QUEUED`: enough that the kernel's own cache lines
/// go to and fro once for all of them.
const ALONE: (u32, u32) = (1, 1);
const DEEP: (u32, u32) = (200, 20);
const HALF_DEEP: (u32, u32) = (50, 20);
const FEW: (u32, u32) = (20, 200);
const MANY: (u32, u32) = (160, 200);
const SINGLE: (u32, u32) = (16, 1);
const QUEUED: (u32, u32) = (16, 16);

/// Which part of the Profile a condition is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProfilePart {
    Direct,
    Total,
    Ring,
    Messages,
    Reference,
}

/// One condition with its claim on the time.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) part: ProfilePart,
    pub(crate) condition: Condition,
    /// Share of the time relative to the others.
    pub(crate) weight: f64,
}

impl Planned {
    /// A condition on one CPU, in the normal class.
    fn at_home(part: ProfilePart, work: Work, cpus: &[u32], weight: f64) -> Self {
        let cpus = cpus.to_vec();
        let condition = Condition { work, placement: Placement::SameCpu, cpus, class: Class::Normal };
        Self { part, condition, weight }
    }

    /// The stride, for a condition of the total cost.
    fn stride_of_total(&self) -> Option<u64> {
        match self.condition.work {
            Work::Switch { pattern, .. } if self.part == ProfilePart::Total => Some(pattern.stride_bytes),
            _ => None,
        }
    }
}

/// Everything that will be measured and what will not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) conditions: Vec<Planned>,
    pub(crate) unavailable: Vec<Unavailable>,
}

impl Plan {
    /// Lays out a run.
    pub(crate) fn new(options: &Options, host: &Host, probes: &Probes) -> Result<Self, OptionsError> {
        let mut plan = Self::default();
        let classes = plan.classes(options, probes);
        let places = plan.places(options, host, probes);
        plan.add_direct(options, &places, &classes);
        let home = places.iter().find(|(placement, _)| *placement == Placement::SameCpu).cloned();
        let arrays_wanted = options.asks_for_arrays();
        let pipes_wanted =
            options.methods.as_ref().is_none_or(|methods| methods.contains(&Method::Pipe) && arrays_wanted);
        let has_caches = !host.is_emulated();
        let rings_wanted = options.methods.as_ref().is_none_or(|methods| methods.contains(&Method::Ring));
        match home {
            Some((_, cpus)) if classes.contains(&Class::Normal) => {
                if pipes_wanted && has_caches {
                    plan.add_total(options, host, &cpus)?;
                }
                if rings_wanted && options.sizes_bytes.is_none() {
                    plan.add_rings(options, &cpus, has_caches);
                }
                if options.methods.is_none() || options.with_calls {
                    plan.add_messages(&places);
                    plan.add_references(&cpus);
                }
                plan.say_what_was_not_asked_for(options, has_caches);
            }
            _ => plan.unavailable(
                fields::ONE_CPU,
                "they are measured on one CPU in the normal class, which was not asked for or not possible",
            ),
        }
        if plan.conditions.is_empty() {
            let why: Vec<String> =
                plan.unavailable.iter().map(|row| format!("{}: {}", row.field, row.reason)).collect();
            return Err(OptionsError(format!("nothing to measure: {}", why.join("; "))));
        }
        Ok(plan)
    }

    fn unavailable(&mut self, field: impl Into<Field>, reason: impl Into<String>) {
        self.unavailable.push(Unavailable::new(field, reason));
    }

    fn classes(&mut self, options: &Options, probes: &Probes) -> Vec<Class> {
        let wanted = options.classes.clone().unwrap_or_else(|| Class::ALL.to_vec());
        let mut classes = wanted;
        if classes.contains(&Class::Fifo) && !probes.realtime.works {
            let why = probes.realtime.why.clone().unwrap_or_default();
            self.unavailable(
                fields::CLASS_FIFO,
                format!("{why}; run as root, or allow it: `sudo setcap cap_sys_nice+ep $(command -v swtch)`"),
            );
            classes.retain(|class| *class != Class::Fifo);
        }
        classes
    }

    /// The placements this machine has, each with its CPUs.
    fn places(&mut self, options: &Options, host: &Host, probes: &Probes) -> Vec<(Placement, Vec<u32>)> {
        let wanted = options.placements.clone().unwrap_or_else(|| Placement::ALL.to_vec());
        let mut places = Vec::new();
        for placement in wanted {
            if placement == Placement::Unpinned {
                places.push((placement, Vec::new()));
            } else if !probes.pinning.works {
                let why = probes.pinning.why.clone().unwrap_or_default();
                self.unavailable(
                    format!("placement {placement}"),
                    format!("tasks cannot be pinned here: {why}"),
                );
            } else {
                match host.pair_for(placement) {
                    Ok(cpus) => places.push((placement, cpus.iter().map(|cpu| cpu.get()).collect())),
                    Err(why) => self.unavailable(format!("placement {placement}"), why),
                }
                if placement == Placement::SameCpu {
                    let elsewhere = places.last().map(|(_, cpus)| cpus.clone()).unwrap_or_default();
                    for (_, cpu) in host.same_cpu_by_kind() {
                        if !elsewhere.contains(&cpu.get()) {
                            places.push((placement, vec![cpu.get()]));
                        }
                    }
                }
            }
        }
        places
    }

    fn add_direct(&mut self, options: &Options, places: &[(Placement, Vec<u32>)], classes: &[Class]) {
        let methods = options.methods.clone().unwrap_or_else(|| Method::ALL.to_vec());
        let mut one_processor_only = false;
        for method in methods {
            for tasks in method.facts().tasks {
                for (placement, cpus) in places {
                    if !method.works_on(*placement) {
                        one_processor_only = true;
                        continue;
                    }
                    for class in classes {
                        let home = *placement == Placement::SameCpu;
                        // The quick run covers every method where switching is the work, and the pipe elsewhere.
                        let quick = options.preset == Preset::Quick && options.methods.is_none();
                        let wanted = home && (*class == Class::Normal || method == Method::Pipe)
                            || method == Method::Pipe && *class == Class::Normal;
                        if quick && !wanted {
                            continue;
                        }
                        let is_ring = method.facts().hand_off == HandOff::Ring;
                        let count = if is_ring { DIRECT_RING_TASKS } else { 2 };
                        let headline = method == Method::Pipe && home && *class == Class::Normal;
                        self.conditions.push(Planned {
                            part: ProfilePart::Direct,
                            condition: Condition {
                                work: Work::Switch { method, tasks: *tasks, count, pattern: Pattern::NONE },
                                placement: *placement,
                                cpus: cpus.clone(),
                                class: *class,
                            },
                            weight: if headline { 6.0 } else { 1.0 },
                        });
                    }
                }
            }
        }
        if one_processor_only {
            self.unavailable(
                fields::YIELD_ON_TWO_CPUS,
                "two tasks yield to each other only when they share one CPU",
            );
        }
    }

    fn add_total(&mut self, options: &Options, host: &Host, cpus: &[u32]) -> Result<(), OptionsError> {
        let sizes = options.sizes_bytes.clone().unwrap_or_else(|| self.default_sizes(options, host));
        let mut patterns: Vec<Pattern> = Vec::new();
        let accesses = options.accesses.clone();
        let quick = options.preset == Preset::Quick;
        let all_accesses = if quick { vec![Access::ReadModifyWrite] } else { Access::ALL.to_vec() };
        let last_level = host.last_level_cache_bytes().unwrap_or(UNKNOWN_CACHE_BYTES);
        let strides = options.strides_bytes.clone();
        for array_bytes in &sizes {
            for access in accesses.as_ref().unwrap_or(&all_accesses) {
                // Reads and writes part from read-modify-write where memory is the limit; octaves show that.
                let coarse = array_bytes.is_power_of_two() && *array_bytes <= last_level;
                let dense = options.preset == Preset::Full || options.sizes_bytes.is_some();
                if accesses.is_none() && *access != Access::ReadModifyWrite && !dense && !coarse {
                    continue;
                }
                let defaults = default_strides(options.preset, *access, *array_bytes, last_level);
                for stride_bytes in strides.as_ref().unwrap_or(&defaults) {
                    if stride_bytes <= array_bytes {
                        let pattern = Pattern {
                            array_bytes: *array_bytes,
                            stride_bytes: *stride_bytes,
                            access: *access,
                        };
                        patterns.push(pattern);
                    }
                }
            }
        }
        patterns.sort_unstable();
        patterns.dedup();
        if let (Some(stride), Some(size), true) =
            (strides.iter().flatten().min(), sizes.iter().max(), patterns.is_empty())
        {
            return Err(OptionsError::stride_too_large(*stride, *size));
        }
        self.ensure_direct_reference(cpus);
        self.conditions.extend(patterns.into_iter().map(|pattern| {
            let work = Work::Switch { method: Method::Pipe, tasks: Tasks::Process, count: 2, pattern };
            let weight = if pattern.stride_bytes == ELEMENT_BYTES { 1.0 } else { 0.4 };
            Planned::at_home(ProfilePart::Total, work, cpus, weight)
        }));
        Ok(())
    }

    /// c2 - c1 needs its c1, whatever methods were asked for.
    fn ensure_direct_reference(&mut self, cpus: &[u32]) {
        let (method, tasks, pattern) = (Method::Pipe, Tasks::Process, Pattern::NONE);
        let work = Work::Switch { method, tasks, count: 2, pattern };
        let reference = Planned::at_home(ProfilePart::Direct, work, cpus, 4.0);
        if !self.conditions.iter().any(|planned| planned.condition == reference.condition) {
            self.conditions.push(reference);
        }
    }

    /// From 1 KiB by half octaves (octaves when quick) to four times the last-level cache, as far as memory and options allow.
    fn default_sizes(&mut self, options: &Options, host: &Host) -> Vec<u64> {
        let last_level = host.last_level_cache_bytes().unwrap_or(UNKNOWN_CACHE_BYTES);
        let wished = LARGEST_ARRAY_CACHES * last_level;
        let memory = host.limits.available_memory_bytes.unwrap_or(1 << 30) / 4;
        let bound = options.max_array_bytes.unwrap_or_else(|| options.preset.max_array_bytes());
        let largest = wished.min(bound).min(memory).max(SMALLEST_ARRAY_BYTES);
        if memory < wished.min(bound) {
            self.unavailable(
                format!("arrays above {}", swtch_units::Bytes::new(memory)),
                "two of them would take more than half of the memory available",
            );
        }
        let mut sizes = Vec::new();
        let mut octave = SMALLEST_ARRAY_BYTES;
        while octave <= largest {
            sizes.push(octave);
            // Three quarters of the next octave: near enough to its root of two, and whole pages. The quick run has them where
            // second-level caches end.
            let fine = options.preset != Preset::Quick || (128 << 10..4 << 20).contains(&octave);
            if fine && octave / 2 * 3 <= largest {
                sizes.push(octave / 2 * 3);
            }
            octave *= 2;
        }
        sizes
    }

    /// The surface of the ring; without arrays where there are no caches to refill.
    fn add_rings(&mut self, options: &Options, cpus: &[u32], has_caches: bool) {
        let (lengths, sizes): (&[u32], &[u64]) = match options.preset {
            Preset::Quick => (&[2, 8, 24], &[0, 16 << 10, 64 << 10]),
            Preset::Default => (&[2, 4, 8, 16, 24, 32, 64, 96], &[0, 4 << 10, 16 << 10, 64 << 10, 256 << 10]),
            Preset::Full => (
                &[2, 4, 8, 16, 24, 32, 64, 96],
                &[0, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20],
            ),
        };
        for count in lengths.iter().copied() {
            for array_bytes in sizes.iter().copied().filter(|bytes| has_caches || *bytes == 0) {
                // lat_ctx sums an array of integers: a read.
                let pattern = Pattern { array_bytes, stride_bytes: ELEMENT_BYTES, access: Access::Read };
                let work = Work::Switch { method: Method::Ring, tasks: Tasks::Process, count, pattern };
                self.conditions.push(Planned::at_home(ProfilePart::Ring, work, cpus, 0.5));
            }
        }
    }

    /// A part of the Profile that stays empty because of the caller's own options says so.
    fn say_what_was_not_asked_for(&mut self, options: &Options, has_caches: bool) {
        let has = |part: ProfilePart| self.conditions.iter().any(|planned| planned.part == part);
        let mut strides: Vec<u64> = self.conditions.iter().filter_map(Planned::stride_of_total).collect();
        strides.sort_unstable();
        strides.dedup();
        let methods = "only some methods were asked for";
        let one_stride = match &options.strides_bytes {
            Some(_) => "only one was asked for, or only one is within the arrays",
            None => {
                "this run goes through its arrays from end to end; leave --quick out or give --strides 8,64,4K"
            }
        };
        let total = match (has_caches, &options.methods) {
            (false, _) => "this machine is emulated, so it has no caches to refill",
            (true, Some(methods)) if methods.contains(&Method::Pipe) => {
                "only some methods were asked for, and no arrays; add --sizes, --strides or --access"
            }
            (true, _) => methods,
        };
        let rows = [
            (has(ProfilePart::Total), fields::TOTAL, total),
            (strides.len() != 1, fields::STRIDES, one_stride),
            (has(ProfilePart::Ring), fields::RING, "only some methods or sizes were asked for"),
            (has(ProfilePart::Messages), fields::MESSAGES, methods),
            (has(ProfilePart::Reference), fields::REFERENCES, methods),
        ];
        for (_, what, why) in rows.into_iter().filter(|(there, ..)| !there) {
            self.unavailable(what, why);
        }
    }

    /// Messages on one CPU, few and many, and between two.
    fn add_messages(&mut self, places: &[(Placement, Vec<u32>)]) {
        for carrier in Carrier::ALL {
            for (placement, cpus) in places.iter().filter(|(_, cpus)| !cpus.is_empty()) {
                let sizes: &[_] = match (cpus.len(), carrier) {
                    (1, Carrier::Pipe) => &[ALONE, HALF_DEEP, DEEP, FEW],
                    (1, Carrier::Socket) => &[ALONE, HALF_DEEP, DEEP, FEW, MANY],
                    _ => &[SINGLE, QUEUED],
                };
                for &(channels, depth) in sizes {
                    self.conditions.push(Planned {
                        part: ProfilePart::Messages,
                        condition: Condition {
                            work: Work::Messages { carrier, channels, depth },
                            placement: *placement,
                            cpus: cpus.clone(),
                            class: Class::Normal,
                        },
                        weight: 0.5,
                    });
                }
            }
        }
    }

    fn add_references(&mut self, cpus: &[u32]) {
        self.conditions.extend([Reference::Syscall, Reference::Fork, Reference::ThreadCreate].map(
            |reference| Planned::at_home(ProfilePart::Reference, Work::Reference(reference), cpus, 1.0),
        ));
    }
}

/// Sequential everywhere; the other strides for read-modify-write (as in the paper's figure) at sizes below the last-level cache,
/// every fourth octave in the default run.
fn default_strides(preset: Preset, access: Access, array_bytes: u64, last_level: u64) -> Vec<u64> {
    let mut strides = vec![ELEMENT_BYTES];
    let chosen = match preset {
        Preset::Quick => false,
        Preset::Default => matches!(array_bytes >> 10, 32 | 128 | 512 | 2048),
        Preset::Full => array_bytes.is_power_of_two() && array_bytes >= 16 << 10,
    };
    if access == Access::ReadModifyWrite && chosen && array_bytes <= last_level {
        strides.extend(STRIDES_BYTES);
    }
    strides
}

#[cfg(test)]
mod tests;
