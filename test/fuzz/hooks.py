"""Schemathesis hooks: a CSV reader, and a rule that OpenAPI cannot express: `cbsa` requires `series_id=metro_hpi`."""

import schemathesis


def is_allowed(case):
    query = case.query or {}
    if case.path != "/observations" or "cbsa" not in query:
        return True
    return query.get("series_id") == "metro_hpi"


@schemathesis.hook
def filter_case(context, case):
    return is_allowed(case)


@schemathesis.hook
def before_add_examples(context, examples):
    examples[:] = [case for case in examples if is_allowed(case)]


@schemathesis.deserializer("text/csv")
def read_csv(context, response):
    return response.content.decode("utf-8")
