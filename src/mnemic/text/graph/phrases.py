"""Words that relate names, and words that tell what a name stands for: the tables of the rules.

A phrase stands between two names, without auxiliaries before it and articles behind it. Languages share one table: a
phrase that two of them have means the same in both. Chinese has its own rules (`chinese.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mnemic.model.graph import ALSO_KNOWN_AS, EntityType

PERSON, PLACE, ORGANISATION = EntityType.PERSON, EntityType.PLACE, EntityType.ORGANISATION
PROJECT, TECHNOLOGY, POLICY = EntityType.PROJECT, EntityType.TECHNOLOGY, EntityType.POLICY
THING = EntityType.THING


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a phrase says: the type of the relation, from the first name to the second, or with `is_inverse` from the
    second to the first; and what the first and the second are, where it tells.
    """

    type: str
    first: EntityType = THING
    second: EntityType = THING
    is_inverse: bool = False


_SAID: Mapping[str, tuple[Phrase, str]] = {
    "works at": (
        Phrase("WORKS_AT", PERSON, ORGANISATION),
        (
            "work at|work for|works at|works for|working at|working for|works with the company|is employed by"
            "|employed by"
            "|employed at|joined|started at|arbeitet bei|arbeite bei|arbeitet für|travaille chez|travaille pour"
            "|travaille à|trabaja en|trabajo en|trabaja para|trabalha na|trabalha no|trabalha em|lavora per|lavora a"
            "|lavora in"
        ),
    ),
    "worked at": (
        Phrase("WORKED_AT", PERSON, ORGANISATION),
        "worked at|worked for|used to work at|used to work for|left|quit|resigned from|retired from|arbeitete bei",
    ),
    "lives in": (
        Phrase("LIVES_IN", PERSON, PLACE),
        (
            "live in|lives in|living in|resides in|reside in|moved to|relocated to|lives at|wohnt in"
            "|wohne in"
            "|lebt in|lebe in|zog nach|habite à|habite|vit à|vive en|vivo en|mora em|vive em|vive a|abita a"
        ),
    ),
    "lived in": (Phrase("LIVED_IN", PERSON, PLACE), "lived in|used to live in|moved from|moved away from"),
    "born in": (Phrase("BORN_IN", PERSON, PLACE), "born in|grew up in|comes from|come from|is from|from the city of"),
    "located in": (
        Phrase("LOCATED_IN", THING, PLACE),
        (
            "located in|situated in|based in|headquartered in|has its seat in|lies in|hosted in|takes place in|held"
            " in|liegt in"
            "|befindet sich in|se trouve à|est situé à|está en|fica em|si trova a"
        ),
    ),
    "depends on": (
        Phrase("DEPENDS_ON"),
        (
            "depend on|depends on|dependent on|depending on|relies on|rely on|relied on|builds on|built on|based on"
            "|requires|require|needs|is blocked by|blocked by|hängt ab von|hängt von|basiert auf|braucht|dépend de"
            "|depende de|dipende da"
        ),
    ),
    "needed by": (Phrase("DEPENDS_ON", is_inverse=True), "required by|needed by|blocks"),
    "uses": (
        Phrase("USES"),
        (
            "use|uses|using|runs on|run on|written in|built with|developed with|made with|implemented in|powered by"
            "|works with|stores its data in|deployed on|deployed to|is deployed on|nutzt|verwendet|benutzt|nutze"
            "|benutze"
            "|verwende|läuft auf|utilise|emploie|usa|uso|utiliza|utilizza"
        ),
    ),
    "used by": (Phrase("USES", is_inverse=True), "used by|used in|used for|powers|runs in"),
    "created by": (
        Phrase("CREATED_BY"),
        (
            "created by|made by|built by|developed by|written by|founded by|designed by|invented by|authored by"
            "|maintained by|produced by|directed by|started by|initiated by|wurde erstellt von|erstellt von"
            "|entwickelt von|gegründet von|créé par|développé par|fondé par|creado por|desarrollado por|fundado por"
            "|criado por|desenvolvido por|creato da|sviluppato da|fondato da"
        ),
    ),
    "created": (
        Phrase("CREATED_BY", is_inverse=True),
        (
            "created|made|built|developed|wrote|founded|co-founded|designed|invented|authored|maintains|directed"
            "|started"
            "|launched|founder of|creator of|author of|maintainer of|developer of|inventor of|gründete|entwickelte"
            "|erstellte|a créé|a fondé|creó|fundó|criou|fundou|ha creato|ha fondato"
        ),
    ),
    "reports to": (
        Phrase("REPORTS_TO", PERSON, PERSON),
        (
            "report to|reports to|reporting to|works under|'s manager|'s boss|'s supervisor|'s team lead|berichtet an"
            "|rapporte à|reporta a|riporta a"
        ),
    ),
    "boss of": (
        Phrase("REPORTS_TO", PERSON, PERSON, is_inverse=True),
        "boss of|supervisor of|supervises|mentors|'s direct report|'s report",
    ),
    "manages": (
        Phrase("MANAGES", PERSON),
        (
            "manage|manages|managing|leads|lead|leading|runs|heads|owns|own|is responsible for|responsible for"
            "|in charge of|manager of|lead of|head of|leader of|owner of|ceo of|cto of|director of|president of|chair"
            " of"
            "|leitet|verantwortet|ist verantwortlich für|verantwortlich für|dirige|gère|gestiona|lidera|gestisce"
        ),
    ),
    "managed by": (
        Phrase("MANAGES", THING, PERSON, is_inverse=True),
        "managed by|led by|headed by|owned by|run by|'s owner|'s lead|'s leader|geleitet von|dirigé par|dirigido por",
    ),
    "works on": (
        Phrase("WORKS_ON", PERSON),
        (
            "work on|works on|working on|contributes to|contribute to|contributed to|assigned to|arbeitet an|arbeite an"
            "|travaille sur|trabaja en el proyecto|lavora al progetto"
        ),
    ),
    "part of": (
        Phrase("PART_OF"),
        (
            "part of|belongs to|belong to|project of|product of|service of|team of|initiative of|component of|module"
            " of|subsidiary of|division of|department of|branch of"
            "|capital of|district of|included in|contained in|falls under|ist teil von|teil von|gehört zu|fait partie"
            " de"
            "|es parte de|parte de|faz parte de|fa parte di"
        ),
    ),
    "contains": (
        Phrase("PART_OF", is_inverse=True),
        "contains|includes|consists of|comprises|is made up of|enthält|besteht aus|contient|contiene|contém",
    ),
    "member of": (Phrase("MEMBER_OF", PERSON), "member of|is a member of|sits on|serves on|plays for|studies at"),
    "governed by": (
        Phrase("GOVERNED_BY"),
        (
            "governed by|regulated by|subject to|bound by|covered by|complies with|comply with|must comply with"
            "|has to comply with|must follow|follows|adheres to|unterliegt|est soumis à|está sujeto a"
        ),
    ),
    "governs": (
        Phrase("GOVERNED_BY", is_inverse=True),
        "governs|regulates|applies to|apply to|covers|gilt für|regelt|s'applique à|se aplica a",
    ),
    "replaces": (Phrase("REPLACES"), "replaces|replaced|supersedes|succeeds|ersetzt|remplace|reemplaza"),
    "replaced by": (Phrase("REPLACES", is_inverse=True), "replaced by|superseded by|succeeded by|ersetzt durch"),
    "knows": (
        Phrase("KNOWS", PERSON, PERSON),
        (
            "knows|met|met with|is friends with|friends with|friend of|'s friend|'s colleague|'s neighbour|'s neighbor"
            "|works together with|kennt|connaît|conoce a|conosce"
        ),
    ),
    "family": (
        Phrase("FAMILY_OF", PERSON, PERSON),
        (
            "'s wife|'s husband|'s partner|'s brother|'s sister|'s mother|'s father|'s mom|'s dad|'s son|'s daughter"
            "|'s cousin|'s uncle|'s aunt|'s girlfriend|'s boyfriend|'s fiancé|'s fiancée|is married to|married to"
            "|married"
            "|wife of|husband of|brother of|sister of|mother of|father of|son of|daughter of|is engaged to|ist"
            " verheiratet mit"
            "|verheiratet mit|est marié à|est mariée à|está casado con|está casada con"
        ),
    ),
    "also known as": (
        Phrase(ALSO_KNOWN_AS),
        (
            "also known as|aka|a.k.a|known as|also called|called|nicknamed|alias|formerly known as|formerly|renamed to"
            "|short for|stands for|auch bekannt als|auch genannt|genannt|alias dit|también conocido como|conhecido como"
        ),
    ),
}

