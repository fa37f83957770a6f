"""What a sentence tells of another place than the one where it fails: a release or a card with which it works, a bound."""

from __future__ import annotations

import re

from troubleshoot.basics.patterns import anchored, searched

#: "requires transformers 4.50", "will be removed in Transformers v5.0": a bound or an announcement, and nobody's installation.
_BOUND_BEFORE = (
    r"(?:\b(?:requires?|required|needs?|at least|minimum|(?:prior|earlier|older|newer) (?:to|than)|as of|until|"
    r"(?:removed|deprecated|introduced|added|dropped|supported|available|fixed|default) (?:in|since|from|by|with|for|on)(?: version)?)|"
    r"需要|要求|低于|高于|早于)\s{0,3}(?:(?:the|an?)\s{1,3})?[`'\"*]{0,3}$"
)
#: "In PyTorch 1.1.0 and later", "transformers 4.37+".
_BOUND_AFTER = (
    r"[`'\"*)]{0,3}(?:\+(?![\w.])|\s{0,3}(?:(?:and|or)\s{1,3}(?:later|above|newer|higher|up|greater|older|earlier|lower|below)|"
    r"onwards?|upwards?|及以上|以上|或更高|及更高|以后的版本|之前的版本))"
)
#: "worked with torch 1.4", "works fine on an A100", "downgrading to transformers 4.48".
_WORKED_BEFORE = (
    r"(?:\b(?:works?|worked|working|fine|okay|ok|ran|runs?|trained|passe[sd]|succeed(?:s|ed)?)"
    r"(?:\s{1,3}(?:fine|well|correctly|perfectly|without (?:any )?(?:error|problem|issue)s?))?"
    r"\s{1,3}(?:on|with|under|in|using|for|at|before)|"
    r"\b(?:downgrad(?:e|ed|ing)|(?:roll|revert|switch)(?:ed|ing)?(?: back)?|(?:going|went) back)\b[^.\n]{0,30}?\bto|"
    r"降级到|降到|退回到?|回退到|换回)\s{0,3}(?:(?:the|an?|my|our|another|one)\s{1,3})?(?:\d{1,2}\s?[x×*]?\s?)?(?:version\s{1,3})?[`'\"*]{0,3}$"
)
_WORKS_AFTER = (
    r"[`'\"*)]{0,3}(?:\+\w{1,12})?[,:]?\s{0,3}(?:(?:it|everything|all|this|that|the (?:same )?(?:code|script|model|program|run))\s{1,3})?"
    r"(?:(?:still|also)\s{1,3})?(?:(?:is|was|were|are)\s{1,3}(?:fine|ok|okay|good|no problem|not affected)|works?\b|worked\b|"
    r"(?:runs?|ran)\s{1,3}(?:fine|well|to the end|through|without)|there (?:is|was) no (?:problem|error|issue)|"
    r"(?:does|did) not (?:fail|happen|occur)|(?:版本)?(?:下|上)?是?都?(?:正常|没问题|没有问题|可以运行|能跑))"
)


def is_bound(before: str, after: str) -> bool:
    """Tell whether what stands between two texts of a line is a bound or an announcement, and nobody's installation."""
    return _found(_BOUND_BEFORE, before) or _follows(_BOUND_AFTER, after)


def works_there(before: str, after: str) -> bool:
    """Tell whether it works with what stands between two texts of a line."""
    return _found(_WORKED_BEFORE, before) or _follows(_WORKS_AFTER, after)


def _found(pattern: str, text: str) -> bool:
    return searched(pattern, re.IGNORECASE).search(text) is not None


def _follows(pattern: str, text: str) -> bool:
    return anchored(pattern, re.IGNORECASE).match(text) is not None
