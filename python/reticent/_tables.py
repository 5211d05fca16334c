"""Records of any library as tables that the native part reads.

No value of a record is an error: what cannot be converted is missing. What other libraries raise about a value is dropped.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ._core import Table
from ._errors import DataError

#: Records: a path, a table of any library, or a matrix.
Records = Any

_HINT = "give a table of pandas, polars, pyarrow or NumPy, anything with the Arrow PyCapsule interface, or the path of a file"


def is_path(records: Records) -> bool:
    """Whether records are files."""
    return isinstance(records, (str, os.PathLike))


def is_frame(records: Records) -> bool:
    """Whether records have columns with names."""
    return not _is_sparse(records) and (
        isinstance(records, (Table, Mapping))
        or _is_pandas(records)
        or hasattr(records, "__arrow_c_stream__")
        or hasattr(records, "__arrow_c_array__")
    )


def _is_sparse(records: Records) -> bool:
    return hasattr(records, "toarray") or type(records).__module__.startswith("scipy.sparse")


def _is_pandas(records: Records) -> bool:
    return hasattr(records, "iloc") and hasattr(records, "columns") and hasattr(records, "dtypes")


def is_lazy(records: Records) -> bool:
    """Whether records are a query that is not run yet, of polars."""
    return hasattr(records, "collect") and hasattr(records, "collect_schema")


def check_columns(records: Records, found: Sequence[str], needed: Sequence[str], role: str = "") -> None:
    """Refuse a table without a column that the schema names. Names of columns are public."""
    missing = [name for name in needed if name not in found]
    if not missing:
        return
    names = column_names(records)
    alike = difflib.get_close_matches(missing[0].lower(), {name.lower() for name in names}, n=1)
    close = next((name for name in names if alike and name.lower() == alike[0]), None)
    has = ", ".join(repr(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")
    raise DataError(
        f"the table has no column {', '.join(repr(name) for name in missing)}, which the schema names{role}",
        f"is it {close!r}?" if close else f"it has {has or 'no columns'}",
    )


def date_columns(records: Records, names: Sequence[str]) -> list[str]:
    """Columns whose type is a date, a time or a duration. Types are public."""
    found = []
    for name in names:
        try:
            dtype = records.schema.field(name).type if hasattr(records, "schema") and hasattr(records.schema, "field") else records[name].dtype
        except Exception:
            continue
        if str(dtype).lower().startswith(("date", "time", "duration")):
            found.append(name)
    return found


def column_names(records: Records) -> list[str]:
    """The names of the columns of a table. Names are public."""
    if isinstance(records, Table):
        return list(records.names)
    if isinstance(records, Mapping):
        return [str(name) for name in records]
    if _is_pandas(records):
        return [str(name) for name in records.columns]
    return list(_arrow(records).names)


def table(records: Records, only: Sequence[str] | None = None) -> Table:
    """A table of named columns. Of a pandas table only the named columns are converted."""
    if isinstance(records, Table):
        return records
    if is_lazy(records):
        raise DataError("a lazy table has no rows yet", "give `table.collect()`")
    if isinstance(records, Mapping):
        single = next((str(name) for name, values in records.items() if isinstance(values, (bool, int, float, np.number, str))), None)
        if single is not None:
            raise DataError(f"column {single!r} is one value", 'give a list of values for each column, such as {"age": [50, 61]}')
        chosen = [(str(name), values) for name, values in records.items() if only is None or str(name) in only]
        return Table.from_columns([(name, column(values)) for name, values in chosen])
    if _is_pandas(records):
        names = [str(name) for name in records.columns]
        places = [k for k, name in enumerate(names) if only is None or name in only]
        return Table.from_columns([(names[k], _series(records.iloc[:, k])) for k in places])
    if hasattr(records, "__arrow_c_stream__") or hasattr(records, "__arrow_c_array__"):
        return _arrow(records)
    raise DataError(f"records of type {type(records).__name__} cannot be read", _HINT)


def _arrow(records: Records) -> Table:
    if getattr(records, "ndim", 2) == 1 or (hasattr(records, "name") and not hasattr(records, "columns")):
        raise DataError("one column is not a table", 'give a table of one column, such as frame[["age"]]')
    if any("\0" in name for name in getattr(records, "columns", ()) if isinstance(name, str)):
        # Polars ends the process when it exports such a name.
        raise DataError("the name of a column has a null character", "rename the column")
    if type(records).__module__.startswith("polars"):
        # Columns of nulls alone have a type of their own, which polars exports in a form that cannot be read.
        nulls = [name for name, dtype in records.schema.items() if str(dtype) == "Null"]
        records = records.cast(dict.fromkeys(nulls, float)) if nulls else records
    try:
        found = Table.from_arrow(records)
    except Exception:  # The message may contain a value.
        found = None
    if found is None:
        raise DataError(f"records of type {type(records).__name__} cannot be read as Arrow data", _HINT)
    return found


def types(records: Records) -> Table:
    """A table without rows, of the names and types of the columns alone."""
    if isinstance(records, Mapping):
        kinds = {str(name): _kind(getattr(values, "dtype", None)) for name, values in records.items()}
    elif _is_pandas(records):
        kinds = {str(name): _kind(dtype) for name, dtype in zip(records.columns, records.dtypes)}
    else:
        return table(records)
    return Table.of_types(list(kinds.items()))


def _kind(dtype: Any) -> str:
    """The type of a column for a template. Columns of anything are taken for texts."""
    kind = "O" if hasattr(dtype, "categories") else getattr(dtype, "kind", "O")
    return {"b": "boolean", "i": "integer", "u": "integer", "f": "number", "M": "other", "m": "other", "c": "other", "V": "other"}.get(kind, "text")


def matrix(values: Any, empty: bool = False) -> np.ndarray[Any, Any]:
    """A matrix with two dimensions, of numbers where possible and else of anything.

    Raises what scikit-learn's conventions ask for where the *shape* or the *type* is wrong. Whether there are any rows is private under add-remove adjacency: then an
    `empty` matrix is no error.
    """
    if _is_sparse(values):
        raise TypeError("Sparse data was passed, but dense data is required: use '.toarray()' to convert it to a dense array")
    if is_lazy(values):
        raise DataError("a lazy table has no rows yet", "give `table.collect()`")
    if isinstance(values, list) and values and isinstance(values[0], Mapping):
        raise DataError("a list of dicts is not a table", "give pandas.DataFrame(list) or polars.DataFrame(list)")
    array = safely(lambda: np.asarray(values), "the matrix cannot be read")
    if array.ndim == 0:
        raise ValueError("Expected 2D array, got scalar array instead. Reshape your data: one row for each record")
    if array.ndim == 1:
        raise ValueError(
            "Expected 2D array, got 1D array instead. Reshape your data either using array.reshape(-1, 1) if your data has a single "
            "feature or array.reshape(1, -1) if it contains a single sample."
        )
    if array.ndim != 2:
        raise ValueError(f"Found array with dim {array.ndim}, while dim <= 2 is required: one row for each record")
    if array.shape[0] == 0 and not empty:
        raise ValueError(f"Found array with 0 sample(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: give the real numbers that they stand for")
    return cast("np.ndarray[Any, Any]", array)


def matrix_table(array: np.ndarray[Any, Any], names: Sequence[str]) -> Table:
    """The columns of a matrix, without a copy if it holds 64-bit floats."""
    if array.dtype.kind in "iuf" and array.dtype != np.float64:
        array = array.astype(np.float64)
    return Table.from_columns([(name, column(array[:, k])) for k, name in enumerate(names)])


def column(values: Any) -> Any:
    """A column as the native part takes it: an array of floats, integers or booleans as it is, and anything else as a list of values."""
    if _is_series(values):
        return _series(values)
    if hasattr(values, "__arrow_c_array__"):
        return values
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        values = safely(values.to_numpy, "a column cannot be read")
    # A masked array hides values that must not be read.
    if isinstance(values, np.ma.MaskedArray):
        plain: Any = values.astype(np.float64) if values.dtype.kind in "biuf" else values.astype(object)
        values = plain.filled(np.nan if plain.dtype.kind == "f" else None)
    if hasattr(values, "__array__") and not isinstance(values, np.ndarray):
        values = safely(lambda: np.asarray(values), "a column cannot be read")
    if not isinstance(values, np.ndarray):
        values = _array(values)
    if values.ndim != 1:
        raise DataError(f"a column has {values.ndim} dimensions", "give one value for each record")
    kind = values.dtype.kind
    if kind == "b" or values.dtype == np.float64 or values.dtype == np.int64:
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    if kind in "iuf":
        return values.astype(np.float64)
    if kind in "US":
        return [text if isinstance(text, str) else text.decode("utf-8", "replace") for text in values.tolist()]
    if kind in "mMcV":
        return [None] * len(values)
    return list(values)


def _array(values: Any) -> np.ndarray[Any, Any]:
    """A sequence as an array: numbers if NumPy takes all for numbers, else whatever they are."""
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        values = safely(lambda: list(values), "a column cannot be read")
    plain = np.empty(len(values), dtype=object)
    plain[:] = [item if isinstance(item, (str, bool, int, float, np.generic)) else None for item in values]
    return plain


def _is_series(values: Any) -> bool:
    return hasattr(values, "iloc") and hasattr(values, "dtype") and not hasattr(values, "columns")


def _series(series: Any) -> Any:
    """A column of pandas, by its type: values are never what decides."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return column(series.to_numpy())
    if hasattr(series, "cat"):
        levels = [_level(level) for level in series.cat.categories]
        return np.ascontiguousarray(series.cat.codes.to_numpy(), dtype=np.int32), levels
    kind = getattr(dtype, "kind", "O")
    if kind in "iufb":
        return safely(lambda: series.to_numpy(dtype=np.float64, na_value=np.nan), "a column cannot be read")
    return list(safely(lambda: series.to_numpy(dtype=object), "a column cannot be read"))


