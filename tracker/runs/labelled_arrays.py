"""Arrays with names for their axes and places: what is written to a file, and what xarray is given where it is asked for.

Importing xarray takes a second, as long as a small run, and no run needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray
    from numpy.typing import NDArray


class LabelledArray(NamedTuple):
    """An array, the names of its axes, and what is told of it."""

    axes: tuple[str, ...]
    values: NDArray[Any]
    attributes: Mapping[str, Any]

    def with_axes_first(self, first: Sequence[str]) -> LabelledArray:
        """Return the array with those of its axes in front that ``first`` names, in that order."""
        axes = (*(axis for axis in first if axis in self.axes), *(axis for axis in self.axes if axis not in first))
        return self._replace(axes=axes, values=self.values.transpose([self.axes.index(axis) for axis in axes]))


class LabelledArrays(NamedTuple):
    """Arrays by name, the places along their axes as far as these have names, and what is told of all."""

    variables: Mapping[str, LabelledArray]
    labels: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]

    @property
    def sizes(self) -> dict[str, int]:
        """The length of each axis."""
        own = {
            axis: size for one in self.variables.values() for axis, size in zip(one.axes, one.values.shape, strict=True)
        }
        return own | {axis: len(labels) for axis, labels in self.labels.items()}

    def dataset(self) -> xarray.Dataset:
        """The same for xarray."""
        import xarray

        variables = {name: xarray.Variable(*one) for name, one in self.variables.items()}
        return xarray.Dataset(variables, coords=self.labels, attrs=self.attributes)


def labels_of(places: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the names of places as arrays."""
    return {axis: np.asarray(names) for axis, names in places.items()}
