"""Characters that nobody sees: they hide text from people that a language model reads, and tear apart what looks whole.

They are those of category Cf and of the property Default_Ignorable_Code_Point (https://www.unicode.org/reports/tr44/), and those that
reorder text (https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters). Joiners and variation selectors stay where scripts
and emoji need them: one after a character that is not ASCII.
"""

from __future__ import annotations

INVISIBLE = (
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d\ufe00-\ufe0f]|(?<=[\ufe00-\ufe0f])[\u200c\ufe00-\ufe0f]"
)
