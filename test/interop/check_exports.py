"""Pairs of data as it was sent and its export, as JSON on standard input: is each the RFC 8785 text?"""

import json
import sys

import rfc8785

wrong = []
for sent, exported in json.load(sys.stdin):
    # JSON's numbers are doubles; Python would keep integers apart.
    record = json.loads(exported, parse_int=float)
    if rfc8785.dumps(record) != exported.encode() or record["data"] != json.loads(
        sent, parse_int=float
    ):
        wrong.append(exported)
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
