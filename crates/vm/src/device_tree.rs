//! Puts what the kernel is to believe of the CPUs into a device tree: how much each of them can do.
//!
//! QEMU describes its board in a flattened device tree (Devicetree Specification 0.4, chapter 5), in which all CPUs are alike. Linux reads how much a
//! CPU can do from `capacity-dmips-mhz` (Documentation/devicetree/bindings/cpu/cpu-capacity.txt; drivers/base/arch_topology.c, Linux 7.3).

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
/// The property that is added.
const CAPACITY: &[u8] = b"capacity-dmips-mhz\0";
/// The nodes from the root to a CPU.
const CPU_DEPTH: usize = 3;

/// The tree with a capacity for each CPU, in the order of their numbers. The error is what is wrong with the tree.
pub(crate) fn with_capacities(tree: &[u8], capacities: &[u32]) -> Result<Vec<u8>, String> {
    let head = Head::of(tree)?;
    let structure = part(tree, head.structure, head.structure_bytes)?;
    let mut strings = part(tree, head.strings, head.strings_bytes)?.to_vec();
    let reserved = part(tree, head.reserved, head.structure.saturating_sub(head.reserved))?;
    let name = u32::try_from(strings.len()).map_err(|_| "its strings are too long".to_owned())?;
    strings.extend_from_slice(CAPACITY);
    let mut cpus = cpus(structure)?;
    if cpus.len() != capacities.len() {
        return Err(format!("it has {} CPUs, and {} capacities are given", cpus.len(), capacities.len()));
    }
    cpus.sort_by_key(|cpu| cpu.address);
    let mut added: Vec<(usize, u32)> =
        cpus.iter().map(|cpu| cpu.begins).zip(capacities.iter().copied()).collect();
    added.sort_unstable();
    let mut whole = Vec::with_capacity(structure.len() + added.len() * 4 * WORD);
    let mut done = 0;
    for (begins, capacity) in added {
        whole.extend_from_slice(&structure[done..begins]);
        for word in [PROPERTY, WORD as u32, name, capacity] {
            whole.extend_from_slice(&word.to_be_bytes());
        }
        done = begins;
    }
    whole.extend_from_slice(&structure[done..]);
    Ok(head.written(reserved, &whole, &strings))
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
        let mut whole: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
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

fn cpus(structure: &[u8]) -> Result<Vec<Cpu>, String> {
    let mut found = Vec::new();
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
                    found.push(Cpu { address, begins: at });
                }
            }
            END_NODE => drop(path.pop()),
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

    fn node(name: &str, inside: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = BEGIN_NODE.to_be_bytes().to_vec();
        bytes.extend(name.bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(WORD), 0);
        for one in inside {
            bytes.extend(one);
        }
        bytes.extend(END_NODE.to_be_bytes());
        bytes
    }

    fn property(name_at: u32, value: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            [PROPERTY, value.len() as u32, name_at].iter().flat_map(|word| word.to_be_bytes()).collect();
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
        let mut structure = node("", of);
        structure.extend(END.to_be_bytes());
        head.written(&[0; 16], &structure, b"reg\0")
    }

    /// What each CPU's node has, by the name's place and value.
    fn capacities(tree: &[u8]) -> Vec<(u64, u32)> {
        let head = Head::of(tree).unwrap();
        let structure = part(tree, head.structure, head.structure_bytes).unwrap();
        let strings = part(tree, head.strings, head.strings_bytes).unwrap();
        let of = |cpu: Cpu| {
            assert_eq!(word_at(structure, cpu.begins), Ok(PROPERTY));
            let name = word_at(structure, cpu.begins + 2 * WORD).unwrap() as usize;
            assert!(strings[name..].starts_with(CAPACITY));
            (cpu.address, word_at(structure, cpu.begins + 3 * WORD).unwrap())
        };
        cpus(structure).unwrap().into_iter().map(of).collect()
    }

    #[test]
    fn every_cpu_gets_its_own_whatever_the_order() {
        let reg = |value: u8| property(0, &[0, 0, 0, value, 0]);
        let cpus = node(
            "cpus",
            &[property(0, b"x"), node("cpu@a", &[reg(10)]), node("cpu@0", &[reg(0)]), node("cpu-map", &[])],
        );
        let elsewhere = node("other", &[node("cpu@0", &[])]);
        let made = with_capacities(&tree(&[cpus, elsewhere]), &[1024, 512]).unwrap();
        assert_eq!(capacities(&made), [(10, 512), (0, 1024)]);
        assert_eq!(word_at(&made, WORD).unwrap() as usize, made.len());
    }

    #[test]
    fn a_tree_that_is_none_is_told() {
        let whole = tree(&[node("cpus", &[node("cpu@0", &[])])]);
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
