"""Deep copies of players that share nothing with them that may change.

`copy.deepcopy` copies objects, but returns functions and classes as they are. So the copy of a
player that plays by a function goes on with what that function uses. Such a copy is refused here,
unless the function uses its arguments, modules, constants and other such functions only. What a
class has as an attribute is copied into the object.

Only methods that `probs` may call are looked at. What is installed, such as NumPy and PyTorch, is
believed to keep nothing of a player.
"""

from __future__ import annotations

import copy
import dis
import gc
import inspect
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ENTRIES = ("probs", "predict", "forward", "__call__", "__getattr__", "__getattribute__")
_STDLIB = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
_INSTALLED = {"site-packages", "dist-packages"}
_BOOKKEEPING = ("__", "_abc_impl", "_field")  # of Python, in a class


def frozen_copy(player: Any) -> Any:
    """A deep copy of a player that plays on as it plays now.

    Raises ValueError if it plays by a function whose state would not be copied, and whatever
    `copy.deepcopy` raises.
    """
    copied = copy.deepcopy(player)
    used: list[Any] = []  # functions, and classes whose methods may be called
    for one in _objects_in(copied):
        if isinstance(one, types.FunctionType):
            used.append(one)
        elif isinstance(one, types.BuiltinMethodType):
            _refuse_state(one.__name__, "its object", one)
        else:
            _copy_class_attributes(one)
            used.append(type(one))
    names = set(_ENTRIES)  # of the methods that may be called
    methods: dict[str, list[types.FunctionType]] = {}
    seen = set()
    while used:
        one = inspect.unwrap(used.pop())
        if one in seen:
            continue
        seen.add(one)
        if isinstance(one, type):
            for name, method in _methods(one):
                methods.setdefault(name, []).append(method)
        elif isinstance(one, types.FunctionType):
            used += _used(one)
            names |= _names(one.__code__, "LOAD_ATTR", "LOAD_METHOD")
        for name in names & methods.keys():
            used += methods.pop(name)
    return copied


def _objects_in(copied: Any) -> Iterator[Any]:
    """What belongs to a copy, except modules, classes, and what functions hold.

    An object whose author says by `__deepcopy__` how it is copied is left out.
    """
    seen: dict[int, Any] = {}  # kept alive, so that no other object gets their numbers
    left = [copied]
    while left:
        one = left.pop()
        is_new = id(one) not in seen and not isinstance(one, (types.ModuleType, type))
        if is_new and not _is_copied_by_itself(one):
            seen[id(one)] = one
            yield one
            if not isinstance(one, types.FunctionType):
                left += gc.get_referents(one)


def _is_copied_by_itself(one: Any) -> bool:
    return any("__deepcopy__" in vars(kind) for kind in _own_classes(type(one)))


def _used(function: types.FunctionType) -> Iterator[Any]:
    """The functions and classes that a function uses. Raises ValueError for what may change."""
    name = function.__qualname__
    closure = inspect.getclosurevars(function).nonlocals
    used = {variable: one for variable, one in closure.items() if variable != "__class__"}
    for variable, value in used.items():
        if not isinstance(value, (types.FunctionType, types.ModuleType, type)):
            _refuse(name, variable)  # also a number: another one may be assigned
    arguments = inspect.signature(function).parameters.values()
    used |= {one.name: one.default for one in arguments if one.default is not one.empty}
    found = function.__globals__
    if not _is_installed(found.get("__name__"), found.get("__file__")):
        names = _names(function.__code__, "LOAD_GLOBAL", "LOAD_NAME")
        used |= {variable: found[variable] for variable in names & found.keys()}
    for variable, value in used.items():
        _refuse_state(name, variable, value)
        if callable(value):
            yield value


def _methods(kind: type) -> Iterator[tuple[str, types.FunctionType]]:
    """The functions of a class and of its bases by name, as far as they are not installed."""
    for one in _own_classes(kind):
        for name, value in vars(one).items():
            method = getattr(value, "__func__", getattr(value, "fget", value))
            if isinstance(method, types.FunctionType):
                yield name, method


def _copy_class_attributes(one: Any) -> None:
    """Copy what may change in the classes of an object into the object."""
    state = {name: value for kind in _own_classes(type(one)) for name, value in _state_of(kind)}
    if not state or _is_constant(one):
        return
    own = getattr(one, "__dict__", None)
    if own is None:
        _refuse(type(one).__qualname__, next(iter(state)))
    else:
        own |= copy.deepcopy({name: value for name, value in state.items() if name not in own})


def _state_of(kind: type) -> Iterator[tuple[str, Any]]:
    """The attributes of a class that may change, by name."""
    for name, value in vars(kind).items():
        is_data = not name.startswith(_BOOKKEEPING) and not hasattr(value, "__get__")
        if is_data and not _is_constant(value):
            yield name, value


def _refuse_state(name: str, variable: str, value: Any) -> None:
    """Raise ValueError if a value that a function uses may change."""
    if isinstance(value, types.BuiltinMethodType):
        value = value.__self__  # a module, if it is a function
    if isinstance(value, type):
        for kind in _own_classes(value):
            for attribute, _ in _state_of(kind):
                _refuse(name, f"{value.__qualname__}.{attribute}")
    elif not isinstance(value, types.ModuleType) and not _is_constant(value):
        _refuse(name, variable)


def _refuse(name: str, used: str) -> None:
    raise ValueError(
        f"{name} uses {used}, which its copy would share: give an object with probs(boards) that "
        f"has {used} as an attribute, which is copied with it, or define its __deepcopy__"
    )


def _is_constant(value: Any) -> bool:
    """True if a deep copy is the same value: a number, a text, a function, a tuple of them."""
    try:
        return hash(copy.deepcopy(value)) == hash(value)
    except Exception:  # what cannot be hashed or copied is no constant
        return False


def _names(code: types.CodeType, *loads: str) -> set[str]:
    """The names that a code, and the functions in it, look up by these instructions."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname in loads}
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return found.union(*(_names(one, *loads) for one in inner))


def _own_classes(kind: type) -> Iterator[type]:
    """A class and its bases, as far as they are not installed; a base comes before it."""
    for one in reversed(kind.__mro__):
        module = sys.modules.get(one.__module__)
        if not _is_installed(one.__module__, getattr(module, "__file__", None)):
            yield one


def _is_installed(module: str | None, file: str | None) -> bool:
    """True if a module is of this package, of Python, or installed beside it."""
    if file is None:
        return module in sys.builtin_module_names
    is_ours = module is not None and module.partition(".")[0] == __name__.partition(".")[0]
    return is_ours or file.startswith(_STDLIB) or not _INSTALLED.isdisjoint(Path(file).parts)
