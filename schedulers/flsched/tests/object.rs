//! FLSCHED has no lock of its own: what the compiled object contains says so, on any machine.

use std::collections::BTreeSet;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/flsched.bpf.o"));

/// The functions of the kernel that FLSCHED may call. They are the default search for an idle CPU, insertion (scx_cargo's headers
/// name the forms of several kernels), and lengths of queues. They also report the number of CPUs, whose a task is and whether it
/// may use one, and count loops.
const KERNEL_FUNCTIONS: [&str; 11] = [
    "bpf_cpumask_test_cpu",
    "bpf_iter_num_destroy",
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "scx_bpf_dispatch___compat",
    "scx_bpf_dsq_insert___v1",
    "scx_bpf_dsq_insert___v2___compat",
    "scx_bpf_dsq_nr_queued",
    "scx_bpf_nr_cpu_ids",
    "scx_bpf_select_cpu_dfl",
    "scx_bpf_task_cpu",
];
/// Numbered helpers (Linux include/uapi/linux/bpf.h): bpf_map_lookup_elem, for the counters, and bpf_get_prandom_u32.
const HELPERS: [i32; 2] = [1, 7];

/// Sections of programs that no switch passes through: loading, ending, and a probe of the headers' that is never loaded.
const OFF_THE_PATH: [&str; 3] =
    ["struct_ops.s/flsched_init", "struct_ops/flsched_exit", "fentry/bpf_scx_reg"];

const BPF_CALL: u8 = 0x85;
const BPF_STX: u8 = 0x03;
const BPF_ATOMIC: u8 = 0xc0;

/// An instruction: 8 bytes, in the order of the machine that compiles, which BPF has little-endian here.
struct Instruction {
    code: u8,
    source: u8,
    immediate: i32,
}

fn u64_at(at: usize) -> usize {
    u64::from_le_bytes(OBJECT[at..at + 8].try_into().unwrap()) as usize
}

fn u32_at(at: usize) -> usize {
    u32::from_le_bytes(OBJECT[at..at + 4].try_into().unwrap()) as usize
}

fn u16_at(at: usize) -> usize {
    u16::from_le_bytes(OBJECT[at..at + 2].try_into().unwrap()).into()
}

/// The place of every section's header (ELF-64: the table of sections is named at 0x28).
fn sections() -> Vec<usize> {
    assert_eq!(&OBJECT[..6], b"\x7fELF\x02\x01", "a little-endian object of 64 bits");
    let (table, entry_bytes, count) = (u64_at(0x28), u16_at(0x3a), u16_at(0x3c));
    (0..count).map(|index| table + index * entry_bytes).collect()
}

/// Where a section is, and its bytes.
fn contents(header: usize) -> std::ops::Range<usize> {
    let start = u64_at(header + 24);
    start..start + u64_at(header + 32)
}

fn name_in(table: usize, offset: usize) -> &'static str {
    let name = &OBJECT[contents(table).start + offset..];
    std::str::from_utf8(name.split(|byte| *byte == 0).next().unwrap()).unwrap()
}

/// The sections of code by name.
fn programs() -> Vec<(&'static str, Vec<Instruction>)> {
    const EXECUTABLE: usize = 4;
    let names = sections()[u16_at(0x3e)];
    let one = |bytes: &[u8]| Instruction {
        code: bytes[0],
        source: bytes[1] >> 4,
        immediate: i32::from_le_bytes(bytes[4..8].try_into().unwrap()),
    };
    sections()
        .into_iter()
        .filter(|header| u64_at(header + 8) & EXECUTABLE != 0)
        .map(|header| {
            (name_in(names, u32_at(header)), OBJECT[contents(header)].chunks_exact(8).map(one).collect())
        })
        .collect()
}

/// What the object refers to and does not have: there is no other way to call the kernel than these and the numbered helpers.
fn kernel_functions() -> BTreeSet<&'static str> {
    const SYMBOLS: usize = 2;
    const ENTRY_BYTES: usize = 24;
    let sections = sections();
    let table = sections.iter().find(|header| u32_at(*header + 4) == SYMBOLS).unwrap();
    let names = sections[u32_at(table + 40)];
    let undefined = |at: &usize| u16_at(at + 6) == 0;
    contents(*table)
        .step_by(ENTRY_BYTES)
        .skip(1)
        .filter(undefined)
        .map(|at| name_in(names, u32_at(at)))
        .collect()
}

#[test]
fn only_permitted_functions_of_the_kernel_are_named() {
    let (named, permitted) = (kernel_functions(), BTreeSet::from(KERNEL_FUNCTIONS));
    let others: Vec<&&str> = named.difference(&permitted).collect();
    assert!(others.is_empty(), "{others:?} of {named:?}");
    assert!(named.contains("scx_bpf_select_cpu_dfl"), "the list is that of this object: {named:?}");
}

#[test]
fn nothing_on_the_path_of_a_switch_is_atomic_or_calls_anything_else() {
    let programs = programs();
    let on_the_path: Vec<_> =
        programs.iter().filter(|(name, code)| !OFF_THE_PATH.contains(name) && !code.is_empty()).collect();
    for name in ["struct_ops/flsched_select_cpu", "struct_ops/flsched_enqueue"] {
        assert!(on_the_path.iter().any(|(found, _)| *found == name), "{name} was looked at");
    }
    for (name, code) in on_the_path {
        for (index, instruction) in code.iter().enumerate() {
            let is_atomic = instruction.code & 0xe7 == BPF_STX | BPF_ATOMIC;
            assert!(!is_atomic, "{name}, instruction {index}");
            // Source 0 is a helper; 1 another function of this object, 2 one of the kernel's.
            if instruction.code == BPF_CALL && instruction.source == 0 {
                assert!(
                    HELPERS.contains(&instruction.immediate),
                    "{name} calls helper {}",
                    instruction.immediate
                );
            }
        }
    }
}

#[test]
fn the_test_can_see_an_atomic_instruction() {
    // The end is reported with a barrier, which is one.
    let programs = programs();
    let (_, code) = programs.iter().find(|(name, _)| *name == "struct_ops/flsched_exit").unwrap();
    assert!(code.iter().any(|instruction| instruction.code & 0xe7 == BPF_STX | BPF_ATOMIC));
}
