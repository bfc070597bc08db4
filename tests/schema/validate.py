#!/usr/bin/env python3
"""Checks hysim's schemas with python3-jsonschema: every bundled file and the JSON of every command
is valid, and what is broken is not.

    validate.py PROGRAM SOURCE-FOLDER [arguments of unittest, such as -k words]
"""

import copy
import itertools
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
SOURCE = pathlib.Path(sys.argv[2])
FOLDER = SOURCE / "tests" / "schema"

# Where the bundled documents of each kind are.
BUNDLED = {
    "model": "models",
    "gpu": "hw_profiles/gpus",
    "cluster": "hw_profiles/clusters",
    "stack": "hw_profiles/stacks",
    "kernels": "hw_profiles/kernels",
    "scenario": "scenarios",
}


FILES = tempfile.TemporaryDirectory()


def hysim(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False,
                          cwd=FILES.name)
    # Faults are an answer of check.
    if done.returncode not in ((3,) if "faulty.json" in arguments else (0, 1)):
        raise AssertionError(f"hysim {shlex.join(arguments)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def load_schemas():
    names = [entry["name"] for entry in json.loads(hysim("schema", "--json", "-"))["schemas"]]
    return {name: json.loads(hysim("schema", name)) for name in names}


(pathlib.Path(FILES.name) / "faulty.json").write_text(
    '{"schema": "hysim.scenario/1", "nmae": "x", "workload": {"seq_len": -1}}')
for saved, change in (("a", ()), ("b", ("--set", "kernels.selection=fused"))):
    hysim("predict", "glm-5.1-128k-h20-512", "--draws", "0", *change, "--json", saved + ".json")

SCHEMAS = load_schemas()
# A resolver that knows nothing: a schema that refers outside itself fails.
CHECKERS = {name: jsonschema.Draft202012Validator(
    schema, resolver=jsonschema.RefResolver("", schema, handlers={
        scheme: None for scheme in ("http", "https", "file")}))
    for name, schema in SCHEMAS.items()}


def name_of(document):
    """The schema's name for a document that says which it follows."""
    match = re.fullmatch(r"hysim\.([a-z_-]+)/1", document["schema"])
    assert match, document["schema"]
    return match.group(1)


def complaints(name, document):
    errors = sorted(CHECKERS[name].iter_errors(document), key=lambda e: list(e.absolute_path))
    return ["/" + "/".join(map(str, error.absolute_path)) + ": " + error.message[:300]
            for error in errors[:5]]


def bundled(kind):
    return sorted((SOURCE / BUNDLED[kind]).glob("*.json"))


def commands():
    for line in (FOLDER / "commands.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            yield shlex.split(line.replace("@SOURCE", str(SOURCE.resolve())))


def usable(kind):
    """Names of that kind but those of models that hysim knows and cannot model."""
    plural = kind if kind.endswith("s") else kind + "s"
    listed = json.loads(hysim("list", plural, "--json", "-"))[plural]
    return [entry["name"] for entry in listed if entry["usable"]]


def expanded(command):
    """Every choice of bundled names for the words in braces."""
    kinds = re.findall(r"\{(\w+)\}", " ".join(command))
    for names in itertools.product(*map(usable, kinds)):
        choice = dict(zip(kinds, names))
        yield [re.sub(r"\{(\w+)\}", lambda m: choice[m.group(1)], word) for word in command]


def written():
    """The documents that the commands print, with the arguments that printed them."""
    if not hasattr(written, "documents"):
        written.documents = [(arguments, json.loads(hysim(*arguments)))
                             for command in commands() for arguments in expanded(command)]
    return written.documents


def objects(node, path=()):
    """Every object in a document, with its path."""
    if isinstance(node, dict):
        yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in children:
        if isinstance(child, (dict, list)):
            yield from objects(child, path + (key,))


def at(node, path):
    for key in path:
        node = node[key]
    return node


class Schemas(unittest.TestCase):
    def test_each_is_a_schema(self):
        for name, schema in SCHEMAS.items():
            with self.subTest(name):
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertEqual(schema["$schema"],
                                 "https://json-schema.org/draft/2020-12/schema")

    def test_each_file_is_reached(self):
        files = {path.stem for path in (SOURCE / "schemas").glob("*.json")} - {"common"}
        self.assertEqual(files, set(SCHEMAS))

    def test_each_refers_to_itself_only(self):
        for name, schema in SCHEMAS.items():
            for _, node in objects(schema):
                if isinstance(node.get("$ref"), str):
                    self.assertTrue(node["$ref"].startswith("#/$defs/"), f"{name}: {node}")

    def test_titles_are_what_documents_say(self):
        for name, schema in SCHEMAS.items():
            if name != "model":
                self.assertEqual(schema["properties"]["schema"], {"const": f"hysim.{name}/1"})
                self.assertEqual(schema["title"], f"hysim.{name}/1")

    def test_every_document_the_source_names_has_one(self):
        named = set()
        for path in itertools.chain((SOURCE / "src").rglob("*.cpp"), (SOURCE / "src").rglob("*.h")):
            named |= set(re.findall(r'hysim\.([a-z_-]+)/1\b', path.read_text()))
        self.assertGreaterEqual(named, {"prediction", "comparison", "scenario"})
        self.assertEqual(named, set(SCHEMAS) - {"model"})


class Documents(unittest.TestCase):
    def test_bundled_files_are_valid(self):
        for kind in BUNDLED:
            self.assertTrue(bundled(kind))
            for path in bundled(kind):
                with self.subTest(path.name):
                    self.assertEqual(complaints(kind, json.loads(path.read_text())), [])

    def test_outputs_are_valid(self):
        for arguments, document in written():
            with self.subTest(shlex.join(arguments)):
                self.assertEqual(complaints(name_of(document), document), [])

    def test_every_output_is_tried(self):
        printed = {name_of(document) for _, document in written()}
        self.assertEqual(printed, set(SCHEMAS) - set(BUNDLED))

    def test_every_command_with_json_is_tried(self):
        tried = {command[0] for command in commands()}
        help_text = hysim("--help")
        names = re.findall(r"^  ([a-z]+)  ", help_text.split("Subcommands:")[1], re.MULTILINE)
        self.assertIn("predict", names)
        for name in names:
            if "--json" in hysim(name, "--help"):
                self.assertIn(name, tried)


    def test_words_of_settings_are_those_the_program_takes(self):
        """A word that is none is refused with all that are."""
        definitions = SCHEMAS["scenario"]["$defs"]
        settings = {f"{section}.{key}": value["enum"]
                    for section in ("workload", "parallelism", "training", "kernels")
                    for key, value in definitions[section]["properties"].items()
                    if "enum" in value}
        loss = definitions["training"]["properties"]["indexer"]["properties"]["loss"]
        settings["training.indexer.loss"] = loss["enum"]
        self.assertGreater(len(settings), 10)
        for path, words in settings.items():
            with self.subTest(path):
                done = subprocess.run(
                    [PROGRAM, "predict", "glm-5.1-1m-h20-512", "--draws", "0", "--set",
                     f"{path}=no-such-word"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 3)
                said = re.search(r"must be one of (.*), found", done.stderr)
                self.assertTrue(said, done.stderr)
                self.assertEqual(sorted(re.findall(r'"([^"]+)"', said.group(1))),
                                 sorted(word for word in words if word is not None))


class BrokenDocuments(unittest.TestCase):
    """Neither an unknown key nor a value of another type passes anywhere."""

    # Objects whose keys or values are free, or that are not checked key by key.
    FREE = re.compile(
        r"^(model/.*|model|.*/(note|set|settings|parts|by_kind|attention|document(/.*)?|when|"
        r"fields|files|defaults|layers|further|achieved|unpublished(/.*)?|variants|"
        r"model_config|scenario(/.*)?))$")

    def samples(self):
        for kind in BUNDLED:
            path = bundled(kind)[0] if kind != "scenario" else SOURCE / (
                "scenarios/glm-5.1-1m-h20-512.json")
            yield kind, json.loads(path.read_text())
        seen = set()
        for _, document in written():
            key = (name_of(document), document.get("kind"))
            if key not in seen:
                seen.add(key)
                yield key[0], document

    @staticmethod
    def one_of_each(document):
        """Objects of a document, one of each array and not the hundred like it."""
        for path, node in objects(document):
            if all(step == 0 for step in path if isinstance(step, int)):
                yield path, node

    def test_unknown_keys_are_refused(self):
        for name, document in self.samples():
            for path, _ in self.one_of_each(document):
                place = "/".join([name, *map(str, path)])
                if self.FREE.match(place):
                    continue
                broken = copy.deepcopy(document)
                at(broken, path)["no_such_key"] = 1
                with self.subTest(place):
                    self.assertFalse(CHECKERS[name].is_valid(broken))

    def test_other_types_are_refused(self):
        for name, document in self.samples():
            for path, node in self.one_of_each(document):
                place = "/".join([name, *map(str, path)])
                if self.FREE.match(place):
                    continue
                for key in node:
                    if key == "note":
                        continue
                    broken = copy.deepcopy(document)
                    at(broken, path)[key] = [{"neither": "nor"}, 7, "x", None, True]
                    with self.subTest(f"{place}/{key}"):
                        self.assertFalse(CHECKERS[name].is_valid(broken))

    def test_missing_keys_are_refused(self):
        for name, document in self.samples():
            for key in ("schema", "model_type"):
                if key in document:
                    broken = {k: v for k, v in document.items() if k != key}
                    with self.subTest(name):
                        self.assertFalse(CHECKERS[name].is_valid(broken))
            for path, node in self.one_of_each(document):
                free = self.FREE.match("/".join([name, *map(str, path)]))
                if not free and isinstance(node.get("unit"), str) and "value" in node:
                    broken = copy.deepcopy(document)
                    del at(broken, path)["unit"]
                    with self.subTest("/".join([name, *map(str, path)])):
                        self.assertFalse(CHECKERS[name].is_valid(broken))

    def test_what_the_program_refuses_by_key_or_type_is_refused(self):
        """Bad input whose faults one can see in the document alone."""
        table = json.loads((SOURCE / "tests/bad_input/expected.json").read_text())
        tried = 0
        for case in table:
            folder = case["file"].split("/")[0]
            kind = folder if folder in BUNDLED else folder[:-1]
            says = " ".join(text for fault in case["faults"] for text in fault["says"])
            elsewhere = any("file" in fault or "/unpublished/" in fault.get("pointer", "")
                            for fault in case["faults"])
            if "arguments" in case or elsewhere or not re.search(r"unknown key|missing key", says):
                continue
            try:
                document = json.loads((SOURCE / "tests/bad_input" / case["file"]).read_text())
            except ValueError:
                continue
            # Which keys a model needs depends on its type, and a variant may give what is missing.
            if kind == "model":
                continue
            if not any("/variants" in fault.get("pointer", "") for fault in case["faults"]):
                document.pop("variants", None)
            tried += 1
            with self.subTest(case["file"]):
                self.assertFalse(CHECKERS[kind].is_valid(document))
        self.assertGreater(tried, 10)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
