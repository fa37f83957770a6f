# ruff: noqa: E501, SIM905  (tables of what people say read best on long lines)
"""What a message means: a report, facts, a choice, or one of a few things that people say. English and Chinese, by tables; nothing is guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from troubleshoot.basics.dtypes import parse_dtype
from troubleshoot.basics.errors import InputError
from troubleshoot.basics.versions import parse_version
from troubleshoot.engine.result import FixAdvice, Question
from troubleshoot.reading import Report, read_report
from troubleshoot.reading.environment.hardware import accelerator_from_text, find_gpu
from troubleshoot.reading.environment.package_names import normalise_name
from troubleshoot.reading.environment.parse import parse_environment

#: Longer messages are no commands.
_SHORT = 160
#: A dump of an environment names at least this many packages.
_LISTED = 3

#: Messages that ask something and state nothing: would this help, which devices compute in a dtype, does this one.
QUESTIONS = ("would", "which", "can")
_ASKED: tuple[tuple[str, str], ...] = (
    ("which", r"(?:\b(?:which|what|list|show)\b[^?\n]{0,40}\b(?:gpus?|(?:graphics |video )?cards?|devices?|hardware|accelerators?)\b|(?:哪些|哪种|哪几|什么|哪个)\s*(?:gpu|显卡|卡|设备|硬件))"),
    ("can", r"(?:^(?:and |but |so )?(?:does|do|can|is|are|has|have|will)\b[^?\n]{1,80}\b(?:support(?:s|ed)?|have|has|native(?:ly)?|compute|capable|run|handle|do)\b"
            r"|(?:支持|支不支持|有没有|能用|能跑|能算)[^?？\n]{0,20}(?:吗|么|[?？])|(?:是否|支不支持)(?:原生)?(?:支持)?)"),
    ("would", r"(?:^(?:and |but |so |ok |then |hm+ )?(?:would|will|does|do|could|can|should|might|is|are)(?!n['’]t| not\b| you\b) [^?\n]{1,100}"
              r"\b(?:help|work|fix|solve|better|enough|difference|matter|change|safer?|instead|use|try|switch|upgrade|downgrade|need)\b"
              r"|(?:有用|有帮助|管用|行|可以|能行|能解决|会好|有效|好使|更好)(?:一些|一点|点)?(?:吗|么)[\s?？。]*$|(?:可以|能|要不要|该不该|能不能|可不可以|是否要?|应该)(?:用|换|改|升级|降级)[^?？\n]{1,40}(?:吗|么|[?？])\s*[?？]?$)"),
)  # fmt: skip
#: "and on a T4?", "T4 呢?": a fact where it names one, else a question about what it names.
_ABOUT = r"(?:^(?:and |but |so |ok )?(?:what|how) about\b|^(?:and )?what if\b|呢\s*[?？]?$|怎么样\s*[?？]?$)"

#: What people say, the first that fits. A message is compared as a whole or, with ``search``, looked into.
_SAYINGS: tuple[tuple[str, str], ...] = (
    ("reset", r"^(?:/?(?:reset|restart|start over|start again|new (?:problem|issue|question|chat)|clear|begin again)|重新开始|重来|从头开始|新问题|换个问题|清空|重置)\W*$"),
    ("back", r"^(?:/?(?:back|go back|undo|previous|oops)|返回|上一步|后退|撤销)\W*$"),
    ("rejected", r"(?:(?:that(?:'| i)?s|this is|it(?:'| i)?s) (?:not|no|n't) (?:it|my (?:problem|issue|case|error)|the (?:problem|issue|right one|cause)|what i have)"
                 r"|\bnot my (?:problem|issue|case|error)\b|\bwrong (?:diagnosis|issue|problem|cause|entry)\b|不是这个(?:问题|原因|情况|错误)|诊断(?:错了|不对|有误)|跟我的(?:问题|情况)不一样|原因不对)"),
    ("failed", r"(?:(?:did|does|do|didn|doesn|don)(?:['’]?t| not) (?:seem to )?(?:work|help|fix|solve|change|do anything)|\bno (?:luck|effect|change|difference|success)\b"
               r"|\bnot (?:working|fixed|solved|helping|helpful)\b|\b(?:still|again) (?:fails?|failing|broken|crash\w*|(?:the |get(?:ting)? (?:the )?)?same|not|nan|errors?|happens|there)\b"
               r"|\bstill\b(?! (?:on|use|using|running|works?|working|fine|ok)\b)|\b(?:neither|nothing|none of (?:them|these|those|it))\b[^?\n]{0,20}\b(?:help|work|chang|fix|solv)\w*|\bboth fail"
               r"|\bsame (?:error|problem|issue|result|thing)\b|\bfailed\b|\bwon['’]?t work\b|\bcan(?:['’]?t|not) (?:do|use|upgrade|install) (?:that|this|it)\b"
               r"|没用|没有用|不管用|不起作用|没效果|没有效果|无效|不行|没解决|没有解决|未解决|还是|依然|依旧|仍然|仍旧|仍是|同样的(?:错误|问题)|失败了|没变化)"),
    ("worked", r"(?:^(?:it |that |this |now it |great,? (?:it |that )?)?(?:works?|worked|working|fixed|solved|resolved)(?: now| for me| perfectly| fine)?(?:,? thanks?(?: you)?| thx)?\W*$"
               r"|\b(?:it|that|this|now|fix|everything|problem|one|both)(?: \d)?(?: is|'s| has been)? ?(?:now )?(?:works?|worked|works now|working now|fixed|fixed it|solved|solved it|resolved|did it|helped)\b"
               r"|(?<!没)(?<!没有)(?<!未)(?:解决了|好了|搞定|可以了|成功了|能跑了|有用|管用|修好了|没问题了|问题已解决))"),
    ("tried", r"(?:^(?:but |yes,? )?(?:(?:i|we)(?:['’]ve| have)? )?(?:already |just )?(?:tried|did|done|tested)\b(?! you)|\balready (?:tried|did|done|doing|using|set)\b|(?:试过|试了|做过了|改过了|用过了))"),
    ("dont-know", r"^(?:(?:i )?(?:do(?:n['’]?t| not)|dunno|no) (?:know|idea|clue)|not sure|unsure|no idea|idk|dunno|skip|unknown|\?+|i(?:['’]m| am) not sure|no clue|can(?:['’]?t|not) (?:tell|say)"
                  r"|不知道|不清楚|不确定|没概念|跳过|不了解|说不准)(?: (?:that|it|which|this))?[\s.!。！,，]*$"),
    ("next", r"^(?:(?:show |give |try )?(?:me )?(?:the )?(?:next|another|other|more|something else|what else|else)(?: (?:one|fix|fixes|option|solution|suggestion|idea|please))*|/next|any other \w+|anything else"
             r"|下一个|下个|换一个|换个方法|还有(?:别的|其他|其它)?(?:办法|方法|吗|方案)?(?:吗)?|其他(?:办法|方法|方案)|其它(?:办法|方法|方案)|别的(?:办法|方法|方案)|继续)(?:方案|办法|方法)?[吧呢\s?？.!。！]*$"),
    ("why", r"^(?:(?:but |and )?why\b|(?:please |can you )?explain\b|what does (?:this|that|it) mean|what(?:['’]s| is) (?:this|that|the (?:problem|cause|reason|matter|issue))|what happened|tell me more|more details?"
            r"|为什么|为啥|什么意思|什么原因|原因是什么|这是什么|解释一下|怎么回事)"),
    ("fix", r"^(?:(?:how (?:do|can|to) (?:i )?)?(?:fix|fixes|solution|solve)(?: (?:it|this|please|me))*|show (?:me )?(?:the )?(?:fix|fixes|solution)s?|just (?:the )?fix(?: it| please)?|what (?:should|can|do) i do(?: now| next)?|(?:and )?(?:what now|now what)|(?:那|现在|那么)?(?:该|应该)?怎么(?:解决|修|办|改|修复)|解决(?:办法|方法|方案)|直接给(?:出)?(?:方案|办法|修复))\W*$"),
    ("thanks", r"^(?:ok(?:ay)?,? |great,? |cool,? |好的?[,，]? ?)?(?:(?:many )?(?:thanks?|thank you|thx|ty|cheers)\b[^?\n]{0,40}|(?:谢谢|多谢|感谢)[^?？\n]{0,20}|(?:great|ok(?:ay)?|cool|nice|perfect|good|i see|got it|makes sense|that helps|好的|好|明白了?|知道了|收到|懂了)[\s.!。！~]*)$"),
    ("greeting", r"^(?:hi|hello|hey|yo|good (?:morning|evening|afternoon|day)|help|/help|/start|what can you do|who are you|你好|您好|嗨|在吗|帮助|你是谁|你能做什么)(?: (?:there|all|everyone|bot|me|please))*[\s.!?。！？~]*$"),
)  # fmt: skip
_YES = r"^(?:y|yes|yeah|yep|yup|sure|correct|right|true|indeed|it is|it does|i do|i have|是|是的|对|对的|嗯|有|有的|装了|已安装|安装了|开了|用了)[\s.!。！,，]*$"
_NO = r"^(?:n|no|nope|nah|false|it is(?:n['’]?t| not)|it does(?:n['’]?t| not)|i do(?:n['’]?t| not)|not|否|不是|不|没有|没|没装|未安装|没安装|没有装|没开|没用过)[\s.!。！,，]*$"

_NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "last": -1,
    "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "最后一": -1,
    "①": 1, "②": 2, "③": 3, "④": 4, "⑤": 5, "⑥": 6, "⑦": 7, "⑧": 8, "⑨": 9,
}  # fmt: skip
_CHOICE = (
    r"^(?:(?:i (?:choose|pick|take|want)|try|show|it(?:'| i)s|answer|option|fix|number|no\.?|nr\.?|#|the|选|选择|方案|选项|我选|试试?|第|用)\s*){0,3}"
    r"\(?(?P<n>\d{1,2}(?:st|nd|rd|th)?|"
    + "|".join(_NUMBER_WORDS)
    + r")\s*[).、]?\s*(?:one|option|fix|个|项|号|种|条|个方案|个选项|个办法|个方法)?[\s.!。！,，]*(?:please|thanks)?\W*$"
)

_FIX_NUMBER = (
    r"(?:\b(?:fix|option|number|no\.?|nr\.?)\s*(\d{1,2})\b|#\s*(\d{1,2})\b|^(\d{1,2})(?![\w.])|(?:方案|第)\s*([\d一二两三四五六七八九])"
    r"|\b(first|second|third|fourth|fifth|sixth)\b)"
)

#: Words that stand for the values of facts; the longer are tried first.
_VALUES: dict[str, tuple[tuple[str, str], ...]] = {
    "attention": (("flash_attention_2", r"flash"), ("sdpa", r"\bsdpa\b|scaled.dot"), ("eager", r"\beager\b"), ("xformers", r"xformers")),
    "quantization": (
        ("bitsandbytes-4bit", r"4.?bit|\bnf4\b|qlora|load_in_4bit|4\s*位"), ("bitsandbytes-8bit", r"8.?bit|int8|load_in_8bit|8\s*位"),
        ("gptq", r"gptq"), ("awq", r"awq"), ("none", r"^(?:no|none|not quanti[sz]ed|not|un-?quanti[sz]ed|否|没有|没有量化|未量化|不是|没量化|无)\W*$"),
    ),
    "autocast": (
        ("off", r"^(?:no|off|without|not|it (?:is|does) not|否|没有|没用|不是|关|没开)\b|without|\bno autocast|not (?:under|in|using)|没有?(?:用|开|在)"),
        ("on", r"^(?:yes|on|y|是|是的|有|开|用了|开了)\b|^(?:是|有|开|对)|\bautocast\b|\bamp\b"),
    ),
    "device.kind": (("cuda", r"cuda|nvidia|\bgpu\b|显卡"), ("cpu", r"\bcpu\b"), ("mps", r"\bmps\b|apple|\bmac\b|\bm[1-4]\b"), ("rocm", r"rocm|\bamd\b")),
    "phase": (("training", r"train|fine.?tun|lora|backward|训练|微调"), ("inference", r"infer|generat|predict|eval|推理|生成|预测")),
    "device-map": (("auto", r"\bauto\b|自动"), ("none", r"^(?:no|none|not set|not|unset|否|没有|没设|没设置|未设置|无)\W*$")),
}  # fmt: skip

#: Kinds of mentions that are facts by themselves, and the facts they are.
_MENTIONED = {
    "attention": "attention", "quantization": "quantization", "model": "model", "phase": "phase", "autocast": "autocast",
    "device_map": "device-map", "os": "os", "python": "python",
}  # fmt: skip
_NO_GPU = r"(?:\b(?:no|without(?: an?| any)?|(?:do not|don['’]?t) have (?:an?|any)) gpu\b|\bcpu[- ]only\b|\b(?:on|only) (?:the |a )?cpu\b|没有?\s*(?:gpu|显卡)|无\s*(?:gpu|显卡)|只有\s*cpu|纯\s*cpu|^cpu\W*$)"
_PRESENCE = r"(?:\b(?:have|has|got|with|using|installed|use|uses)\b|装了|安装了|已安装|有装|用了)"
_ABSENCE = r"(?:\bnot installed\b|\b(?:don['’]?t|do not|doesn['’]?t|does not) have\b|\bwithout\b|\bno\b|\bisn['’]?t installed\b|\buninstalled\b|没装|没有装|未安装|没有安装|没安装|没有|不用|卸载了)"
_VERSION = r"(?<![\w.])v?(\d{1,4}(?:\.\d{1,5}){0,4}(?:\.?(?:a|b|rc|dev|post)\d+)*(?:\+[\w.]+)?)(?![\w.]*[A-Za-z])"


@dataclass(frozen=True)
class Meaning:
    """What one message says.

    ``kind`` is ``report``, ``environment`` (a dump), ``facts``, ``choice`` (with ``number``; -1 is the last; ``letter`` where it was one),
    ``yes``, ``no``, one of the sayings or questions above, or ``other``. ``facts`` are fact names with values, whatever the kind;
    ``dtypes`` are those that a question is about.
    """

    kind: str
    report: Report
    number: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    letter: bool = False
    dtypes: tuple[str, ...] = ()
    text: str = ""


def understand(text: str, question: Question | None = None) -> Meaning:
    """Return what a message means where ``question`` is the one that it may answer."""
    report = read_report(text)
    if report.failures:
        return Meaning("report", report)
    short = " ".join(text.split())
    if len(short) <= _SHORT and not short.isascii():
        # 我用的是A100: names are found between blanks.
        short = re.sub("(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u4e00-\u9fff])", " ", short)
        report = read_report(short)
    if len(short) > _SHORT or len(text.splitlines()) > _LISTED:
        listed = parse_environment(report.lines, report.numbers)
        dump = len(listed.packages) >= _LISTED or listed.closed_accelerators or len(listed.accelerators) > 0
        return Meaning("environment" if dump else "other", report, facts={} if dump else _facts(report, short))
    facts = _facts(report, short)
    asked = _asked(report, short, facts)
    if asked is not None:
        return asked
    if question is not None:
        letter = re.fullmatch(r"\(?([a-h])\s*[.)、）]?", short, re.IGNORECASE)
        if letter:
            return Meaning("choice", report, ord(letter[1].lower()) - ord("a") + 1, facts, letter=True)
        number = _number(short)
        if number and (question.answers or number == 1) and not re.search(r"\d\.\d", short):
            return Meaning("choice", report, number, facts)
        value = answer_to(question, short)
        if value is not None:
            return Meaning("facts", report, facts={**facts, question.about: value})
    about = _about(report, short, facts)
    if about is not None:
        return about
    said = _said(short)
    if said in ("failed", "tried"):
        # The dtype that was tried is not the one that is asked for.
        return Meaning("failed", report, facts={name: value for name, value in facts.items() if name != "dtype.requested"})
    if said is not None and not (said == "thanks" and facts):
        return Meaning(said, report, facts=facts)
    number = _number(short)
    if number:
        return Meaning("choice", report, number, facts)
    if _matches(_YES, short):
        return Meaning("yes", report, facts=facts)
    if _matches(_NO, short):
        return Meaning("no", report, facts=facts)
    return Meaning("facts" if facts else "other", report, facts=facts)


def _asked(report: Report, text: str, facts: dict[str, str]) -> Meaning | None:
    """Return the question that a message asks, None where it asks none of :data:`QUESTIONS`."""
    dtypes = _dtypes(text)
    kind = next((kind for kind, pattern in _ASKED if (dtypes or kind == "would") and _pattern(pattern).search(text)), None)
    return None if kind is None else _question_about(kind, report, text, facts, dtypes)


def _about(report: Report, text: str, facts: dict[str, str]) -> Meaning | None:
    """Return what "what about ..." or a dtype with a question mark asks; "what about a T4" states a fact."""
    dtypes = _dtypes(text)
    brief = bool(dtypes) and len(text.split()) <= 3 and text.rstrip().endswith(("?", "？"))
    if not brief and not _pattern(_ABOUT).search(text):
        return None
    return None if facts.keys() - {"dtype.requested"} else _question_about("would", report, text, facts, dtypes)


def _question_about(kind: str, report: Report, text: str, facts: dict[str, str], dtypes: tuple[str, ...]) -> Meaning:
    supposed = {name: value for name, value in facts.items() if name != "dtype.requested"}
    if "gpu" not in supposed:
        # "the 4090": a number by itself names a card where a card is asked about.
        words = (word for word in re.findall(r"[A-Za-z0-9]+", text) if re.search(r"\d", word) and parse_dtype(word) is None)
        gpu = next((gpu for word in words if (gpu := find_gpu(word)) is not None), None)
        supposed.update({"gpu": gpu.name} if gpu else {})
    return Meaning(kind, report, facts=supposed, dtypes=dtypes, text=text)


def _dtypes(text: str) -> tuple[str, ...]:
    """Return the dtypes that a text names. "long" and "double" are words, too."""
    words = (word.removeprefix("torch.") for word in re.findall(r"[A-Za-z][A-Za-z0-9_.]*[A-Za-z0-9]", text))
    found = (parse_dtype(word) for word in words if re.search(r"\d", word) or word.lower() in ("half", "bfloat"))
    return tuple(dict.fromkeys(one for one in found if one))


#: Words in messages and titles of fixes that tell no fix from another.
_COMMON = frozenset("use run try tried help fix load set one all whole model torch dtype too also already was been".split())


def names_both(text: str) -> bool:
    """Tell whether a message speaks of every fix in view: "neither helped", "都没用"."""
    return bool(re.search(r"\b(?:neither|both|nothing|none of)\b|都(?:没|不|试|一样|失败)", text, re.IGNORECASE))


def named_fix(text: str, fixes: tuple[FixAdvice, ...]) -> FixAdvice | None:
    """Return the fix that a message names, by its number or by words of its own that no other fix shares more of."""
    number = _pattern(_FIX_NUMBER).search(text)
    if number:
        word = next(part for part in number.groups() if part).lower()
        at = _NUMBER_WORDS.get(word) or int(word)
        return fixes[at - 1] if 0 < at <= len(fixes) else None
    said = _telling(text)
    told = [_telling(" ".join((one.id, one.kind, one.title, one.code or "", one.command or ""))) for one in fixes]
    shared = frozenset.intersection(*told) if len(told) > 1 else frozenset()
    counts = [len((said & words) - shared) for words in told]
    best = max(counts, default=0)
    return fixes[counts.index(best)] if best else None


def _telling(text: str) -> frozenset[str]:
    """Return the words of a text without their endings, dtypes by one name; of Chinese, every two characters that follow each other."""
    words = set(re.findall(r"[a-z][a-z0-9]+", text.lower())) - _ENGLISH - _COMMON
    plain = {parse_dtype(word) or (re.sub(r"(?:ing|ed|es|e|s)$", "", word) if len(word) > 4 else word) for word in words}
    pairs = {pair for run in re.findall("[\u4e00-\u9fff]{2,}", text) for pair in map("".join, pairwise(run))}
    return frozenset(plain | pairs)


def answer_to(question: Question, text: str) -> str | None:
    """Return the value that a short text gives to the fact of a question, or None where it gives none."""
    about, options = question.about, question.answers
    wanted = _plain(text)
    for option in options:
        if wanted and wanted == _plain(option):
            return option
    if _said(text) in ("dont-know", "reset", "back", "rejected", "failed", "worked", "tried", "next", "thanks"):
        return None
    if set(options) == {"present", "absent"}:
        return _presence(about.removeprefix("package."), text)
    if about.startswith(("gpu", "support.")):
        return _gpu(text)
    if about.startswith("package."):
        found = re.search(_VERSION, text)
        if found and parse_version(found[1]) is not None:
            return found[1]
        return _presence(about.removeprefix("package."), text)
    if about.startswith("dtype."):
        return next((dtype for word in re.findall(r"[A-Za-z][\w.]*", text) if (dtype := parse_dtype(word.removeprefix("torch.")))), None)
    for value, pattern in _VALUES.get(about, ()):
        if re.search(pattern, text, re.IGNORECASE):
            return value
    if set(options) in ({"yes", "no"}, {"on", "off"}, {"true", "false"}):
        first = next(one for one in options if one in ("yes", "on", "true"))
        other = next(one for one in options if one != first)
        said = _yes_or_no(text)
        return None if said is None else first if said else other
    if about == "model":
        return _model(text, options)
    named = [option for option in options if len(option) > 2 and option.lower() in text.lower()]
    return named[0] if len(named) == 1 else None


def _facts(report: Report, text: str) -> dict[str, str]:
    """Return the facts that a message states by itself."""
    found: dict[str, str] = {}
    for mention in report.mentions:
        if mention.kind == "package" and (mention.value or re.search(_PRESENCE, text, re.IGNORECASE)):
            found.setdefault(f"package.{mention.name}", mention.value or "present")
        elif mention.kind == "gpu" and find_gpu(mention.value) is not None:
            found.setdefault("gpu", mention.value)
        elif mention.kind == "dtype" and len(text) <= _SHORT:
            found.setdefault("dtype.requested", mention.value)
        elif mention.kind in _MENTIONED:
            found.setdefault(_MENTIONED[mention.kind], mention.value)
    if len(text) > _SHORT:
        return found
    if "gpu" not in found and re.search(_NO_GPU, text, re.IGNORECASE):
        found["gpu"] = "none"
    if "gpu" not in found:
        gpu = _gpu_word(text)
        if gpu:
            found["gpu"] = gpu
    return found


@lru_cache(maxsize=1)
def _said_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _SAYINGS)


def _said(text: str) -> str | None:
    for kind, pattern in _said_patterns():
        if pattern.search(text.strip()):
            return kind
    return None


@lru_cache(maxsize=32)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _matches(pattern: str, text: str) -> bool:
    return _pattern(pattern).search(text.strip()) is not None


def _number(text: str) -> int:
    """Return the number that a message chooses: "2", "the second", "第二个", "option 2 please"; 0 for none."""
    match = _pattern(_CHOICE).match(text.strip())
    if match is None:
        return 0
    word = match["n"].lower()
    return _NUMBER_WORDS.get(word) or int(re.sub(r"\D", "", word) or 0)


def _presence(name: str, text: str) -> str | None:
    said = _yes_or_no(text)
    if said is False or re.search(_ABSENCE, text, re.IGNORECASE):
        return "absent"
    if said or re.search(_PRESENCE, text, re.IGNORECASE) or normalise_name(text.strip()) == name:
        return "present"
    return None


def _yes_or_no(text: str) -> bool | None:
    """Return what a text says as a whole or, "yes, an A100", begins with."""
    for part in (text, re.split("[,，;；。]", text, maxsplit=1)[0]):
        if _matches(_YES, part):
            return True
        if _matches(_NO, part):
            return False
    return None


def _gpu(text: str) -> str | None:
    """Return the name of the GPU in a short answer: the whole text or a part of it."""
    if re.search(_NO_GPU, text, re.IGNORECASE) or _matches(_NO, text):
        return "none"
    known = find_gpu(text)
    if known is not None:
        return known.name if known.memory is None or known.kind != "cuda" else _named(text, known.name, known.memory)
    try:
        return text.strip() if len(text) <= 40 and accelerator_from_text(text) is not None else None
    except InputError:
        return None


def _named(text: str, name: str, memory: float) -> str:
    """Return the name with its memory where the text states it."""
    return f"{name} {memory:g}GB" if re.search(rf"(?<!\d){memory:g}\s?g", text, re.IGNORECASE) else name


def _gpu_word(text: str) -> str | None:
    """Return a GPU that is named in Chinese text, where no blank separates it: 显卡V100."""
    match = re.search(r"(?:显卡|gpu)\s*(?:是|为|用的是|:|：|is|=)?\s*([A-Za-z0-9][A-Za-z0-9 -]{1,24})", text, re.IGNORECASE)
    found = find_gpu(match[1]) if match else None
    if found is None and re.fullmatch(r"[1-5]0[5-9]0(?: ?(?:ti|super))?\W*", text.strip(), re.IGNORECASE):
        found = find_gpu("RTX " + text.strip())
    return found.name if found else None


def _model(text: str, options: tuple[str, ...]) -> str | None:
    found = re.search(r"[A-Za-z0-9][\w.-]{1,60}/[\w.-]{2,80}", text)
    if found:
        return found[0].rstrip(".")
    wanted = _plain(text)
    return next(
        (option for option in options if wanted and (wanted in _plain(option) or _plain(option).rpartition("/")[2] in wanted)), None
    )


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9/.\u4e00-\u9fff]+", "", text.lower()).rstrip(".")


#: Words that only English prose has, and an English-speaking person hardly avoids.
_ENGLISH = frozenset(
    "the is it my a an and i when with after this that in on to of what why how does did not get gets fails worked works please have using thank "
    "but for you can loaded error still same same thanks yes".split()
)


def language_of(text: str) -> str | None:
    """Return "zh" or "en" where the person's own words show it, else None: a traceback, a number or a name shows nothing."""
    if len(re.findall("[\u4e00-\u9fff]", text[:20_000])) >= 1:
        return "zh"
    prose = [
        line
        for line in text[:20_000].splitlines()
        if not re.match(r'\s|File "|Traceback|[\w.]+(?:Error|Exception|Warning)\b|\d|[\w.-]+==|[>$#]', line)
    ]
    words = re.findall(r"[a-z']+", " ".join(prose).lower())
    return "en" if len(_ENGLISH.intersection(words)) >= 2 or (set(words) - {"a"} and set(words) <= _ENGLISH) else None
