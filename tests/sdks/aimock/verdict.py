"""The verdict over what the SDKs heard of aimock: `verdict.py CASES DEPARTURES SDK=RESULTS...`, two results a language.
Prints a table and ends with 1 when a recording changed what was heard, when the replay of either layer gives anything else
than the recording it was made from, or when either is not what aimock's fixture says. Where `DEPARTURES` names what no real
provider sends, and the recording itself notes a loss, the frames may differ in that."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compare import FILLER, collected, differences, facts, load, short, tidy

# aimock makes these up anew for each answer. They are numbered as they come, so that what refers to what is compared.
MADE_UP = {"id", "item_id", "encrypted_content"}
TIMES = {"created", "created_at"}
LAYERS = ("raw", "frames")


def numbered(value, seen=None):
    seen = {} if seen is None else seen
    if isinstance(value, dict):
        return {
            name: seen.setdefault(member, f"made up {len(seen)}")
            if name in MADE_UP and isinstance(member, str)
            else "some time" if name in TIMES else numbered(member, seen)
            for name, member in sorted(value.items())
        }
    return [numbered(member, seen) for member in value] if isinstance(value, list) else value


def announced(note):
    """The recording says itself that its frames are not the whole answer."""
    return note is not None and "without the raw layer this is lost" in note


def parsed(tools):
    return [[name, json.loads(arguments) if isinstance(arguments, str) else arguments] for name, arguments in tools]


def settled(case, found):
    """What the fixture settles, against what was heard."""
    error = found.get("error")
    for name, value in case["facts"].items():
        if name == "status":
            yield from differences(value, error and error[1], ".error.status")
        elif name == "cut":
            yield from differences(True, error is not None, ".error of a cut stream")
        elif name == "tools":
            yield from differences(parsed(value), parsed(found.get(name, [])), ".tools")
        else:
            yield from differences(value, found.get(name), f".{name}")
    if error and not {"status", "cut"} & case["facts"].keys():
        yield f".error: {short(error)} was not expected"


def judge(case, place, heard, departures):
    """Faults, and whether frames gave the very values of their recording; `None` where a departure was noted."""
    heard = {layer: tidy(value) for layer, value in heard.items()}
    faults, live = [], numbered(heard["live"])
    for layer in LAYERS:
        recorded = heard[f"recorded {layer}"]
        faults += [f"recorded {layer}: {line}" for line in differences(live, numbered(recorded))]
    faults += [f"raw: {line}" for line in differences(heard["recorded raw"], heard["raw"])]
    recorded, frames = heard["recorded frames"], heard["frames"]
    ends = [collected(case["sdk"], one) for one in (recorded, frames)]
    lost = [line for line in differences(*ends)]
    known = departures if announced(case["frames notes"][place]) else []
    faults += [f"frames: {line}" for line in lost if not line.startswith(tuple(known))]
    faults += [f"fact: {line}" for line in settled(case, facts(case["sdk"], tidy(frames, FILLER)))]
    return faults, None if lost else recorded == frames


def main():
    cases, departures, results = load(sys.argv[1]), load(sys.argv[2]), {}
    for argument in sys.argv[3:]:
        language, path = argument.split("=", 1)
        for name, heard in load(path).items():
            results.setdefault(language, {}).setdefault(name, {}).update(heard)
    cells, lines, used = {}, [], set()
    for case in cases:
        group, kind = case["name"].split("/")
        for place, (language, heard) in enumerate(results.items()):
            known = departures.get(case["name"], {"frames": []})["frames"]
            faults, exact = judge(case, place, heard[case["name"]], known)
            lines += [f"{case['name']} {language} {fault}" for fault in faults]
            used |= {case["name"]} if exact is None else set()
            cell = "DIFFERS" if faults else {True: "exact", False: "same", None: "noted"}[exact]
            cells.setdefault(kind, {}).setdefault(group, []).append(cell)
    lines += [f"{name}: the departure is none any more" for name in sorted(departures.keys() - used)]
    groups = list(dict.fromkeys(case["group"] for case in cases))
    print(f"{'heard by ' + ' and '.join(results):26}" + "".join(f"{group:18}" for group in groups))
    for kind, row in cells.items():
        print(f"{kind:26}" + "".join(f"{' '.join(dict.fromkeys(row.get(group, ['-']))):18}" for group in groups))
    for line in lines:
        print(line)
    print(f"{len(cases)} questions in {len(results)} languages, {len(lines)} differences")
    sys.exit(1 if lines else 0)


main()
