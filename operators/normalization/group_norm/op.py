"""Group normalisation: groups become rows, which are standardised; the affine part and the activation are fused to them."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.call import OperatorError
from dinoml.operators.value import Tensor


def _grouped(b: Builder, x: Tensor, channels: int, groups: int) -> tuple[Tensor, tuple[int, ...]]:
    """Return x as [N, ..., groups, C / groups] permuted so that a group is a row, and the permutation."""
    split = b.reshape(x, (*x.shape[:-1], groups, channels // groups))
    order = (0, x.rank - 1, *range(1, x.rank - 1), x.rank)
    return b.permute(split, order), order


def expand(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    *,
    num_groups: int,
    eps: float,
    channels_first: bool,
    activation: str,
) -> Tensor:
    channels = x.shape[1 if channels_first else -1]
    if not isinstance(channels, int) or channels % num_groups:
        raise OperatorError(f"group_norm: {channels} channels are not divisible by num_groups={num_groups}")
    affine = (1, channels, *(1 for _ in x.shape[2:])) if channels_first else (channels,)
    if channels_first:
        rows = b.reshape(x, (x.shape[0], num_groups, channels // num_groups, *x.shape[2:]))
        y = b.reshape(b.standardize(rows, dim=tuple(range(2, rows.rank)), eps=eps), x.shape)
    else:
        rows, order = _grouped(b, x, channels, num_groups)
        y = b.standardize(rows, dim=tuple(range(2, rows.rank)), eps=eps)
        y = b.reshape(b.permute(y, tuple(order.index(i) for i in range(len(order)))), x.shape)
    y = y if weight is None else y * b.reshape(weight, affine)
    y = y if bias is None else y + b.reshape(bias, affine)
    return b.silu(y) if activation == "swish" else y  # type: ignore[no-any-return]
