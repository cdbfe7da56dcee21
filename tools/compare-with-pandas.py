#!/usr/bin/env python3
"""Imports every file in a directory, without options, and compares each value with what pandas reads.

Usage: python3 tools/compare-with-pandas.py DIRECTORY [--jobs N] [--timeout SECONDS]
Requires a build of the project and the packages pandas, pyarrow and openpyxl.
Prints one line for each file with a problem, and the totals by file type. Exits with 1 if fewer than 97 percent of the files agree.
"""

import argparse
import collections
import csv
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, InvalidOperation

import pandas
import pyarrow.parquet

COMMAND = pathlib.Path(__file__).parents[1] / "cli" / "metro-forecast.js"
SEPARATORS = {"commas": ",", "semicolons": ";", "tabs": "\t", "pipes": "|", "spaces": " "}
MARKERS = set("na n/a n.a. #n/a <na> nan null (null) none \\n - -- . .. ?".split())
# Only CSV cells are text. Other formats have typed cells.
NUMBER = re.compile(r"-?[0-9.]+([eE][+-]?[0-9]+)?$")
# pandas returns geometries and the Parquet type VARIANT as encoded bytes. Such columns are not compared.
OPAQUE = "opaque"
csv.field_size_limit(sys.maxsize)


def import_file(path, folder, timeout):
    command = ["node", COMMAND, "import-table", path, "--to", folder, "--json"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if run.returncode != 0:
        return None, " ".join(run.stderr.split())[:300]
    report = json.loads(run.stdout)
    rows = []
    for file in pathlib.Path(folder).glob("*.ndjson"):
        for line in file.read_text("utf8").rstrip("\n").split("\n"):
            rows.append(json.loads(line, parse_float=Decimal, parse_int=Decimal))
    return report, rows


def read_text(path, report):
    """Reads the cells as text with pandas, using the separator and the header line that the import reported."""
    columns = report["columns"]
    found = ", ".join(report["found"])
    if found.startswith("JSON"):
        text = content(path).decode("utf-8-sig")
        rows = json.loads(text) if text.lstrip().startswith("[") else objects(text)
        return pandas.DataFrame(rows, columns=[column["heading"] for column in columns], dtype=object)
    if found.startswith("Parquet"):
        # Based on the metadata, pandas would treat some columns as an index.
        return pyarrow.parquet.read_table(path).to_pandas(ignore_metadata=True)
    line = re.search(r"(?:columns named in line|\bline(?= \d+ was taken)) (\d+)", found)
    options = {
        "dtype": str,
        "keep_default_na": False,
        "skiprows": int(line[1]) - 1 if line else None,
        "header": None if "without a" in found and "of headings" in found else 0,
    }
    if found.startswith("Excel"):
        return pandas.read_excel(path, sheet_name=re.search(r'sheet "(.*?)"', found)[1], **{**options, "dtype": object})
    named = re.search(r'separated by (\w+|".*?")', found)
    separator = "," if not named else SEPARATORS.get(named[1]) or json.loads(named[1])
    quote = re.search(r"quoted by (.)", found)
    if quote:
        options["quotechar"] = quote[1]
    if "without quotes" in found:
        options["quoting"] = csv.QUOTE_NONE
    if "escaped by backslashes" in found:
        options["escapechar"] = "\\"
    encoding = re.search(r"in ([A-Z0-9-]+)", found)[1].lower()
    return pandas.read_csv(path, sep=separator, encoding=encoding, index_col=False, skipinitialspace="spaces" in found, **options)


def content(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
        return file.read()


def objects(text):
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        yield value


def is_table_of_pandas(path):
    """Whether pandas can read rows from the file without options."""
    kind = next((each for each in reversed(path.suffixes) if each not in (".gz", ".zip")), "").lower()
    readers = {".json": pandas.read_json, ".parquet": pandas.read_parquet, ".xlsx": pandas.read_excel}
    lines = {"lines": True} if kind in (".ndjson", ".jsonl") else {}
    tabs = {"sep": "\t"} if kind in (".tsv", ".tab") else {}
    try:
        reader = pandas.read_json if lines else readers.get(kind, pandas.read_csv)
        return len(reader(path, **lines, **tabs)) > 0
    except Exception:  # pandas raises errors of many kinds
        return False


def is_structure(text):
    return text.startswith(("[", "{")) and text.endswith(("]", "}"))


def decoded(value):
    try:
        text = value.decode("utf8")
        return text if text.isprintable() else OPAQUE
    except UnicodeDecodeError:
        return OPAQUE


def local_time(text):
    """Formats a time without a time zone as pandas does, and drops the time of day at midnight."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d+)?)", text)
    if not found:
        return text
    time = found[2].rstrip("0").rstrip(".") if "." in found[2] else found[2]
    return found[1] if time == "00:00:00" else f"{found[1]} {time}"


def number(text):
    try:
        return Decimal(text).normalize()
    except InvalidOperation:
        return text


def expected(value, column):
    """Converts a value from pandas to the form that `actual` returns."""
    if value is None or value is pandas.NaT or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, bytes):
        value = decoded(value)
    if value is OPAQUE or isinstance(value, dict) and set(value) >= {"metadata", "value"}:
        return OPAQUE
    if isinstance(value, (list, dict)) or hasattr(value, "tolist") and not isinstance(value, (int, float)):
        return "structure"
    text = str(value).lower() if isinstance(value, bool) else str(value).replace("_x000D_", "")
    if isinstance(value, float):
        text = str(Decimal(repr(value)).normalize())
    text = local_time(text)
    kind, why = column["type"], column.get("why", "")
    plain = text.strip()
    if plain == "":
        return ""
    if is_structure(text):
        return "structure"
    if kind == "text":
        return number(text) if NUMBER.match(text) else text
    if plain.lower() in MARKERS:
        return ""
    if kind in ("integer", "number"):
        if "thousands" in why:
            plain = plain.replace(",", "")
        if "decimal commas" in why:
            plain = plain.replace(".", "").replace(",", ".")
        return number(plain.rstrip("%").strip())
    if kind == "boolean":
        return plain.lower()
    if kind == "date" and why:
        day_first = "day, month" in why
        parts = re.split(r"[./-]", plain)
        year, month, day = parts if len(parts[0]) == 4 else [parts[2], *(parts[1::-1] if day_first else parts[:2])]
        return f"{year}-{int(month):02d}-{int(day):02d}"
    if kind in ("date", "datetime"):
        time = pandas.Timestamp(plain)
        # Times of the Parquet type INT96 are in UTC, but pandas omits the time zone.
        return str(time.tz_localize("UTC") if kind == "datetime" and time.tz is None else time)
    return plain


def actual(value, column):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return value.normalize()
    if column["type"] in ("date", "datetime") and not (column["type"] == "date" and column.get("why")):
        return str(pandas.Timestamp(value))
    value = local_time(value.replace("_x000D_", ""))
    if NUMBER.match(value):
        return number(value)
    return "structure" if is_structure(value) else value


def counted(rows, opaque):
    compared = (tuple("" if hidden else cell for cell, hidden in zip(row, opaque)) for row in rows)
    return collections.Counter(cells for cells in compared if any(cell != "" for cell in cells))


def difference(path, report, rows):
    columns = report["columns"]
    frame = read_text(path, report)
    if len(frame.columns) > len(columns):
        unnamed = [str(name).startswith("Unnamed") and (frame[name].fillna("") == "").all() for name in frame.columns]
        frame = frame.loc[:, [not each for each in unnamed]]
    if len(frame.columns) != len(columns):
        return f"{len(columns)} columns, pandas {len(frame.columns)}"
    expected_rows = [tuple(map(expected, row, columns)) for row in frame.itertuples(index=False, name=None)]
    opaque = [any(row[i] is OPAQUE for row in expected_rows) for i in range(len(columns))]
    theirs = counted(expected_rows, opaque)
    ours = counted((tuple(actual(row[column["name"]], column) for column in columns) for row in rows), opaque)
    if ours == theirs:
        return None
    return f"{sum((theirs - ours).values())} rows differ: {str(next(iter(ours - theirs), None))[:150]} and {str(next(iter(theirs - ours), None))[:150]}"


def check(path, timeout):
    with tempfile.TemporaryDirectory() as folder:
        try:
            report, rows = import_file(path, folder + "/data", timeout)
        except subprocess.TimeoutExpired:
            return path, "refused", "took too long"
        if report is None:
            return path, "refused" if is_table_of_pandas(path) else "unread by pandas", rows
        try:
            problem = difference(path, report, rows)
        except Exception as error:  # pandas raises errors of many kinds
            return path, "unread by pandas", f"{type(error).__name__}: {str(error)[:150]}"
        return path, "differs" if problem else "right", problem


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=600)
    options = parser.parse_args()
    files = sorted(each for each in options.directory.rglob("*") if each.is_file())
    totals = collections.Counter()
    kinds = collections.Counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        for path, result, problem in pool.map(lambda path: check(path, options.timeout), files):
            totals[result] += 1
            kinds["".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix, result] += 1
            if problem:
                print(f"{result}: {path}: {problem}", flush=True)
    for (kind, result), count in sorted(kinds.items()):
        print(f"{kind:12} {result:18} {count}")
    share = totals["right"] / max(1, len(files) - totals["unread by pandas"])
    print(f"{dict(totals)}: {share:.1%} of the files that pandas can also read have the right values")
    sys.exit(share < 0.97)


if __name__ == "__main__":
    main()
