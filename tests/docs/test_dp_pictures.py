"""The pictures of the page on differential privacy are what their script makes, and show the right figures."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from conftest import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

EXPLANATION = REPOSITORY / "docs/explanation"
BAR = re.compile(r'height="([\d.]+)" fill="[^>]*><title>(\d) vegetarians, answer (-?\d+): ([\d.]+)</title>')
DOT = re.compile(r'cx="([\d.]+)" cy="([\d.]+)" r="4" fill="#\w+"><title>([^<]*)</title>')


def difference_of_two_waits(value: int, epsilon: float) -> float:
    """Return how probable it is that of two numbers of failures before a success, one is so much larger.

    This is the discrete Laplace law, from where it comes from: each failure has a probability of e^-epsilon.
    """
    fails = math.exp(-epsilon)
    waits = [(1 - fails) * fails**n for n in range(2000)]
    return math.fsum(waits[n] * waits[n + abs(value)] for n in range(1000))


@pytest.mark.thorough
def test_pictures_are_what_their_script_makes(tmp_path: Path) -> None:
    command = [sys.executable, str(REPOSITORY / "benchmarks/dp_pictures.py"), "--docs", str(tmp_path)]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, check=True)  # noqa: S603 - our own script
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert set(made) == {"dp-neighbours.svg", "dp-averaging.svg"}
    assert {name: (EXPLANATION / name).read_text(encoding="utf-8") for name in made} == made


def test_bars_are_as_high_as_answers_are_probable_and_no_ratio_is_above_e_to_the_epsilon() -> None:
    text = (EXPLANATION / "dp-neighbours.svg").read_text(encoding="utf-8")
    bars = {
        (int(count), int(answer)): (float(height), float(share)) for height, count, answer, share in BAR.findall(text)
    }
    assert set(bars) == {(count, answer) for count in (4, 5) for answer in range(-3, 13)}
    highest = bars[5, 5][0] / difference_of_two_waits(0, 0.5)
    for (count, answer), (height, share) in bars.items():
        expected = difference_of_two_waits(answer - count, 0.5)
        assert share == pytest.approx(expected, abs=6e-5)
        assert height == pytest.approx(highest * expected, abs=0.2)
    ratios = dict(re.findall(r"<title>answer (-?\d+): ([\d.]+) times</title>", text))
    for answer in range(-3, 13):
        ratio = bars[5, answer][1] / bars[4, answer][1]
        assert float(ratios[str(answer)]) == pytest.approx(ratio, rel=0.02)
        assert float(ratios[str(answer)]) == pytest.approx(math.exp(0.5 if answer > 4 else -0.5), abs=6e-5)


def test_the_error_of_a_mean_goes_down_with_the_root_of_the_answers() -> None:
    """The variance of a number of failures is a / (1 - a)^2 (any textbook); of the difference of two, twice that."""
    fails = math.exp(-0.1)
    one = math.sqrt(2 * fails) / (1 - fails)
    text = (EXPLANATION / "dp-averaging.svg").read_text(encoding="utf-8")
    dots = {title: (float(x), float(y)) for x, y, title in DOT.findall(text)}
    at = {n: f"{n} answers: off by {one / math.sqrt(n):.3f}" for n in (1, 10, 100, 1000)}
    whole = math.sqrt(2 * math.exp(-1)) / (1 - math.exp(-1))
    assert set(dots) == {*at.values(), f"1 answer for the whole budget: off by {whole:.3f}"}
    steps = [(dots[at[10 * n]][0] - dots[at[n]][0], dots[at[10 * n]][1] - dots[at[n]][1]) for n in (1, 10, 100)]
    assert steps[1:] == [pytest.approx(steps[0], abs=0.11)] * 2  # a straight line on scales of factors
    assert steps[0][0] > 0
    assert steps[0][1] > 0
