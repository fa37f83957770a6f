"""Operations on where a program says which dtype it wants: dtype arguments, casts of the model, names that hold a dtype."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import libcst as cst

from troubleshoot.lab.editing.plans import RefusedError
from troubleshoot.lab.editing.scene import Work
from troubleshoot.lab.editing.source import Source, expression

_SPELLINGS = {"float16": ("float16", "half"), "bfloat16": ("bfloat16",)}
_METHODS = {"float16": "half", "bfloat16": "bfloat16", "float32": "float"}
_KEYWORDS = ("torch_dtype", "dtype")
_LOADERS = re.compile(r"(?:^|\.)(?:from_pretrained|from_config|from_single_file|pipeline|from_model_id)$")


def change_dtype(work: Work, wanted: str) -> None:
    """Ask for another dtype wherever the script asks for a half one: ``torch_dtype=``, ``.to(torch.float16)``, ``.half()``, a variable.

    Comparisons, dictionary keys and, towards float32, the dtype of autocast stay.

    Raises:
        RefusedError: the script asks for none, or loads a model without saying a dtype.
    """
    scene = work.scene
    failure = scene.failure
    main = failure.main_dtype if failure is not None else None
    given = [main] if main in ("float16", "bfloat16") and main != wanted else [one for one in ("float16", "bfloat16") if one != wanted]
    sources = list(dict.fromkeys((scene.main, *(spot.source for spot in scene.spots))))
    count = sum(_change(work, source, [one for one in given if one is not None], wanted) for source in sources)
    if count:
        return
    _add(work, scene.main, wanted, ", ".join(str(one) for one in given))


def change_within(work: Work, source: Source, statement: cst.CSTNode, wanted: str) -> int:
    """Ask for another dtype wherever a statement asks for a half one, and return how often it did."""
    return _change(work, source, [one for one in _SPELLINGS if one != wanted], wanted, statement)


def _change(work: Work, source: Source, given: list[str], wanted: str, within: cst.CSTNode | None = None) -> int:
    count = 0
    torch = source.torch() or "torch"
    names = {f"{torch}.{spelling}": dtype for dtype in given for spelling in _SPELLINGS[dtype]}
    methods = {_METHODS[dtype]: dtype for dtype in given}
    for node in source.walk(within):
        if isinstance(node, cst.Attribute) and source.code(node) in names and not _keeps(source, node, wanted):
            work.changes(source).put(node, f"{torch}.{wanted}")
            work.step("change-dtype", source, node, f"{source.code(node)} becomes {torch}.{wanted}")
            count += 1
        elif isinstance(node, cst.SimpleString) and _dtype_of(node, given) and _is_dtype_argument(source, node):
            quote = node.quote
            work.changes(source).put(node, f"{quote}{wanted}{quote}")
            work.step("change-dtype", source, node, f"{node.value} becomes {wanted}")
            count += 1
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and not node.args and node.func.attr.value in methods:
            if wanted == "float32" and isinstance(node.func.value, cst.Call) and not _LOADERS.search(source.code(node.func.value.func)):
                # What is made here is float32 from the start.
                work.changes(source).replace(node, lambda made: made.func.value)
                work.step("change-dtype", source, node, f".{node.func.attr.value}() is gone")
            else:
                work.changes(source).put(node.func.attr, _METHODS[wanted])
                work.step("change-dtype", source, node, f".{node.func.attr.value}() becomes .{_METHODS[wanted]}()")
            count += 1
    return count


def _dtype_of(node: cst.SimpleString, given: list[str]) -> bool:
    value = node.evaluated_value
    return isinstance(value, str) and value.removeprefix("torch.") in given


def _is_dtype_argument(source: Source, node: cst.CSTNode) -> bool:
    parent = source.parent(node)
    return isinstance(parent, cst.Arg) and parent.keyword is not None and parent.keyword.value in _KEYWORDS


def _keeps(source: Source, node: cst.CSTNode, wanted: str) -> bool:
    """Tell whether a dtype is no request: compared with, a key, an annotation, or what autocast computes in."""
    for above in source.above(node):
        if isinstance(above, cst.ComparisonTarget | cst.Comparison | cst.Annotation | cst.Subscript):
            return True
        if isinstance(above, cst.DictElement):
            return any(one is node for one in source.walk(above.key))
        if isinstance(above, cst.Call):
            name = source.code(above.func).rpartition(".")[2]
            if name in ("isinstance", "finfo", "GradScaler"):
                return True
            return name == "autocast" and wanted == "float32"
        if isinstance(above, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            return False
    return False


def _add(work: Work, source: Source, wanted: str, given: str) -> None:
    """Say the dtype to the only loader that says none."""
    loads = [node for node in source.walk() if isinstance(node, cst.Call) and _is_model_loader(source, node)]
    if len(loads) != 1:
        found = "no model is loaded by from_pretrained or pipeline" if not loads else f"{len(loads)} models are loaded"
        raise RefusedError(f"nothing in {source.path.rpartition('/')[2]} asks for {given}, and {found} there")
    call = loads[0]
    existing = next((one for one in call.args if one.keyword is not None and one.keyword.value in _KEYWORDS), None)
    if existing is not None and source.code(existing.value).strip("\"'") != "auto":
        raise RefusedError(f"line {source.line(call)} loads in `{source.code(existing.value)}`, which is not known here")
    value = f"{work.changes(source).torch()}.{wanted}"
    set_argument(work, source, call, existing.keyword.value if existing is not None and existing.keyword else "torch_dtype", value)


def _is_model_loader(source: Source, call: cst.Call) -> bool:
    name = source.code(call.func)
    if not _LOADERS.search(name):
        return False
    return not re.search(r"Tokenizer|Processor|Config|FeatureExtractor|Scheduler", name)


def set_argument(work: Work, source: Source, call: Any, keyword: str, value: str, operation: str = "set-argument") -> None:
    """Change a keyword argument of a call, or add it behind the last one in the call's own layout."""
    old = next((one for one in call.args if one.keyword is not None and one.keyword.value == keyword), None)
    if old is not None:
        if source.code(old.value) == value:
            raise RefusedError(f"line {source.line(call)} has {keyword}={value} already")
        work.changes(source).put(old.value, value)
        work.step(operation, source, old, f"{keyword}={value}")
        return
    work.changes(source).replace(call, lambda made: with_argument(made, keyword, value))
    work.step(operation, source, call, f"{keyword}={value}")


