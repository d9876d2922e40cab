"""What came out, as plain values: what ``kanon anonymize --format json`` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kanon_sql.classes.recoding import Multidimensional
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.release.verify.classes import ModelResult, k_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.published import Published
    from kanon_sql.release.release import Release


def summary_of(release: Release, published: Published | None) -> dict[str, Any]:
    """Return what came out of a release.

    Args:
        release: the release.
        published: what was verified in an output; without it, ``k`` and ``models`` are those of the search.
    """
    checked = published.verification if published else None
    models = checked.models if checked else release.models_before
    smallest = checked.smallest_class if checked else release.counts.smallest
    entity = release.prepared.roles.entity
    return {
        "algorithm": release.policy.algorithm,
        "measure": release.policy.measure,
        "source": release.prepared.source.name,
        "destination": published.destination if published else None,
        "dry_run": bool(published and (published.dry_run or (published.in_place and not published.in_place.done))),
        "in_place": published.in_place.summary() if published and published.in_place else None,
        "ledger": asdict(published.ledger) if published and published.ledger else None,
        "levels": release.levels,
        "labels": release.labels,
        "steps": release.steps,
        "cutting": release.cutting,
        "path_share": None if release.path_share is None else round(release.path_share, 4),
        "heights": {hierarchy.column.name: hierarchy.height for hierarchy in release.publication.hierarchies},
        "hierarchies": {
            hierarchy.column.name: {"origin": hierarchy.origin, "chosen": hierarchy.chosen}
            for hierarchy in release.publication.hierarchies
        },
        "rows_in": release.rows_in,
        "rows_out": checked.rows if checked else release.rows_out,
        "rows_suppressed": release.rows_suppressed,
        "classes": checked.classes if checked else release.classes,
        "k": k_of(models, smallest),
        "smallest_class": smallest,
        "smallest_class_people": _people(release, models),
        "entity": None if entity is None else entity.name,
        "counted": "rows" if entity is None else "people",
        "count": release.policy.count,
        "repeated_columns": [repeated.summary() for repeated in release.prepared.repeated],
        "models": [
            result.stated(model.entity) for result, model in zip(models, release.publication.models, strict=True)
        ],
        "pseudonyms": _pseudonyms(release, published),
        "measures": release.measures,
        "optimal": release.optimal,
        "bound": release.bound,
        "gap": release.gap,
        "stopped": release.result.stopped,
        "nodes_tested": release.result.nodes_tested,
        "lattice_size": release.prepared.lattice.size,
        "seed": release.publication.seed,
        "seconds": {step: round(seconds, 4) for step, seconds in release.seconds.items()},
    }


def _people(release: Release, models: Sequence[ModelResult]) -> int | float | None:
    """Return the people in the class of fewest people; None where no person is named, or no k is asked for."""
    counted = [
        result.measured
        for result, model in zip(models, release.publication.models, strict=True)
        if isinstance(model, KAnonymity) and model.entity is not None
    ]
    return next(iter(counted), None)


def _pseudonyms(release: Release, published: Published | None) -> dict[str, Any] | None:
    """Return which columns are published as pseudonyms, where their key is from, and what was verified of them."""
    pseudonyms = release.publication.pseudonyms
    if pseudonyms is None:
        return None
    verified = () if published is None else published.verification.pseudonyms
    return {
        "columns": pseudonyms.names,
        "key": pseudonyms.key.origin,
        "left_out": {"pseudonyms": pseudonyms.people_left_out, "rows": pseudonyms.rows_left_out},
        "verified": [tied.stated() for tied in verified],
    }


def cutting_of(publication: Publication) -> dict[str, Any] | None:
    """Return how Mondrian cut a table, in how many rounds, and how the parts are written; None for other algorithms."""
    recoding = publication.recoding
    if not isinstance(recoding, Multidimensional):
        return None
    how = recoding.cutting
    written = {
        hierarchy.column.name: "value" if kind is None else how.labels if order is not None else how.numbers
        for hierarchy, kind, order in zip(publication.hierarchies, recoding.types, recoding.orders, strict=True)
    }
    return {"choose": how.choose, "cut": how.cut, "pairs": how.pairs, "rounds": recoding.rounds, "written": written}


def searched_models(models: Sequence[PrivacyModel], worst: Sequence[int | float | None]) -> tuple[ModelResult, ...]:
    """Return what a search measured of each model in the worst published class."""
    return tuple(
        ModelResult(model.name, model.required, measured, holds=True, letter=model.letter, sensitive=model.sensitive)
        for model, measured in zip(models, worst, strict=True)
    )
