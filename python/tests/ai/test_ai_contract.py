"""The workload contract: what is kept, what is refused, and that nothing breaks the reader."""

from __future__ import annotations

import json
import os
import random

import pytest

from swtch.ai.contract import LINE_LIMIT_BYTES, SPANS_IN_LINE, Collector, Workload, now_ns
from swtch.ai.errors import ContractError

READY = b'{"event":"ready","version":1,"pid":7}\n'


def fed(*lines: bytes | dict) -> Collector:
    collector = Collector()
    collector.feed(READY)
    for line in lines:
        collector.feed(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
    collector.close()
    return collector


def test_a_block_is_a_unit_of_work_unless_it_raises() -> None:
    workload = Workload({})
    before_ns = now_ns()
    with workload.unit():
        assert workload.spans == 0, "it counts when it is done"
    with pytest.raises(ZeroDivisionError), workload.unit():
        raise ZeroDivisionError
    assert workload.spans == 1
    assert before_ns <= workload._begin_ns[0] <= workload._end_ns[0] <= now_ns()


def test_what_a_workload_writes_is_what_is_read(capfd) -> None:
    read_fd, write_fd = os.pipe()
    workload = Workload({"SWTCH_CONTRACT_FD": str(write_fd)})
    workload.reserve(10)
    assert workload.hosted and workload.spans == 0
    spans = [(100 * at, 100 * at + at % 90) for at in range(SPANS_IN_LINE + 5)]
    workload.ready(model="MobileNet é", threads=2)
    for begin_ns, end_ns in spans[:10]:
        workload.span(begin_ns, end_ns)
    for begin_ns, end_ns in spans[10:1000]:
        workload.span(begin_ns, end_ns)
    workload.finish(inferences=1000, share=0.5, note=None)
    os.close(write_fd)
    collector = Collector()
    while data := os.read(read_fd, 7):
        collector.feed(data)
    collector.close()
    os.close(read_fd)
    assert collector.truncated is None and collector.error is None
    assert (collector.ready["model"], collector.ready["threads"], collector.ready["pid"]) == (
        "MobileNet é",
        2,
        os.getpid(),
    )
    assert list(zip(collector.begin_ns, collector.end_ns)) == spans[:1000]
    assert collector.metrics == {"inferences": 1000, "share": 0.5, "note": None}
    assert capfd.readouterr().out == ""


def test_many_spans_take_several_short_lines(capfdbinary) -> None:
    workload = Workload({})
    workload.ready()
    for at in range(2 * SPANS_IN_LINE + 1):
        workload.span((1 << 62) + at, (1 << 62) + at)
    workload.finish()
    lines = capfdbinary.readouterr().out.splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["ready", "spans", "spans", "spans", "metrics"]
    assert max(map(len, lines)) < LINE_LIMIT_BYTES


def test_a_workload_without_a_host_waits_for_nobody() -> None:
    workload = Workload({})
    assert not workload.hosted and workload.wait_for_go()
    assert workload.duration_s is None and workload.inferences is None


def test_what_the_host_asks_for() -> None:
    workload = Workload({"SWTCH_CONTRACT_DURATION_S": "0.25", "SWTCH_CONTRACT_INFERENCES": "12"})
    assert (workload.duration_s, workload.inferences) == (0.25, 12)
    for name, value in (
        ("SWTCH_CONTRACT_FD", "x"),
        ("SWTCH_CONTRACT_DURATION_S", "nan"),
        ("SWTCH_CONTRACT_DURATION_S", "-1"),
        ("SWTCH_CONTRACT_INFERENCES", "1.5"),
    ):
        with pytest.raises(ValueError, match=f"{name} is '{value}'"):
            Workload({name: value})


def test_single_events_join_the_spans() -> None:
    collector = fed(
        {"event": "begin", "id": 1, "t_ns": 10},
        {"event": "begin", "id": 2, "t_ns": 11},
        {"event": "end", "id": 2, "t_ns": 15},
        {"event": "spans", "begin_ns": [20], "end_ns": [29]},
        {"event": "end", "id": 1, "t_ns": 40},
        {"event": "begin", "id": 1, "t_ns": 50},
    )
    assert list(collector.latencies_ns()) == [4, 9, 30]
    assert collector.truncated == "1 spans began and did not end"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"nonsense\n", "not a JSON object"),
        (b"\n", "not a JSON object"),
        (b"[1]\n", "a JSON object was expected, not [1]"),
        (b"\xff\xfe\n", "not a JSON object in UTF-8"),
        (b'{"event":"spans","event":"spans"}\n', "a key occurs twice"),
        (b'{"event":"metrics","x":NaN}\n', "NaN is not JSON"),
        (b'{"event":"metrics","x":1e999}\n', "1e999 is too large"),
        (b'{"event":"metrics","x":"\\ud800"}\n', "surrogates not allowed"),
        (b'{"event":"metrics","X y":1}\n', "cannot name a metric"),
        (b'{"event":"metrics","x":[1]}\n', "must be a number or a text, not [1]"),
        (b'{"event":"party"}\n', "no event of the contract is 'party'"),
        (b"{}\n", "no event of the contract is None"),
        (b'{"event":["ready"]}\n', "no event of the contract is ['ready']"),
        (READY, "'ready' came twice"),
        (b'{"event":"error"}\n', "'message' must be a text, not None"),
        (b'{"event":"spans","begin_ns":[1,2],"end_ns":[3]}\n', "lists of the same length"),
        (b'{"event":"spans","begin_ns":1,"end_ns":1}\n', "lists of the same length"),
        (b'{"event":"spans","begin_ns":[5],"end_ns":[4]}\n', "ends at 4 ns, before it begins at 5 ns"),
        (b'{"event":"spans","begin_ns":[-1],"end_ns":[4]}\n', "from 0 to 2^63 - 1, not -1"),
        (b'{"event":"spans","begin_ns":[1.5],"end_ns":[4]}\n', "whole number"),
        (b'{"event":"spans","begin_ns":[true],"end_ns":[4]}\n', "whole number"),
        (b'{"event":"spans","begin_ns":[1],"end_ns":[9223372036854775808]}\n', "whole number"),
        (b'{"event":"begin","id":1}\n', "'t_ns' must be a whole number"),
        (b'{"event":"end","id":1,"t_ns":4}\n', "span 1 ended, but did not begin"),
        (b"[" * 200_000 + b"\n", "not a JSON object"),
        (b"9" * 5_000 + b"\n", "line 2"),
        (b'"' + b"x" * LINE_LIMIT_BYTES + b'"\n', "longer than 1048576 bytes"),
        (b"x" * (LINE_LIMIT_BYTES + 1), "longer than 1048576 bytes"),
    ],
)
def test_a_line_that_breaks_the_contract_is_named(line: bytes, words: str) -> None:
    collector = Collector()
    collector.feed(READY + b'{"event":"spans","begin_ns":[5],"end_ns":[9]}\n')
    collector._line_number = 1
    with pytest.raises(ContractError) as caught:
        collector.feed(line)
    assert words in str(caught.value) and caught.value.line_number == 2
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    # What came before is kept, and nothing more is taken.
    with pytest.raises(ContractError):
        collector.feed(b'{"event":"spans","begin_ns":[5],"end_ns":[9]}\n')
    assert list(collector.latencies_ns()) == [4]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"event":"ready","pid":7}\n', "version None of the contract; this swtch speaks 1"),
        (b'{"event":"ready","version":2,"pid":7}\n', "version 2"),
        (b'{"event":"ready","version":true,"pid":7}\n', "version True"),
        (b'{"event":"ready","version":1}\n', "'pid' must be the number of a process"),
        (b'{"event":"ready","version":1,"pid":0}\n', "'pid' must be the number of a process"),
        (b'{"event":"metrics"}\n', "'metrics' came before 'ready'"),
        (b'{"event":"spans","begin_ns":[],"end_ns":[]}\n', "'spans' came before 'ready'"),
    ],
)
def test_the_first_line_is_ready(line: bytes, words: str) -> None:
    with pytest.raises(ContractError) as caught:
        Collector().feed(line)
    assert words in str(caught.value) and caught.value.line_number == 1


