"""Any ONNX model as a workload: onnxruntime_workload.py MODEL.onnx [THREADS]

Speaks the workload contract (docs/workload-contract.md) with the class that swtch brings. Inputs are random; axes of unknown
length get the length 1.
"""

from __future__ import annotations

import sys

from swtch.ai.contract import Workload, now_ns

DURATION_S = 10.0
"""Unless the host says how long."""


def main(arguments: list[str]) -> int:
    """Runs the model; returns the exit status."""
    if not 1 <= len(arguments) <= 2 or not (len(arguments) == 1 or arguments[1].isdigit()):
        print("usage: onnxruntime_workload.py MODEL.onnx [THREADS]", file=sys.stderr)
        return 2
    path, threads = arguments[0], int(arguments[1]) if len(arguments) == 2 else 1
    workload = Workload()
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError as error:
        return failed(workload, f"{error}; pip install 'swtch[ai]'")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return failed(workload, f"{path} cannot be loaded ({error}); is it an ONNX model with its weights?")
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
    feed = {}
    for one in session.get_inputs():
        if one.type not in kinds:
            return failed(
                workload, f"input {one.name} of {path} is a {one.type}, which this example cannot make"
            )
        shape = [axis if isinstance(axis, int) else 1 for axis in one.shape]
        feed[one.name] = np.random.default_rng(0).random(shape).astype(kinds[one.type])

    session.run(None, feed)
    workload.ready(workload="onnxruntime", model=path, threads=threads, runtime_version=ort.__version__)
    if not workload.wait_for_go():
        return failed(workload, "the host ended before it said go")
    deadline_ns = now_ns() + int((workload.duration_s or DURATION_S) * 1e9)
    while workload.inferences is None or workload.spans < workload.inferences:
        begin_ns = now_ns()
        session.run(None, feed)
        end_ns = now_ns()
        workload.span(begin_ns, end_ns)
        if end_ns >= deadline_ns:
            break
    workload.finish(inferences=workload.spans)
    return 0


def failed(workload: Workload, message: str) -> int:
    """Says why, to the host and to people."""
    workload.error(message)
    print(f"onnxruntime_workload: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
