//! Puts what the kernel is to believe of the CPUs into a device tree: how much each of them can do, and what energy that takes.
//!
//! QEMU describes its board in a flattened device tree (Devicetree Specification 0.4, chapter 5), in which all CPUs are alike. Linux reads how much a
//! CPU can do from `capacity-dmips-mhz` (Documentation/devicetree/bindings/cpu/cpu-capacity.txt; drivers/base/arch_topology.c, Linux 7.3), and makes an
//! energy model from frequencies, voltages and `dynamic-power-coefficient` (Documentation/power/energy-model.rst; drivers/opp/of.c). Each kind of CPU has one
//! frequency, since an emulated CPU cannot run at another.

use crate::spec::{LARGEST_CAPACITY, kinds};

/// First of a tree's file.
const MAGIC: u32 = 0xd00d_feed;
const HEADER_WORDS: usize = 10;
const WORD: usize = 4;
/// Tokens of the structure.
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOTHING: u32 = 4;
const END: u32 = 9;
/// The nodes from the root to a CPU.
const CPU_DEPTH: usize = 3;
/// Numbers by which nodes name each other; QEMU's begin at 0x8000.
const CLOCK: u32 = 0x7357_0000;
const FIRST_TABLE: u32 = CLOCK + 1;
/// Every CPU's frequency, Hz, and voltage, uV. Only relations between kinds of CPU matter.
const FREQUENCY_HZ: u32 = 1_000_000_000;
const VOLTAGE_UV: u32 = 1_000_000;
/// What a CPU of the largest capacity takes, uW/MHz/V^2, and how it falls with capacity: the Cortex-A72 and A53 of Rockchip's RK3399 have 436 at 1024
/// and 100 at 485 (arch/arm64/boot/dts/rockchip/rk3399.dtsi, Linux 6.12), and 436 times the square of 485/1024 is 98.
const LARGEST_COEFFICIENT: f64 = 436.0;

/// The tree with a capacity and an energy model for each CPU, in the order of their numbers. The error is what is wrong with the tree.
pub(crate) fn with_capacities(tree: &[u8], capacities: &[u32]) -> Result<Vec<u8>, String> {
    let head = Head::of(tree)?;
    let structure = part(tree, head.structure, head.structure_bytes)?;
    let reserved = part(tree, head.reserved, head.structure.saturating_sub(head.reserved))?;
    let mut writer = Writer { strings: part(tree, head.strings, head.strings_bytes)?.to_vec() };
    let Places { mut cpus, root_ends } = places(structure)?;
    if cpus.len() != capacities.len() {
        return Err(format!("it has {} CPUs, and {} capacities are given", cpus.len(), capacities.len()));
    }
    cpus.sort_by_key(|cpu| cpu.address);
    let mut kinds = kinds(capacities);
    kinds.reverse();
    let table = |capacity: u32| FIRST_TABLE + kinds.partition_point(|kind| *kind < capacity) as u32;
    let mut added: Vec<(usize, Vec<u8>)> = Vec::new();
    for (cpu, capacity) in cpus.iter().zip(capacities.iter().copied()) {
        added.push((cpu.begins, writer.cpu(capacity, table(capacity))));
    }
    let tables: Vec<u8> = kinds.iter().flat_map(|capacity| writer.table(table(*capacity))).collect();
    added.push((root_ends, [writer.clock(), tables].concat()));
    added.sort_unstable_by_key(|(at, _)| *at);
    let mut whole =
        Vec::with_capacity(structure.len() + added.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
    let mut done = 0;
    for (at, bytes) in added {
        whole.extend_from_slice(&structure[done..at]);
        whole.extend(bytes);
        done = at;
    }
    whole.extend_from_slice(&structure[done..]);
    Ok(head.written(reserved, &whole, &writer.strings))
}

/// Writes nodes and properties; their names go to the end of the tree's strings.
struct Writer {
    strings: Vec<u8>,
}

impl Writer {
    fn property(&mut self, name: &str, value: &[u8]) -> Vec<u8> {
        let zero_ended = [name.as_bytes(), b"\0"].concat();
        let place = self.strings.windows(zero_ended.len()).position(|window| window == zero_ended);
        let place = place.unwrap_or_else(|| {
            let end = self.strings.len();
            self.strings.extend_from_slice(&zero_ended);
            end
        });
        let mut bytes = words(&[PROPERTY, value.len() as u32, place as u32]);
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(WORD), 0);
        bytes
    }

    /// What a CPU's node has besides.
    fn cpu(&mut self, capacity: u32, table: u32) -> Vec<u8> {
        let share = f64::from(capacity) / f64::from(LARGEST_CAPACITY);
        let coefficient = (LARGEST_COEFFICIENT * share * share).round().max(1.0) as u32;
        [
            self.property("capacity-dmips-mhz", &words(&[capacity])),
            self.property("dynamic-power-coefficient", &words(&[coefficient])),
            self.property("clocks", &words(&[CLOCK])),
            self.property("operating-points-v2", &words(&[table])),
        ]
        .concat()
    }

    /// The clock of all CPUs (Documentation/devicetree/bindings/clock/fixed-clock.yaml).
    fn clock(&mut self) -> Vec<u8> {
        let inside = [
            self.property("compatible", b"fixed-clock\0"),
            self.property("#clock-cells", &words(&[0])),
            self.property("clock-frequency", &words(&[FREQUENCY_HZ])),
            self.property("phandle", &words(&[CLOCK])),
        ];
        node("swtch-cpu-clock", &inside.concat())
    }

    /// The frequencies of a kind of CPU, of which all change together (Documentation/devicetree/bindings/opp/opp-v2.yaml).
    fn table(&mut self, table: u32) -> Vec<u8> {
        let point = [
            self.property("opp-hz", &words(&[0, FREQUENCY_HZ])),
            self.property("opp-microvolt", &words(&[VOLTAGE_UV])),
        ];
        let inside = [
            self.property("compatible", b"operating-points-v2\0"),
            self.property("opp-shared", b""),
            self.property("phandle", &words(&[table])),
            node(&format!("opp-{FREQUENCY_HZ}"), &point.concat()),
        ];
        node(&format!("swtch-opp-table-{}", table - FIRST_TABLE), &inside.concat())
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn node(name: &str, inside: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[BEGIN_NODE]);
    bytes.extend(name.bytes());
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(WORD), 0);
    bytes.extend_from_slice(inside);
    bytes.extend(words(&[END_NODE]));
    bytes
}