def with_argument(call: cst.Call, keyword: str, value: str) -> cst.Call:
    """Return the call with one more keyword argument: on a line of its own where the others are."""
    tight = cst.AssignEqual(whitespace_before=cst.SimpleWhitespace(""), whitespace_after=cst.SimpleWhitespace(""))
    made = cst.Arg(expression(value), cst.Name(keyword), tight)
    if not call.args:
        return call.with_changes(args=[made])
    last = call.args[-1]
    if isinstance(last.comma, cst.Comma):
        return _behind_comma(call, last, last.comma, made)
    between = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    if len(call.args) > 1 and isinstance(call.args[-2].comma, cst.Comma):
        between = _without_comment(call.args[-2].comma)
    # What follows the last argument (a line break before the parenthesis) follows the new one.
    after = last.whitespace_after_arg
    last = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*call.args[:-1], last, made.with_changes(whitespace_after_arg=after)])


def _behind_comma(call: cst.Call, last: cst.Arg, end: cst.Comma, made: cst.Arg) -> cst.Call:
    """A trailing comma stays one: the new argument takes the last one's layout, and the last one keeps the comment behind it."""
    space = end.whitespace_after
    if not isinstance(space, cst.ParenthesizedWhitespace):
        between = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        return call.with_changes(args=[*call.args[:-1], last.with_changes(comma=between), made.with_changes(comma=end)])
    before: Any = call.args[-2].comma if len(call.args) > 1 else None
    before = before.whitespace_after if before is not None else call.whitespace_before_args
    if isinstance(before, cst.ParenthesizedWhitespace):
        before = before.with_changes(first_line=space.first_line)
    between = end.with_changes(whitespace_after=before)
    made = made.with_changes(comma=_without_comment(end))
    return call.with_changes(args=[*call.args[:-1], last.with_changes(comma=between), made])


def _without_comment(comma: cst.Comma) -> cst.Comma:
    space = comma.whitespace_after
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return comma
    plain = space.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
    return comma.with_changes(whitespace_after=space.with_changes(first_line=plain, empty_lines=[]))


def set_attention(work: Work, implementation: str) -> None:
    """Set ``attn_implementation`` where the script says it, else in the only call that loads a model."""
    source = work.scene.main
    value = f'"{implementation}"'
    said = [
        call
        for call in source.walk()
        if isinstance(call, cst.Call) and any(one.keyword is not None and one.keyword.value == "attn_implementation" for one in call.args)
    ]
    calls = said or [call for call in source.walk() if isinstance(call, cst.Call) and _is_model_loader(source, call)]
    if len(calls) != 1:
        several = f"{len(calls)} calls could take attn_implementation"
        raise RefusedError(several if calls else "no call of the script loads a transformers model")
    set_argument(work, source, calls[0], "attn_implementation", value, "set-attention")


def trainer_arguments(source: Source) -> cst.Call | None:
    """Return the only call that makes a Trainer's arguments, or None."""
    calls = [one for one in source.walk() if isinstance(one, cst.Call) and source.code(one.func).endswith("TrainingArguments")]
    return calls[0] if len(calls) == 1 else None


def set_keywords(work: Work, settings: dict[str, str]) -> None:
    """Change settings such as ``fp16=True`` in the only call that has one of them, and add those that belong to them."""
    source = work.scene.main
    calls = [
        call
        for call in source.walk()
        if isinstance(call, cst.Call) and any(one.keyword is not None and one.keyword.value in settings for one in call.args)
    ]
    if len(calls) != 1:
        named = " or ".join(settings)
        raise RefusedError(f"{len(calls)} calls set {named}" if calls else f"no call of the script sets {named}")
    call = calls[0]
    changes, added = work.changes(source), []
    for keyword, value in settings.items():
        old = next((one for one in call.args if one.keyword is not None and one.keyword.value == keyword), None)
        if old is None:
            # False is what a flag is where it is not said.
            if value != "False":
                added.append((keyword, value))
        elif source.code(old.value) != value:
            if not isinstance(old.value, cst.Name | cst.Integer | cst.Float | cst.SimpleString):
                raise RefusedError(f"line {source.line(old)}: {keyword} is `{source.code(old.value)}`, which is decided elsewhere")
            if isinstance(old.value, cst.Name) and old.value.value not in ("True", "False", "None"):
                raise RefusedError(f"line {source.line(old)}: {keyword} is `{old.value.value}`, which is decided elsewhere")
            changes.put(old.value, value)
            work.step("set-argument", source, old, f"{keyword}={value}")
    for keyword, value in added:
        changes.replace(call, partial(with_argument, keyword=keyword, value=value))
        work.step("set-argument", source, call, f"{keyword}={value}")
    if not work.steps:
        raise RefusedError(f"line {source.line(call)} has these settings already")
