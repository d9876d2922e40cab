"""The pictures of docs/explanation/differential-privacy.md, from the exact laws of the noise: nothing is random.

    python benchmarks/dp_pictures.py                   # writes docs/explanation/dp-neighbours.svg and dp-averaging.svg
    python benchmarks/dp_pictures.py --docs /tmp

A test holds the files to what this makes, and what they show to figures that it works out by itself.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

INK, GREY, FAINT, BLUE, ORANGE = "#17313e", "#5b6a72", "#d5dcdf", "#0b6078", "#9a4a0c"
WITH, WITHOUT, EPSILON = 5, 4, 0.5  # the vegetarians at the dinner, with one more guest and without
SHOWN = range(-3, 13)  # answers
EACH, ANSWERS = 0.1, 10  # what an answer of the attack costs, and how many a budget of 1 pays for
MOST = 1000  # answers, at the right end of the second picture
HIGHEST, LOWEST = 20.0, 0.4  # errors, at its upper and its lower end
HALF = 0.5  # who is off by less, and rounds, has the exact number


@dataclass
class Picture:
    """A picture that is written as SVG, on a white ground of its own, so that it can be read on any page.

    Attributes:
        width, height: of it.
        parts: what is in it, one after the other.
    """

    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: str = GREY, *, dashed: bool) -> None:
        """Add a line."""
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
        self.parts.append(f'<line {ends} stroke="{colour}" stroke-width="1.3"{dashes}/>')

    def text(self, at: tuple[float, float], text: str, colour: str = INK, anchor: str = "middle") -> None:
        """Add a text."""
        place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}" fill="{colour}"'
        halo = 'stroke="#ffffff" stroke-width="4" paint-order="stroke"'  # lines behind it end before it
        self.parts.append(f"<text {place} {halo}>{escape(text)}</text>")

    def bar(self, corner: tuple[float, float], size: tuple[float, float], colour: str, title: str) -> None:
        """Add a bar, which a title tells about."""
        box = f'x="{corner[0]:.1f}" y="{corner[1]:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}"'
        fill = f'fill="{colour}"' if colour == BLUE else f'fill="#ffffff" stroke="{colour}" stroke-width="1.3"'
        self.parts.append(f"<rect {box} {fill}><title>{escape(title)}</title></rect>")

    def dot(self, at: tuple[float, float], colour: str, title: str) -> None:
        """Add a dot, which a title tells about."""
        place = f'cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="4"'
        self.parts.append(f'<circle {place} fill="{colour}"><title>{escape(title)}</title></circle>')

    def svg(self) -> str:
        """Return it as a file."""
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif" font-size="15">'
        ground = f'<rect width="{self.width}" height="{self.height}" rx="6" fill="#ffffff"/>'
        return "\n".join([head, ground, *self.parts, "</svg>\n"])


def neighbours() -> str:
    """Return the picture of the answers about two neighbouring tables, and of the ratio of how probable they are."""
    picture = Picture(600, 430)
    left, step, ground, height = 70, 32, 220, 740.0
    picture.text((left - 20, 26), "How probable each answer is", anchor="start")
    picture.bar((330, 14), (12, 12), BLUE, "the colour of the dinner with Ada")
    picture.text((348, 26), f"with Ada: {WITH} vegetarians", BLUE, "start")
    picture.bar((330, 36), (12, 12), ORANGE, "the colour of the dinner without Ada")
    picture.text((348, 48), f"without her: {WITHOUT}", ORANGE, "start")
    for place, answer in enumerate(SHOWN):
        x = left + step * place
        for shift, count, colour in ((-13, WITH, BLUE), (1, WITHOUT, ORANGE)):
            share = probability(EPSILON, answer - count)
            title = f"{count} vegetarians, answer {answer}: {share:.4f}"
            picture.bar((x + shift, ground - height * share), (12, height * share), colour, title)
        picture.text((x, ground + 20), str(answer).replace("-", "\N{MINUS SIGN}"), GREY)
    right = left + step * (len(SHOWN) - 1) + 16
    picture.line((left - 20, ground), (right, ground), dashed=False)

    middle, unit = 340, 90.0  # the height of ratio 1, and of a factor of e
    picture.text((left - 20, 272), "How many times likelier Ada makes it", anchor="start")
    for ratio, name in ((EPSILON, f"{math.exp(EPSILON):.2f}"), (0, "1"), (-EPSILON, f"{math.exp(-EPSILON):.2f}")):
        y = middle - unit * ratio
        picture.line((left - 20, y), (right, y), FAINT if ratio == 0 else GREY, dashed=ratio != 0)
        picture.text((left - 26, y + 5), name, GREY, "end")
    for place, answer in enumerate(SHOWN):
        ratio = probability(EPSILON, answer - WITH) / probability(EPSILON, answer - WITHOUT)
        at = (left + step * place, middle - unit * math.log(ratio))
        picture.dot(at, INK, f"answer {answer}: {ratio:.4f} times")
    words = "No answer is outside: e^0.5 = 1.65, and 1/1.65 = 0.61"
    picture.text((left - 20, 416), words, GREY, "start")
    return picture.svg()


def averaging() -> str:
    """Return the picture of how far the mean of many answers is off, and of where a budget ends that."""
    picture = Picture(600, 400)
    left, right, top, ground = 60, 560, 60, 340

    def at(answers: float, error: float) -> tuple[float, float]:
        across = math.log(answers) / math.log(MOST)
        up = math.log(error / LOWEST) / math.log(HIGHEST / LOWEST)
        return left + (right - left) * across, ground - (ground - top) * up

    picture.text((left, 26), "How far the mean of n answers to one question is off", anchor="start")
    picture.text((left, 46), f"(root of the mean square; each answer costs epsilon {EACH:g})", GREY, "start")
    for error in (10, 5, 2, 1):
        picture.line(at(1, error), at(MOST, error), FAINT, dashed=False)
    for error in (20, 10, 5, 2, 1, HALF):
        x, y = at(1, error)
        picture.text((x - 8, y + 5), f"{error:g}", GREY, "end")
    for answers in (1, 10, 100, MOST):
        picture.text((at(answers, 1)[0], ground + 20), f"{answers:,}", GREY)
    picture.text(((left + right) / 2, ground + 44), "n, how many answers", GREY)
    picture.line((left, ground), (right, ground), dashed=False)
    picture.line(at(1, HALF), at(MOST, HALF), GREY, dashed=True)

    one = root_mean_square(EACH)
    stop = at(ANSWERS, one / math.sqrt(ANSWERS))
    picture.line(at(1, one), stop, BLUE, dashed=False)
    picture.line(stop, at(MOST, one / math.sqrt(MOST)), ORANGE, dashed=True)
    picture.line((stop[0], top), (stop[0], ground), INK, dashed=False)
    picture.text((stop[0] + 8, top + 16), "a budget of 1 ends here:", INK, "start")
    picture.text((stop[0] + 8, top + 36), "the 11th answer is refused", INK, "start")
    half = "below: rounded, it is the exact count"
    picture.text((stop[0] + 8, at(1, HALF)[1] - 7), half, GREY, "start")
    for answers in (1, ANSWERS, 100, MOST):
        error = one / math.sqrt(answers)
        title = f"{answers} answers: off by {error:.3f}"
        picture.dot(at(answers, error), BLUE if answers <= ANSWERS else ORANGE, title)
    x, y = stop
    picture.text((x + 10, y - 4), f"{one / math.sqrt(ANSWERS):.1f}", BLUE, "start")
    picture.text((at(100, 1)[0] + 10, at(100, one / 10)[1] - 6), "without a budget", ORANGE, "start")
    once = root_mean_square(EACH * ANSWERS)
    picture.dot(at(1, once), BLUE, f"1 answer for the whole budget: off by {once:.3f}")
    picture.text((at(1, 1)[0] + 10, at(1, once)[1] + 5), f"{once:.1f}: one answer", BLUE, "start")
    picture.text((at(1, 1)[0] + 10, at(1, once)[1] + 24), "for all of it", BLUE, "start")
    return picture.svg()


def probability(epsilon: float, noise: int) -> float:
    """Return how probable noise of a count with this epsilon is, by the discrete Laplace law."""
    ratio = math.exp(-epsilon)
    return (1 - ratio) / (1 + ratio) * ratio ** abs(noise)


def root_mean_square(epsilon: float) -> float:
    """Return by how much a count with this epsilon is off: the root of the mean of the square of the noise."""
    last = math.ceil(60 / epsilon)
    return math.sqrt(2 * math.fsum(noise**2 * probability(epsilon, noise) for noise in range(1, last)))


PICTURES = {"dp-neighbours.svg": neighbours, "dp-averaging.svg": averaging}


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Path(__file__).parent.parent / "docs/explanation"
    parser.add_argument("--docs", type=Path, default=usual, help="where to write them")
    directory = parser.parse_args().docs
    for name, picture in PICTURES.items():
        (directory / name).write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
