//! Libraries and programs whose threads wait on CPUs: by what a recording shows them, and what makes them sleep instead.

use super::SpinningProcess;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use swtch_trace::TraceView;
use swtch_trace::tables::{StackReason, StackRow};

/// Functions named in one sentence.
const MOST: usize = 2;

/// A library or a program.
struct Runtime {
    /// Parts of the names of its functions and files in a stack.
    frames: &'static [&'static str],
    /// What the names of its threads and programs begin with.
    names: &'static [&'static str],
    /// What makes its threads sleep while they wait.
    sleeps: &'static str,
}

/// Those that are recognised. A program is asked first: it sets what its libraries do.
const RUNTIMES: [Runtime; 8] = [
    Runtime { frames: &["shm_broadcast"], names: &["VLLM", "vllm"], sleeps: "VLLM_SLEEP_WHEN_IDLE=1 (vLLM)" },
    Runtime {
        frames: &["ggml_", "libggml"],
        names: &["llama-", "ollama"],
        sleeps: "--poll 0 (llama.cpp; built with OpenMP, OMP_WAIT_POLICY=passive)",
    },
    Runtime {
        frames: &["onnxruntime"],
        names: &[],
        sleeps: "the session option session.intra_op.allow_spinning=0 (ONNX Runtime)",
    },
    Runtime {
        frames: &["gomp_", "libgomp"],
        names: &[],
        sleeps: "OMP_WAIT_POLICY=passive or GOMP_SPINCOUNT=0 (libgomp)",
    },
    Runtime {
        frames: &["__kmp", "libiomp", "libomp"],
        names: &[],
        sleeps: "KMP_BLOCKTIME=0 or OMP_WAIT_POLICY=passive (libomp)",
    },
    Runtime {
        frames: &["blas_thread", "exec_blas", "openblas"],
        names: &[],
        sleeps: "OPENBLAS_THREAD_TIMEOUT=4, its least (OpenBLAS)",
    },
    Runtime {
        frames: &["libcuda", "libcudart"],
        names: &[],
        sleeps: "cudaDeviceScheduleBlockingSync (CUDA)",
    },
    Runtime { frames: &["libtbb", "tbb::"], names: &[], sleeps: "fewer threads only: TBB has no setting" },
];

/// Where no library is known: no stacks were recorded, or they are of the program itself.
const ANY: &str = "a futex, a condition variable or a blocking barrier instead of the loop; in libraries OMP_WAIT_POLICY=passive (OpenMP), \
                   session.intra_op.allow_spinning=0 (ONNX Runtime), --poll 0 (llama.cpp); --stacks names the library";

/// What makes its threads sleep while they wait.
pub(super) fn blocking_waits(trace: TraceView<'_>, process: &SpinningProcess) -> String {
    let names = names(trace, process);
    let stacks: Vec<&StackRow> = stacks(trace, &names).collect();
    let is_of = |runtime: &&Runtime| {
        let framed = stacks.iter().any(|row| runtime.frames.iter().any(|part| innermost(row).contains(part)));
        framed || names.iter().any(|name| runtime.names.iter().any(|start| name.starts_with(start)))
    };
    RUNTIMES.iter().find(is_of).map_or_else(|| ANY.to_owned(), |runtime| runtime.sleeps.to_owned())
}

/// Where its threads lost their CPUs most: `, most often in gomp_barrier_wait_end (321 times)`. Empty without stacks.
pub(super) fn places(trace: TraceView<'_>, process: &SpinningProcess) -> String {
    let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
    for row in stacks(trace, &names(trace, process)) {
        *functions.entry(own(innermost(row))).or_default() += row.switches;
    }
    let mut functions: Vec<(&str, u64)> =
        functions.into_iter().filter(|(function, _)| !function.is_empty()).collect();
    functions.sort_by_key(|(_, switches)| Reverse(*switches));
    let named = functions.iter().take(MOST).map(|(function, times)| format!("{function} ({times} times)"));
    let named: Vec<String> = named.collect();
    if named.is_empty() { String::new() } else { format!(", most often in {}", named.join(" and ")) }
}

/// The names of the threads of the process: those of stacks.
fn names<'a>(trace: TraceView<'a>, process: &SpinningProcess) -> BTreeSet<&'a str> {
    let tasks = trace.tables.in_scope().filter(|task| task.pid == process.pid);
    tasks.map(|task| task.comm.as_str()).collect()
}

fn stacks<'a>(trace: TraceView<'a>, names: &BTreeSet<&str>) -> impl Iterator<Item = &'a StackRow> {
    let rows = trace.tables.stacks.iter().filter(|row| row.reason == StackReason::Involuntary);
    rows.filter(|row| names.contains(row.task.as_str()))
}

/// The program's innermost frames of a stack, those of the kernel left out: the function that was interrupted, and its callers as far as that
/// function may be a wrapper.
fn innermost(row: &StackRow) -> &str {
    const CALLERS: usize = 3;
    let end = row.frames.split(';').take_while(|frame| !frame.ends_with("_[k]")).map(|frame| frame.len() + 1);
    let own = row.frames.get(..end.sum::<usize>().saturating_sub(1)).unwrap_or(&row.frames);
    let from = own.rmatch_indices(';').nth(CALLERS - 1).map_or(0, |(at, _)| at + 1);
    &own[from..]
}

/// The last of some frames.
fn own(frames: &str) -> &str {
    frames.rsplit(';').next().unwrap_or(frames)
}
