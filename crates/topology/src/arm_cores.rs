//! Names of Arm's and others' cores, which `/proc/cpuinfo` gives by number only.
//!
//! Source: the designers' manuals of the register `MIDR_EL1`, as arch/arm64/include/asm/cputype.h (Linux 6.18) and `lscpu` collect them.

/// The number of the designer, that of the core, and its name.
const CORES: [(u32, u32, &str); 71] = [
    (0x41, 0xc07, "Cortex-A7"),
    (0x41, 0xc08, "Cortex-A8"),
    (0x41, 0xc09, "Cortex-A9"),
    (0x41, 0xc0d, "Cortex-A17"),
    (0x41, 0xc0e, "Cortex-A17"),
    (0x41, 0xc0f, "Cortex-A15"),
    (0x41, 0xd01, "Cortex-A32"),
    (0x41, 0xd02, "Cortex-A34"),
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd06, "Cortex-A65"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd0e, "Cortex-A76AE"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd43, "Cortex-A65AE"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4a, "Neoverse-E1"),
    (0x41, 0xd4b, "Cortex-A78C"),
    (0x41, 0xd4c, "Cortex-X1C"),
    (0x41, 0xd4d, "Cortex-A715"),
    (0x41, 0xd4e, "Cortex-X3"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd83, "Neoverse-V3AE"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd85, "Cortex-X925"),
    (0x41, 0xd87, "Cortex-A725"),
    (0x41, 0xd8a, "C1-Nano"),
    (0x41, 0xd8b, "C1-Pro"),
    (0x41, 0xd8c, "C1-Ultra"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x41, 0xd8f, "Cortex-A320"),
    (0x41, 0xd90, "C1-Premium"),
    (0x43, 0x0a1, "ThunderX"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "Kunpeng 920"),
    (0x4e, 0x003, "Denver 2"),
    (0x4e, 0x004, "Carmel"),
    (0x4e, 0x010, "Olympus"),
    (0x51, 0x001, "Oryon"),
    (0x51, 0x802, "Kryo 3xx Gold"),
    (0x51, 0x803, "Kryo 3xx Silver"),
    (0x51, 0x804, "Kryo 4xx Gold"),
    (0x51, 0x805, "Kryo 4xx Silver"),
    (0x61, 0x022, "Apple Icestorm (M1)"),
    (0x61, 0x023, "Apple Firestorm (M1)"),
    (0x61, 0x024, "Apple Icestorm (M1 Pro)"),
    (0x61, 0x025, "Apple Firestorm (M1 Pro)"),
    (0x61, 0x028, "Apple Icestorm (M1 Max)"),
    (0x61, 0x029, "Apple Firestorm (M1 Max)"),
    (0x61, 0x032, "Apple Blizzard (M2)"),
    (0x61, 0x033, "Apple Avalanche (M2)"),
    (0x6d, 0xd49, "Azure Cobalt 100"),
    (0xc0, 0xac3, "AmpereOne"),
    (0xc0, 0xac4, "AmpereOne A"),
];

/// The name of a core by the numbers as `/proc/cpuinfo` writes them; where it is not known, the numbers.
pub(crate) fn name(implementer: &str, part: &str) -> String {
    let number = |text: &str| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let found = CORES
        .iter()
        .find(|(designer, core, _)| number(implementer) == Some(*designer) && number(part) == Some(*core));
    found.map_or_else(|| format!("implementer {implementer} part {part}"), |(_, _, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_has_one_name_and_the_table_is_in_order() {
        assert!(CORES.windows(2).all(|two| (two[0].0, two[0].1) < (two[1].0, two[1].1)));
        assert_eq!(name("0x41", "0xd0b"), "Cortex-A76");
        assert_eq!(name("0x41", "0xfff"), "implementer 0x41 part 0xfff");
        assert_eq!(name("ARM", "0xd0b"), "implementer ARM part 0xd0b");
    }
}
