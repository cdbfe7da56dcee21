"""Schemathesis hooks: a CSV reader, and rules for parameters that OpenAPI cannot express."""

import re
import unicodedata

import schemathesis

SORTS_OF_NUMBERS = [sign + name for name in ("sum", "mean", "min", "max") for sign in ("", "-")]


def has_word(text):
    return any(unicodedata.category(c)[0] in "LN" for c in unicodedata.normalize("NFKD", text))


def is_lost(value):
    """Whether a value cannot be represented in a query string and is therefore omitted."""
    return value in ({}, [])


def has_quotes(value):
    """Whether a double quote appears at the start of a list item or after a comma, where it would quote a value."""
    # Schemathesis joins list items into a string of its own type.
    is_joined = type(value).__name__ == "DelimitedValue"
    return is_joined and re.search(r'(^|,)\s*"', value) is not None


def is_allowed(case):
    query = case.query or {}
    if any(is_lost(value) or has_quotes(value) for value in query.values()):
        return False
    # Cursors are opaque. Only links to the next page contain valid values.
    if "after" in query:
        return False
    # A search must contain a word.
    q = query.get("q")
    if isinstance(q, str) and 1 <= len(q) <= 200 and not has_word(q):
        return False
    # Sorting by a total of a column requires `of`, which names the column.
    is_totals = case.path.startswith("/totals/")
    if is_totals and "of" not in query and query.get("sort") in SORTS_OF_NUMBERS:
        return False
    since, until = query.get("since"), query.get("until")
    if isinstance(since, str) and isinstance(until, str) and since > until:
        return False
    if case.path != "/observations" or "cbsa" not in query:
        return True
    return "metro_hpi" in str(query.get("series_id"))


@schemathesis.hook
def filter_case(context, case):
    return is_allowed(case)


@schemathesis.hook
def before_add_examples(context, examples):
    examples[:] = [case for case in examples if is_allowed(case)]


@schemathesis.deserializer("text/csv")
def read_csv(context, response):
    return response.content.decode("utf-8")
