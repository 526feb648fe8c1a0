"""Pointwise expressions of specs: Python syntax, parsed into the typed expression language.

Numbers and numeric attributes have no dtype of their own: they adopt that of the value they meet. Conditions over attributes
are decided at once (`a if approximation == "tanh" else b`), conditions over values become Where.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from dinoml.ir import dtypes, expr
from dinoml.ir.expr import Expr

Value = Expr | float | int | bool | str | None

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_div", ast.Mod: "mod", ast.Pow: "pow",
    ast.BitAnd: "bit_and", ast.BitOr: "bit_or", ast.BitXor: "bit_xor", ast.LShift: "shift_left", ast.RShift: "shift_right",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_BOOL_FORM = {"bit_and": "logical_and", "bit_or": "logical_or", "bit_xor": "logical_xor", "bit_not": "logical_not"}
_PYTHON: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "pow": lambda a, b: a**b,
    "floor_div": lambda a, b: a // b, "mod": lambda a, b: a % b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "neg": lambda a: -a, "sqrt": math.sqrt, "exp": math.exp,
    "rcp": lambda a: 1 / a, "log": math.log, "min": min, "max": max,
}  # fmt: skip
_NAMES: dict[str, float] = {"pi": math.pi, "inf": math.inf, "nan": math.nan}


@cache
def _tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def is_value(x: Value) -> bool:
    """Return whether x is a typed expression (not a literal)."""
    return not isinstance(x, (bool, int, float, str)) and x is not None


def apply(fn: str, args: list[Value]) -> Value:
    """Apply a primitive; literals adopt the dtype of the typed operands, all-literal calls are folded."""
    typed = [a for a in args if is_value(a)]
    if not typed:
        if fn not in _PYTHON:
            raise TypeError(f"{fn} of numbers only cannot be folded")
        return _PYTHON[fn](*args)  # type: ignore[no-any-return]
    first = typed[0]
    assert first is not None and not isinstance(first, (bool, int, float, str))
    dt = first.dtype
    if dt == "bool":
        fn = _BOOL_FORM.get(fn, fn)
    return expr.call(fn, *(_adopt(a, dt) for a in args))


def _adopt(x: Value, dtype: str) -> Expr:
    if x is None or isinstance(x, str):
        raise TypeError(f"{x!r} is not a value of an expression")
    if isinstance(x, (bool, int, float)):
        return expr.typed_const(x, dtype)
    return x


def cast(x: Expr, dtype: str) -> Expr:
    """Convert to a storage dtype: narrower floats round, so that a fused chain gives what the stored tensor would."""
    if dtype == "bool" and x.dtype != "bool":
        return expr.call("ne", x, expr.typed_const(0, x.dtype))
    y = expr.cast(x, dtypes.compute_dtype(dtype))
    return y if dtypes.compute_dtype(dtype) == dtype else expr.Round(y, dtype)


class _Compiler:
    def __init__(self, names: Mapping[str, Value]) -> None:
        self.names = names

    def visit(self, e: ast.expr) -> Value:
        match e:
            case ast.Constant(value=v):
                return v  # type: ignore[return-value]
            case ast.Name(id=name):
                if name in self.names:
                    return self.names[name]
                if name in _NAMES:
                    return _NAMES[name]
                raise NameError(f"unknown name {name!r}; known: {', '.join([*self.names, *_NAMES])}")
            case ast.BinOp(left=a, op=op, right=b):
                return apply(_BINARY[type(op)], [self.visit(a), self.visit(b)])
            case ast.UnaryOp(op=ast.USub(), operand=a):
                return apply("neg", [self.visit(a)])
            case ast.UnaryOp(op=ast.Invert(), operand=a):
                return apply("bit_not", [self.visit(a)])
            case ast.UnaryOp(op=ast.Not(), operand=a):
                operand = self.visit(a)
                return apply("logical_not", [operand]) if is_value(operand) else not operand
            case ast.BoolOp(op=op, values=items):
                return self.boolean("logical_and" if isinstance(op, ast.And) else "logical_or", [self.visit(i) for i in items])
            case ast.Compare(left=a, ops=ops, comparators=rest):
                return self.compare(self.visit(a), ops, rest)
            case ast.IfExp(test=c, body=a, orelse=b):
                return self.choose(self.visit(c), lambda: self.visit(a), lambda: self.visit(b))
            case ast.Call(func=ast.Name(id=fn), args=args):
                return self.call(fn, args)
        raise SyntaxError(f"{ast.unparse(e)!r} is not part of the expression language")

    def boolean(self, fn: str, items: list[Value]) -> Value:
        out = items[0]
        for x in items[1:]:
            if is_value(out) and is_value(x):
                out = apply(fn, [out, x])
            elif is_value(out) or is_value(x):
                value, flag = (out, x) if is_value(out) else (x, out)
                out = value if bool(flag) == (fn == "logical_and") else bool(flag)
            else:
                out = (out and x) if fn == "logical_and" else (out or x)
        return out

    def compare(self, left: Value, ops: list[ast.cmpop], rest: list[ast.expr]) -> Value:
        parts: list[Value] = []
        for op, item in zip(ops, rest):
            if isinstance(op, (ast.Is, ast.IsNot)):  # `alpha is None`, over attributes only
                same = left is self.visit(item)
                parts.append(same if isinstance(op, ast.Is) else not same)
                continue
            right = self.visit(item)
            if isinstance(left, str) or isinstance(right, str):
                parts.append((left == right) == isinstance(op, ast.Eq))
            else:
                parts.append(apply(_COMPARE[type(op)], [left, right]))
            left = right
        return parts[0] if len(parts) == 1 else self.boolean("logical_and", parts)

    def choose(self, c: Value, a: Callable[[], Value], b: Callable[[], Value]) -> Value:
        if not is_value(c):
            return a() if c else b()
        x, y = a(), b()
        known = x if is_value(x) else y
        if not is_value(known):
            raise TypeError("both branches of a choice between values are numbers, so their dtype is unknown")
        dt = known.dtype  # type: ignore[union-attr]
        return expr.Where(c, _adopt(x, dt), _adopt(y, dt))  # type: ignore[arg-type]

    def call(self, fn: str, args: list[ast.expr]) -> Value:
        if fn == "where":
            c, a, b = args
            return self.choose(self.visit(c), lambda: self.visit(a), lambda: self.visit(b))
        values = [self.visit(a) for a in args]
        if fn == "cast":
            x, dt = values
            assert isinstance(dt, str)
            return cast(x, dt) if is_value(x) else expr.typed_const(x, dtypes.compute_dtype(dt))  # type: ignore[arg-type]
        return apply(fn, values)


def compile_expr(text: str, names: Mapping[str, Value], dtype: str) -> Expr:
    """Return the expression of a spec's `expr` over named values and attributes, of the compute dtype of storage `dtype`."""
    result = _adopt(_Compiler(names).visit(_tree(text)), dtypes.compute_dtype(dtype))
    if result.dtype != dtypes.compute_dtype(dtype):
        raise TypeError(f"{text!r} gives {result.dtype}, the output is {dtype}")
    return result
