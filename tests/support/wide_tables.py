"""Made tables of 24 columns like the table of credit card clients that papers anonymize: raw, and published."""

from __future__ import annotations

import random

import pandas as pd


def credit_cards(rows: int, seed: int = 0) -> pd.DataFrame:
    """Return clients: what they are and may borrow, what they paid and owed in six months, and if they failed to pay.

    Bills and payments have nearly as many values as rows. Months follow each other, as they do in such tables.
    """
    draw = random.Random(seed)  # noqa: S311 - a made table
    clients = []
    for _ in range(rows):
        limit = 10_000 * min(80, 1 + int(draw.expovariate(1 / 15)))
        late = draw.choice([-2, -1, -1, 0, 0, 0, 0, 1, 2])
        owed = int(limit * draw.random() ** 2)
        months: dict[str, int] = {}
        for month in range(1, 7):
            late = max(-2, min(8, late + draw.choice([-1, 0, 0, 0, 0, 1])))
            paid = 0 if draw.random() < 0.25 else int(draw.expovariate(1 / 4000))
            owed = max(0, owed - paid + int(draw.gauss(0, 2000)))
            months |= {f"status {month}": late, f"bill {month}": owed, f"paid {month}": paid}
        clients.append(
            {
                "limit": limit,
                "sex": draw.choice([1, 2, 2]),
                "education": draw.choice([1, 1, 2, 2, 2, 3, 4]),
                "marriage": draw.choice([1, 2, 2, 3]),
                "age": min(79, 21 + int(draw.expovariate(1 / 14))),
                **months,
                "failed": int(draw.random() < 0.22),
            }
        )
    return pd.DataFrame(clients)


def published_cards(rows: int, seed: int = 0) -> pd.DataFrame:
    """Return the same as a release may have it: intervals as texts, and a few suppressed cells."""
    frame = credit_cards(rows, seed)
    widths = {"limit": 100_000, "age": 20, "status": 3, "bill": 50_000, "paid": 5_000}
    for column in frame.columns:
        width = widths.get(column.split()[0])
        if width is not None:
            low = frame[column] // width * width
            frame[column] = "[" + low.astype(str) + ", " + (low + width).astype(str) + ")"
            frame.loc[frame.index % 97 == len(column), column] = "*"
    return frame