PHRASES: Mapping[str, Phrase] = {form: phrase for phrase, forms in _SAID.values() for form in forms.split("|")}
"""By the words of the phrase, in lower case with one blank between them."""

MOST_WORDS = max(len(form.split()) for form in PHRASES)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SKIPPED_BEFORE = _words(
    "is was are were be been being has have had will also now currently still just recently already then mainly mostly"
    " am 'm 's 're both all each primarily directly really actually ist wird wurde hat jetzt auch derzeit est a été"
    " es fue foi è stato"
    " ahora actualmente actuellement maintenant"
)
"""Before a phrase they say nothing about it."""

SKIPPED_BEHIND = _words(
    "the a an our my your his her its their this that these those new old big small local another der die das den dem"
    " ein eine einen einem einer unser unsere meine mein le la les l' un une notre mon ma el los las una nuestro mi o"
    " os"
    " as um uma il lo gli i"
)
"""Behind a phrase, before the name."""

JOINING = _words("and & und et y e ed sowie , as well plus")
"""Between names that share a part: Anna and Bob."""

GOING_ON = _words("and und et y e but aber then")
"""Before a phrase: the subject is the one before it. Anna works at Acme and lives in Oslo."""

RELATIVE = _words("which that who whom qui que che der die das welche")
"""Before a phrase: the subject is the name right before it. Apollo, which depends on Redis."""

