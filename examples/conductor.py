"""A Conductor: start with the cheapest model of the catalog, go to the next one until one succeeds.

Reads one JSON line for each turn and answers with one: assay's --conductor "exec:python3 examples/conductor.py"
"""
import json
import sys

for line in sys.stdin:
    prompt = json.loads(line)["prompt"]
    catalog = prompt.split("# CATALOG\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    rows = sorted((row.split(" / ") for row in catalog), key=lambda r: (float(r[1]) + float(r[2]), r[0]))
    history = prompt.rsplit("# HISTORY\n", 1)[1]
    failed = history.count(" -> failed (")
    if " -> succeeded (" in history or failed >= len(rows):
        text = "STOP"
    else:
        text = ("RETRY " if failed else "DELEGATE ") + rows[failed][0]
    print(json.dumps({"text": text}), flush=True)