struct Head {
    structure: usize,
    strings: usize,
    reserved: usize,
    version: u32,
    oldest_version: u32,
    boot_cpu: u32,
    strings_bytes: usize,
    structure_bytes: usize,
}

impl Head {
    fn of(tree: &[u8]) -> Result<Self, String> {
        let mut words = [0; HEADER_WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            *word = word_at(tree, index * WORD)?;
        }
        let [
            magic,
            _,
            structure,
            strings,
            reserved,
            version,
            oldest_version,
            boot_cpu,
            strings_bytes,
            structure_bytes,
        ] = words;
        if magic != MAGIC {
            return Err("it does not begin like a device tree".to_owned());
        }
        let size = |word: u32| word as usize;
        Ok(Self {
            structure: size(structure),
            strings: size(strings),
            reserved: size(reserved),
            version,
            oldest_version,
            boot_cpu,
            strings_bytes: size(strings_bytes),
            structure_bytes: size(structure_bytes),
        })
    }

    /// The whole file, of these parts.
    fn written(&self, reserved: &[u8], structure: &[u8], strings: &[u8]) -> Vec<u8> {
        let at = HEADER_WORDS * WORD;
        let (structure_at, strings_at) = (at + reserved.len(), at + reserved.len() + structure.len());
        let total = strings_at + strings.len();
        let words = [
            MAGIC,
            total as u32,
            structure_at as u32,
            strings_at as u32,
            at as u32,
            self.version,
            self.oldest_version,
            self.boot_cpu,
            strings.len() as u32,
            structure.len() as u32,
        ];
        let mut whole: Vec<u8> = self::words(&words);
        whole.extend([reserved, structure, strings].into_iter().flatten());
        whole
    }
}

/// A node `/cpus/cpu@ADDRESS`.
struct Cpu {
    address: u64,
    /// Where its properties begin.
    begins: usize,
}

/// Where something is added.
struct Places {
    cpus: Vec<Cpu>,
    /// Where the root ends, after all of its nodes.
    root_ends: usize,
}

fn places(structure: &[u8]) -> Result<Places, String> {
    let mut found = Places { cpus: Vec::new(), root_ends: 0 };
    let mut path: Vec<&str> = Vec::new();
    let mut at = 0;
    loop {
        let token = word_at(structure, at)?;
        at += WORD;
        match token {
            BEGIN_NODE => {
                let rest = structure.get(at..).unwrap_or_default();
                let length = rest.iter().position(|byte| *byte == 0).ok_or("a node's name does not end")?;
                path.push(std::str::from_utf8(&rest[..length]).map_err(|_| "a node's name is not text")?);
                at += (length + 1).next_multiple_of(WORD);
                if let [_, "cpus", cpu] = path[..]
                    && path.len() == CPU_DEPTH
                    && let Some(address) = cpu.strip_prefix("cpu@")
                {
                    let address =
                        u64::from_str_radix(address, 16).map_err(|_| format!("'{cpu}' has no address"))?;
                    found.cpus.push(Cpu { address, begins: at });
                }
            }
            END_NODE => {
                path.pop();
                found.root_ends = at - WORD;
            }
            PROPERTY => at += 2 * WORD + (word_at(structure, at)? as usize).next_multiple_of(WORD),
            NOTHING => {}
            END => return Ok(found),
            other => return Err(format!("{other} is not a token of it")),
        }
    }
}

fn part(tree: &[u8], at: usize, bytes: usize) -> Result<&[u8], String> {
    tree.get(at..).and_then(|rest| rest.get(..bytes)).ok_or_else(cut_off)
}