STOPPING = _words(
    "not never n't no without if whether unless maybe perhaps might may could would should can't cannot don't doesn't"
    " isn't wasn't won't didn't aren't nicht kein keine nie pas jamais ne nunca non não no neither nor hardly almost"
)
"""Where one of these stands between two names, nothing is said of them."""

DOUBTING = _words(
    "if whether unless maybe perhaps suppose imagine imagining pretend wonder hypothetically wenn ob falls vielleicht"
    " si peut-être quizás se talvez forse doubt deny denies denied"
)
"""Where one of these stands before the two, nothing is said either."""

KIND_NOUNS: Mapping[str, EntityType] = {
    word: type_
    for type_, words in (
        (PROJECT, "project initiative programme program projekt projet proyecto projeto progetto 项目"),
        (
            TECHNOLOGY,
            (
                "database framework library language tool protocol algorithm software service api app application"
                " platform"
                " engine server datenbank programmiersprache base technology system compiler browser model"
            ),
        ),
        (PLACE, "city town country village state region district island river street stadt land ville ciudad cidade"),
        (
            ORGANISATION,
            (
                "company startup firm bank university school agency institute team department organisation organization"
                " vendor supplier client customer employer foundation club hospital firma unternehmen entreprise"
                " empresa"
            ),
        ),
        (
            POLICY,
            "policy regulation law rule guideline directive standard act richtlinie gesetz politique política",
        ),
        (
            PERSON,
            (
                "manager boss colleague friend sister brother mother father wife husband son daughter teammate"
                " coworker neighbour neighbor mentor engineer developer designer teacher doctor ceo cto founder person"
            ),
        ),
        (EntityType.PRODUCT, "product phone car laptop device camera book film movie game song album"),
        (EntityType.EVENT, "conference meeting festival workshop summit event wedding concert"),
    )
    for word in words.split()
}
"""A noun before a name (the company Acme), at its beginning or end (Project X), or said of it (X is a city)."""

