"""For Schemathesis: what CSV is, and what OpenAPI cannot say, that `cbsa` goes with `series_id=metro_hpi` alone."""

import schemathesis


def can_be_said(case):
    query = case.query or {}
    if case.path != "/observations" or "cbsa" not in query:
        return True
    return query.get("series_id") == "metro_hpi"


@schemathesis.hook
def filter_case(context, case):
    return can_be_said(case)


@schemathesis.hook
def before_add_examples(context, examples):
    examples[:] = [case for case in examples if can_be_said(case)]


@schemathesis.deserializer("text/csv")
def read_csv(context, response):
    return response.content.decode("utf-8")