def test_an_error_may_come_first() -> None:
    collector = Collector()
    collector.feed(b'{"event":"error","message":"no runtime"}\n')
    collector.close()
    assert (collector.error, collector.ready, collector.truncated) == ("no runtime", None, None)


def test_open_spans_are_limited() -> None:
    collector = Collector()
    collector.feed(READY)
    with pytest.raises(ContractError, match="more than 65536 spans are open"):
        for at in range(70_000):
            collector.feed(b'{"event":"begin","id":%d,"t_ns":1}\n' % at)


def test_a_stream_that_ends_anywhere_is_kept_up_to_there() -> None:
    lines = [READY] + [b'{"event":"spans","begin_ns":[%d],"end_ns":[%d]}\n' % (at, at + 1) for at in range(5)]
    whole = b"".join(lines)
    for length in range(len(whole) + 1):
        collector = Collector()
        collector.feed(whole[:length])
        collector.close()
        complete = whole[:length].count(b"\n")
        assert len(collector.begin_ns) == max(complete - 1, 0)
        at_a_line_end = length > 0 and whole[:length].endswith(b"\n")
        if at_a_line_end:
            assert collector.truncated is None
        elif length == 0:
            assert collector.truncated == "the workload ended before it reported that it was ready"
        else:
            assert collector.truncated.startswith(f"the last line ({complete + 1}) is cut off after ")


def test_damage_is_an_error_with_a_line_number_and_nothing_else() -> None:
    """Random damage to a good stream: whatever is read either keeps the contract or is refused."""
    good = (
        READY
        + b'{"event":"begin","id":1,"t_ns":5}\n{"event":"end","id":1,"t_ns":9}\n'
        + b'{"event":"spans","begin_ns":[10,20],"end_ns":[12,29]}\n'
        + b'{"event":"metrics","inferences":3,"mean_ms":0.25,"note":"\\u00e9"}\n{"event":"error","message":"x"}\n'
    )
    dice = random.Random(6)
    refused = 0
    for _ in range(5000):
        damaged = bytearray(good)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(damaged))
            kind = dice.randrange(3)
            if kind == 0:
                damaged[at] = dice.randrange(256)
            elif kind == 1:
                del damaged[at : at + dice.randint(1, 20)]
            else:
                damaged[at:at] = bytes(
                    dice.choices(b'{}[]":,\\0123456789eE+-.\ntrufalsn\xc3', k=dice.randint(1, 6))
                )
        collector = Collector()
        try:
            while damaged:
                size = dice.randint(1, 60)
                collector.feed(bytes(damaged[:size]))
                del damaged[:size]
        except ContractError as error:
            refused += 1
            assert error.line_number >= 1 and "\n" not in str(error)
        collector.close()
        assert len(collector.begin_ns) == len(collector.end_ns)
        assert all(latency >= 0 for latency in collector.latencies_ns())
        assert json.dumps([dict(collector.ready or {}), collector.metrics, collector.error], allow_nan=False)
    assert refused > 2500
