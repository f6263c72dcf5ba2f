"""Checks pairs of sent data and its export, as JSON on standard input, against RFC 8785. Prints the
wrong exports; exits with 1 if there is one."""

import json
import sys

import rfc8785

wrong = []
for sent, exported in json.load(sys.stdin):
    # JSON's numbers are doubles, while Python would parse integers separately.
    record = json.loads(exported, parse_int=float)
    if rfc8785.dumps(record) != exported.encode() or record["data"] != json.loads(
        sent, parse_int=float
    ):
        wrong.append(exported)
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
