"""AI workloads under the recorder: the sixteen models of the study by Suo et al., and what runs one of them.

`pip install 'swtch[ai]'` brings what they need. Importing this package imports none of it.
"""