fn word_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    let word: Option<&[u8; WORD]> = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map(|word| u32::from_be_bytes(*word)).ok_or_else(cut_off)
}

fn cut_off() -> String {
    "it is cut off".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One whose name is the first of the strings.
    fn property(value: &[u8]) -> Vec<u8> {
        let mut bytes = words(&[PROPERTY, value.len() as u32, 0]);
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(WORD), 0);
        bytes
    }

    fn tree(of: &[Vec<u8>]) -> Vec<u8> {
        let head = Head {
            structure: 0,
            strings: 0,
            reserved: 0,
            version: 17,
            oldest_version: 16,
            boot_cpu: 0,
            strings_bytes: 0,
            structure_bytes: 0,
        };
        let mut structure = node("", &of.concat());
        structure.extend(END.to_be_bytes());
        head.written(&[0; 16], &structure, b"reg\0")
    }

    /// The values of a property in all nodes that have it, in the tree's order, with the node's name.
    fn all(tree: &[u8], name: &str) -> Vec<(String, Vec<u32>)> {
        let head = Head::of(tree).unwrap();
        let structure = part(tree, head.structure, head.structure_bytes).unwrap();
        let strings = part(tree, head.strings, head.strings_bytes).unwrap();
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.split(|byte| *byte == 0).next().unwrap().to_vec()).unwrap()
        };
        let (mut found, mut path, mut at) = (Vec::new(), Vec::new(), 0);
        loop {
            let word = |at| word_at(structure, at).unwrap();
            let token = word(at);
            at += WORD;
            match token {
                BEGIN_NODE => {
                    path.push(text(&structure[at..]));
                    at += (path.last().unwrap().len() + 1).next_multiple_of(WORD);
                }
                END_NODE => drop(path.pop()),
                PROPERTY => {
                    let (length, place) = (word(at) as usize, word(at + WORD) as usize);
                    at += 2 * WORD;
                    if text(&strings[place..]) == name {
                        found.push((
                            path.last().unwrap().clone(),
                            (0..length / WORD).map(|index| word(at + index * WORD)).collect(),
                        ));
                    }
                    at += length.next_multiple_of(WORD);
                }
                _ => break assert!(token == END && path.is_empty()),
            }
        }
        found
    }

    fn of(tree: &[u8], name: &str) -> Vec<u32> {
        all(tree, name).into_iter().map(|(_, value)| value[0]).collect()
    }

    #[test]
    fn every_cpu_gets_its_own_whatever_the_order() {
        let reg = |value: u8| property(&[0, 0, 0, value, 0]);
        let cpus = node(
            "cpus",
            &[property(b"x"), node("cpu@a", &reg(10)), node("cpu@0", &reg(0)), node("cpu-map", &[])].concat(),
        );
        let elsewhere = node("other", &node("cpu@0", &[]));
        let made = with_capacities(&tree(&[cpus, elsewhere]), &[1024, 512]).unwrap();
        let capacities = [("cpu@a".to_owned(), vec![512]), ("cpu@0".to_owned(), vec![1024])];
        assert_eq!(all(&made, "capacity-dmips-mhz"), capacities);
        assert_eq!(word_at(&made, WORD).unwrap() as usize, made.len());
    }

    /// Every number by which a node names another is that of one.
    #[test]
    fn each_kind_of_cpu_has_a_frequency_and_its_energy() {
        let cpus: Vec<u8> = (0..3).flat_map(|cpu| node(&format!("cpu@{cpu}"), &[])).collect();
        let made = with_capacities(&tree(&[node("cpus", &cpus)]), &[1024, 485, 485]).unwrap();
        let [fast, slow, other] = of(&made, "operating-points-v2")[..] else { panic!() };
        assert!(slow == other && slow != fast);
        assert_eq!(of(&made, "phandle"), [CLOCK, slow, fast]);
        assert_eq!(of(&made, "clocks"), [CLOCK; 3]);
        let hz = all(&made, "opp-hz").into_iter().map(|(_, value)| value);
        assert_eq!(hz.collect::<Vec<_>>(), [[0, FREQUENCY_HZ]; 2]);
        assert_eq!(of(&made, "clock-frequency"), [FREQUENCY_HZ]);
        // The Cortex-A53 of an RK3399 has 100.
        assert_eq!(of(&made, "dynamic-power-coefficient"), [436, 98, 98]);
    }

    #[test]
    fn a_tree_that_is_none_is_told() {
        let whole = tree(&[node("cpus", &node("cpu@0", &[]))]);
        assert!(with_capacities(&whole, &[1024]).is_ok());
        assert!(with_capacities(&whole, &[1024, 1]).unwrap_err().contains("1 CPUs, and 2"));
        assert!(
            with_capacities(b"ELF\x7f and more that is longer than a header", &[1])
                .unwrap_err()
                .contains("begin")
        );
        for length in 0..whole.len() {
            assert!(with_capacities(&whole[..length], &[1024]).is_err(), "{length}");
        }
        let broken = tree(&[77u32.to_be_bytes().to_vec()]);
        assert!(with_capacities(&broken, &[]).unwrap_err().contains("77"));
    }
}
