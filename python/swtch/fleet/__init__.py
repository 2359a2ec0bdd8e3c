"""The context switches of many machines: which services pay most, which got worse since a release, which machines are odd ones out.

What a Prometheus, Traces or files of OTLP say becomes tables in Parquet (`store`); `answer` asks them by DuckDB. Needs `pip install 'swtch[fleet]'`.
"""
