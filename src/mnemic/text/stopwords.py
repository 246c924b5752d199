"""English words that say nothing about what a question is about.

Used for questions only: indexed text keeps every word. Lower case, unstemmed, without apostrophes.
"""

from __future__ import annotations

_WORDS = """
a an the this that these those such i me my mine myself we us our ours ourselves you your yours yourself
yourselves he him his himself she her hers herself it its itself they them their theirs themselves and or but
nor so if then than as because while although though of in on at by to for from with into onto upon about
between among through during over under am is are was were be been being do does did done doing have has had
having can could will would shall should may might must what which who whom whose when where why how there
here not no yes any some each both either neither also too very just only ever more most much many other
others please im ive id youre youve hes shes theyre theyve dont doesnt didnt isnt arent wasnt werent cant
couldnt wouldnt shouldnt wont havent hasnt hadnt whats whos wheres thats theres lets
"""

ENGLISH: frozenset[str] = frozenset(_WORDS.split())
