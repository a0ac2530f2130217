"""Reports of test suites of scenarios: JUnit XML for continuous integration, and a page of HTML."""

import base64
import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pegasus.base.errors import ConfigError
from pegasus.experiments.table import Row

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: #1c1c1c; background: #fff; }
table { border-collapse: collapse; margin: .5rem 0 1rem; }
td, th { border-bottom: 1px solid #ddd; padding: .25rem .75rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.passed { color: #00734d; } .failed { color: #b3261e; font-weight: 600; }
img { max-width: 100%; } h2 { margin-top: 2.5rem; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } td, th { border-color: #3a3a3a; }
  .passed { color: #5fd0a5; } .failed { color: #ff8a80; } img { background: #fff; }
}
"""


def write_junit(file: Path, rows: Sequence[Row]) -> None:
    """Write JUnit XML: a suite for each scenario, with a case for its flight and each expectation.

    Args:
        file: The file.
        rows: Rows of `fly_suite`.

    Raises:
        ConfigError: If it cannot be written.
    """
    root = ElementTree.Element("testsuites", name="pegasus")
    for row in rows:
        cases = _cases(row)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=row["scenario"],
            tests=str(len(cases)),
            failures=str(sum(bool(problem) for _, problem in cases)),
            time=f"{row['wall_time']:.3f}",
        )
        for number, (name, problem) in enumerate(cases):
            time = row["wall_time"] if number == 0 else 0.0
            case = ElementTree.SubElement(
                suite, "testcase", classname=row["scenario"], name=name, time=f"{time:.3f}"
            )
            if problem:
                failure = ElementTree.SubElement(case, "failure", message=problem)
                run = f"run: {row['folder']}\n" if row["folder"] is not None else ""
                failure.text = f"{problem}\n{run}scenario: {row['file']}"
    _write(file, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def write_page(file: Path, rows: Sequence[Row]) -> None:
    """Write a page of HTML that needs no other file: results, verdicts and plots.

    Args:
        file: The file.
        rows: Rows of `fly_suite`.

    Raises:
        ConfigError: If it cannot be written.
    """
    failed = sum(not row["passed"] for row in rows)
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Verdicts</title>",
        f"<style>{_STYLE}</style><h1>Verdicts</h1>",
        f"<p>{len(rows)} scenarios, <span class='{_word(not failed)}'>{failed} failed</span>.</p>",
        "<table><tr><th>scenario<th><th>simulated [s]<th>wall [s]<th>problems</tr>",
    ]
    for number, row in enumerate(rows):
        problems = "<br>".join(html.escape(problem) for problem in row["problems"])
        parts.append(
            f"<tr><td><a href='#s{number}'>{html.escape(row['scenario'])}</a>{_result(row['passed'])}"
            f"<td class='number'>{row['simulated_time']:.2f}<td class='number'>{row['wall_time']:.2f}"
            f"<td>{problems}</tr>"
        )
    parts.append("</table>")
    for number, row in enumerate(rows):
        parts += _section(number, row)
    _write(file, "\n".join(parts).encode())


def _section(number: int, row: Row) -> list[str]:
    parts = [f"<h2 id='s{number}'>{html.escape(row['scenario'])}</h2>"]
    if row["folder"] is not None:
        parts.append(f"<p>Run: <code>{html.escape(row['folder'])}</code></p>")
    if row["verdicts"]:
        parts.append("<table><tr><th>vehicle<th>expected<th><th>worst<th>at [s]<th>why</tr>")
        for verdict in row["verdicts"]:
            parts.append(
                f"<tr><td>{html.escape(verdict['vehicle'])}<td>{html.escape(verdict['expected'])}"
                f"{_result(verdict['passed'])}<td class='number'>{_number(verdict['worst'], '.4g')}"
                f"<td class='number'>{_number(verdict['worst_time'], '.2f')}"
                f"<td>{html.escape(verdict['reason'])}</tr>"
            )
        parts.append("</table>")
    plot = Path(row["folder"] or "") / "flight.png"
    if plot.is_file():
        content = base64.b64encode(plot.read_bytes()).decode()
        parts.append(f"<img alt='Plot of the flight' src='data:image/png;base64,{content}'>")
    return parts


def _cases(row: Row) -> list[tuple[str, str]]:
    """Return name and problem of each case; the first is the flight itself."""
    verdicts = [
        (f"{verdict['vehicle']}: {verdict['expected']}", "" if verdict["passed"] else verdict["reason"])
        for verdict in row["verdicts"]
    ]
    lines = {f"{name}: {problem}" for name, problem in verdicts if problem}
    others = [problem for problem in row["problems"] if not any(problem.startswith(line) for line in lines)]
    return [("flight", "; ".join(others)), *verdicts]


def _word(passed: bool) -> str:
    return "passed" if passed else "failed"


def _result(passed: bool) -> str:
    return f"<td class='{_word(passed)}'>{_word(passed)}"


def _number(value: Any, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _write(file: Path, content: bytes) -> None:
    try:
        file.write_bytes(content)
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror}", file=file, remedy="give a file in an existing folder"
        ) from None