SUFFIXES: Mapping[str, EntityType] = {
    word: type_
    for type_, words in (
        (
            ORGANISATION,
            (
                "inc corp corporation ltd llc gmbh ag plc sa bv ab oy kg labs group holdings university college"
                " institute bank foundation association agency ministry company hospital school"
            ),
        ),
        (PLACE, "street avenue island islands river lake city county park square"),
        (POLICY, "policy act regulation directive"),
        (PROJECT, "project initiative"),
        (EntityType.EVENT, "conference summit festival"),
    )
    for word in words.split()
}
"""The last word of a name."""

NAMING_FIRST = _words(
    "project projekt projet proyecto projeto progetto policy programme program university bank institute lake"
)
"""The first word of a name: Project X."""

DROPPED_FIRST = _words("firma unternehmen stadt ville ciudad cidade société empresa")
"""A noun with a capital before a name, which is not part of it."""

HONORIFICS = _words("mr mrs ms dr prof professor sir frau herr monsieur madame señor señora")


def _gazetteer() -> Iterator[tuple[str, EntityType]]:
    for type_, names in (
        (
            TECHNOLOGY,
            (
                "python|java|javascript|typescript|rust|kotlin|ruby|php|c++|c#|scala|haskell|postgresql|postgres"
                "|mysql|sqlite|mongodb|redis|kafka|rabbitmq|elasticsearch|docker|kubernetes|terraform|ansible|jenkins"
                "|git"
                "|github|gitlab|linux|ubuntu|debian|windows|macos|android|ios|nginx|react|angular|vue|svelte|django"
                "|flask|fastapi|spring|node.js|pytorch|tensorflow|numpy|pandas|hadoop|airflow|grafana|prometheus|aws"
                "|azure|graphql|grpc|pgvector|qdrant|faiss|llama|mistral|claude|gpt-4|chatgpt|jira|figma"
            ),
        ),
        (
            PLACE,
            (
                "germany|france|spain|italy|portugal|poland|austria|switzerland|norway|sweden|denmark|finland"
                "|netherlands"
                "|belgium|ireland|england|scotland|wales|united kingdom|uk|usa|united states|canada|mexico|brazil"
                "|argentina"
                "|chile|peru|china|japan|korea|india|indonesia|vietnam|thailand|australia|new zealand|egypt|kenya"
                "|nigeria"
                "|south africa|turkey|greece|russia|ukraine|israel|europe|asia|africa|america|berlin|munich|hamburg"
                "|vienna"
                "|zurich|zürich|geneva|paris|lyon|marseille|london|manchester|edinburgh|dublin|madrid|barcelona"
                "|lisbon|porto"
                "|rome|milan|amsterdam|rotterdam|brussels|copenhagen|stockholm|gothenburg|oslo|bergen|helsinki|warsaw"
                "|krakow"
                "|prague|budapest|athens|istanbul|moscow|kyiv|new york|boston|chicago|seattle|san francisco|los angeles"
                "|austin|denver|toronto|vancouver|montreal|tokyo|kyoto|osaka|seoul|beijing|shanghai|shenzhen|hong kong"
                "|taipei|singapore|mumbai|delhi|bangalore|sydney|melbourne|auckland|cairo|nairobi|lagos|cape town|dubai"
                "|tel aviv|buenos aires|são paulo|rio de janeiro|lima|bogotá|mexico city|california|texas|bavaria|北京"
                "|上海|深圳|广州|杭州|成都|台北|香港|中国|日本|东京|德国|美国"
            ),
        ),
        (
            ORGANISATION,
            (
                "google|microsoft|amazon|facebook|openai|anthropic|nvidia|intel|ibm|oracle|siemens|bosch|sap|tesla"
                "|netflix|spotify|airbnb|uber|stripe|salesforce|samsung|sony|toyota|bmw|volkswagen|nasa|cern|unesco|eu"
                "|united nations|european union|stanford|harvard|oxford|cambridge"
            ),
        ),
        (POLICY, "gdpr|hipaa|ccpa|dsgvo|iso 27001|soc 2|pci dss"),
    ):
        for name in names.split("|"):
            yield name, type_


KNOWN: Mapping[str, EntityType] = dict(_gazetteer())
"""Names that everybody knows, by key."""
