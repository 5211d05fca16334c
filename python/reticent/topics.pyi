# Written by `python python/stubs.py` from what the models declare.
import os
from collections.abc import Sequence
from typing import Any, Literal

from ._estimator import PrivateComponents
from ._progress import Progress
from .schema import Schema
from .session import Session

class PrivateTopics(PrivateComponents):
    def __init__(
        self,
        epsilon: float | None = ...,
        delta: float = ...,
        *,
        schema: Schema | None = ...,
        bounds: Any = ...,
        session: Session | None = ...,
        adjacency: Literal["replace-one", "add-remove"] = ...,
        records: int | None = ...,
        privacy_unit: str | None = ...,
        rows_per_unit: int | None = ...,
        assume_public: bool = ...,
        bounds_share: float | None = ...,
        use_plan: Any = ...,
        memory: int | None = ...,
        out: str | os.PathLike[str] | None = ...,
        overwrite: bool = ...,
        holdout: float | None = ...,
        allow_large: bool = ...,
        allow_large_delta: bool = ...,
        progress: bool | Progress | None = ...,
        topics: int | None = ...,
    ) -> None: ...