def _level(level: Any) -> str:
    return str(level).lower() if isinstance(level, (bool, np.bool_)) else str(level)


def level_texts(classes: Sequence[Any]) -> list[str]:
    """The classes of a target as the levels of a schema."""
    return [_level(item.item() if isinstance(item, np.generic) else item) for item in classes]


def codes(values: Any, classes: Sequence[Any]) -> np.ndarray[Any, Any]:
    """The number of the class of each value; -1 where it is none, which is a record without a target."""
    array = _labels(values)
    if array.dtype.kind in "biuf" and all(isinstance(item, (bool, int, float, np.number, np.bool_)) for item in classes):
        found = np.full(len(array), -1, dtype=np.int32)
        for place, item in enumerate(classes):
            found[array == item] = place
        return found
    places = {text: place for place, text in enumerate(level_texts(classes))}

    def known(item: Any) -> int:
        if isinstance(item, (float, np.floating)) and float(item).is_integer():
            return places.get(str(int(item)), places.get(str(float(item)), -1))
        return places.get(_level(item), -1) if isinstance(item, (str, bool, int, float, np.generic)) else -1

    return np.fromiter((known(item) for item in array.tolist()), dtype=np.int32, count=len(array))


def _labels(values: Any) -> np.ndarray[Any, Any]:
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        dtype = getattr(values, "dtype", None)
        plain = isinstance(dtype, np.dtype)
        values = safely(values.to_numpy if plain else lambda: np.asarray(values.to_numpy(), dtype=object), "the target cannot be read")
    elif hasattr(values, "__array__") and not isinstance(values, np.ndarray):
        values = safely(lambda: np.asarray(values), "the target cannot be read")
    elif not isinstance(values, np.ndarray):
        values = _array(values)
    return values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)


def target_vector(values: Any) -> Any:
    """A target with one dimension. A column of a matrix is one too, with a warning."""
    if isinstance(values, (Mapping, str, bytes)) or not (hasattr(values, "__len__") or hasattr(values, "__array__")):
        raise DataError(f"a target of type {type(values).__name__} cannot be read", "give one value for each record: a list, an array or a column")
    shape = getattr(values, "shape", None)
    if shape is None:
        shape = np.shape(_array(values)) if isinstance(values, Sequence) else np.shape(safely(lambda: np.asarray(values), "the target cannot be read"))
    if len(shape) == 2 and shape[1] == 1:
        import warnings

        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=5,
        )
        return values.iloc[:, 0] if hasattr(values, "iloc") else np.asarray(values).ravel()
    if len(shape) != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {tuple(shape)} instead.")
    return values


def safely(read: Callable[[], Any], message: str) -> Any:
    """What a conversion of another library gives. Its exceptions are dropped: they may contain a value."""
    failed = False
    result = None
    try:
        result = read()
    except Exception:
        failed = True
    if failed:
        raise DataError(message, _HINT)
    return result
