"""Serves MODULE:ATTRIBUTE of the user's code, one JSON line in and one out for each turn."""
import importlib
import json
import os
import sys
import traceback

# The protocol keeps descriptors of its own. Whatever the user's code, or a library under it, prints goes to standard
# error, and whoever reads standard input finds it empty.
lines = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
os.dup2(2, 1)
null = os.open(os.devnull, os.O_RDONLY)
os.dup2(null, 0)
os.close(null)
sys.stdout = sys.stderr


def say(**answer):
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def attempt(work):
    """Returns what work returns, or says why it cannot and ends."""
    try:
        return work()
    except BaseException as e:  # SystemExit too: a module that exits must not look like a silent end
        traceback.print_exc()
        say(error="%s: %s" % (type(e).__name__, e))
        sys.stderr.flush()
        os._exit(1)


def load():
    sys.path.insert(0, os.getcwd())
    found = importlib.import_module(sys.argv[1])
    for name in sys.argv[2].split("."):
        found = getattr(found, name)
    if isinstance(found, type) and hasattr(found, "act"):
        found = found()
    act = getattr(found, "act", found)
    if not callable(act):
        raise TypeError("%s:%s is neither callable nor has a method act" % (sys.argv[1], sys.argv[2]))
    return act


def turn(act, line):
    text = act(json.loads(line)["prompt"])
    if not isinstance(text, str):
        raise TypeError("the Conductor returned %s, not str" % type(text).__name__)
    return text


conductor = attempt(load)
for line in lines:
    say(text=attempt(lambda: turn(conductor, line)))
