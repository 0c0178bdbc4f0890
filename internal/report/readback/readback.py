"""Reads a case's junit and sarif files as other programs do: CODE JUNIT SARIF; says what contradicts the exit code."""
import sys

import junitparser
from sarif import loader

code, junit, sarif = int(sys.argv[1]), sys.argv[2], sys.argv[3]
read = {junitparser.Failure: 0, junitparser.Error: 0, junitparser.Skipped: 0}
whole = junitparser.JUnitXml.fromfile(junit)
cases = [case for suite in whole for case in suite]
for case in cases:
    for result in case.result:
        read[type(result)] += 1
failures, errors, skipped = read.values()
found = loader.load_sarif_file(sarif).get_records()

if (whole.tests, whole.failures, whole.errors, whole.skipped) != (len(cases), failures, errors, skipped):
    sys.exit(f"junitparser: the counts say {whole}, and it has {len(cases)} cases, {failures} failures, {errors} errors, {skipped} skipped")
if (failures > 0, code != 1 and errors > 0) != (code == 1, code == 3):
    sys.exit(f"junitparser: exit code {code}, and {failures} failures, {errors} errors")
if code == 1 and not any(record["Severity"] == "error" for record in found):
    sys.exit(f"sarif-tools: exit code 1, and no error in {found}")
