"""What was seen in a live exception: text only, so that nothing of the program's is kept alive."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Operand:
    """A tensor that the failing operation was given.

    ``name`` is what it is called in prose, ``code`` how the code writes it (``self.k_cache``), ``role`` is input, parameter, buffer or
    constant, ``owner`` the path of the module that holds it. ``cast`` tells that the code converts it on the spot. None is what could not
    be read.
    """

    name: str
    role: str
    dtype: str | None
    device: str | None
    shape: tuple[int, ...] | None = None
    owner: str | None = None
    keyword: str = ""
    cast: bool = False
    code: str = ""


@dataclass(frozen=True)
class SeenModule:
    """A module that the failing call passed through: its path below the outermost one, its class, and what its own tensors are."""

    path: str
    cls: str
    dtypes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    quantized: str | None = None
    hook: str | None = None


@dataclass(frozen=True)
class Blame:
    """Who is to blame, and the cause that follows.

    ``module`` is a path below the outermost module ("": the model itself, None: no module), ``has`` and ``meets`` a dtype or a device.
    ``cause`` is None where the tensors do not decide it. ``change`` is the line of code that takes the cause away.
    """

    cause: str | None
    module: str | None
    cls: str | None
    parameter: str | None
    has: str | None
    meets: str | None
    why: str
    change: tuple[str, str] | None = None


@dataclass(frozen=True)
class Seen:
    """All that was seen: operands of the failing operation, modules from the outermost to the innermost, and who is to blame.

    ``path`` is that of the module that failed, ``root_cls`` is the class of the outermost module, ``odd`` the paths of the modules below it
    that hold parameters of another dtype (or on another device, where that is what differs) than most of the model. ``call`` is the
    expression that failed in the innermost frame that is not torch's, ``named`` the tensors that it names, with their dtypes, ``torch`` the
    functions of torch below it, outermost first.
    """

    operands: tuple[Operand, ...] = ()
    modules: tuple[SeenModule, ...] = ()
    root: str = "model"
    main_dtype: str | None = None
    main_device: str | None = None
    autocast: str | None = None
    autocast_text: str = ""
    frame: str | None = None
    blame: Blame | None = None
    message: str = ""
    path: str | None = None
    root_cls: str | None = None
    odd: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    call: str = ""
    named: tuple[tuple[str, str], ...] = ()
    torch: tuple[str, ...] = ()
