"""The words of a text that say what it is about, and their stems: "deliveries" and "delivered" are one word."""

import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from Stemmer import Stemmer

from bot.core.lazy_patterns import unicode_pattern
from bot.language.source.languages import ENGLISH
from bot.language.source.word_matching import folded

_FILLING: Mapping[str, str] = {
    "en": "the and for are was were you your they them their this that these those his her its our with from about into "
    "can could would will shall should may might must have has had get got let need want wants like wish know ask asks "
    "tell say says please help does did done not but how what when where which who why whether there here something "
    "anything someone some any all also just then than too very much many more one ones way thing things still yet "
    "a an i am is be been it if in on at to of or so as by do go me my we us he she no up im id ive dont didnt doesnt isnt "
    "cant wont whats wheres theres thats youre u ur r pls hi hello hey ok thanks",
    "id": "yang dan untuk dari dengan ini itu saya kamu anda mereka kami kita mau ingin bisa boleh tolong mohon apa ada "
    "tentang bagaimana kapan mana siapa tanya bertanya minta atau juga sudah belum akan di ke pada adalah apakah dimana "
    "gimana kalau jika tidak gak nggak aku gua gue dong sih ya",
    "es": "las los una unas unos con por para del que como cuando donde quien esto esta ese esa mis sus nos quiero "
    "quieren necesito puede puedo favor sobre algo preguntan preguntar saber tengo tiene hay "
    "el la lo le un de a al en y o e mi me te se su si no es son estan cual cuanto cuanta cuantos pueden podemos hola",
    "pt": "uma uns umas com por para dos das que como quando onde quem isto isso esta esse meus seus nos quero querem "
    "preciso pode posso favor sobre algo perguntam perguntar saber tenho tem "
    "o a os as um de do da em no na nos nas e ou eu me te se seu sua meu minha nao sim ha qual quanto podemos voces ola",
    "fr": "les des une avec par pour dans que qui comment quand est sont mon mes ses nos vos leur veux veulent voudrais "
    "peux peut besoin svp sur demandent demander savoir quelque chose avoir "
    "le la l un d de du a au aux en et ou je j tu il elle on nous vous c ce cet cette ma m n ne pas s se sa son y qu quel "
    "quelle quels quelles combien puis pouvons avez ai bonjour",
    "de": "der die das den dem des ein eine einen einem und mit von für wie was wann wer ist sind ich sie wir ihr mein "
    "meine ihre unser will wollen möchte möchten brauche kann können bitte über etwas fragen wissen habe haben nach "
    "es er du man in im am an auf zu zum zur bei aus als auch oder ob wenn wo wird werden nicht kein keine mir mich uns "
    "euch euer ihnen sich gibt hat war darf kann muss viel viele hallo denn noch nur so da",
    "it": "gli una con per del della dei delle che come quando dove chi questo questa mio mia suo sua voglio vogliono "
    "vorrei posso può bisogno favore qualcosa chiedono chiedere sapere sono "
    "il lo la i le un di a al alla in nel nella e o io mi ti si ci vi se non è ho ha c quanto quanti quale possiamo ciao",
    "nl": "het een van met voor die dat deze dit hoe wat wanneer waar wie zijn mijn hun onze ons wil willen graag kan "
    "kunnen nodig over iets vragen weten heb hebben naar "
    "de in op aan te of en is er ik je u we wij jullie hij zij ze me mij bij als ook niet geen mag moet veel hoeveel hallo",
    "tr": "bir bu şu için ile gibi nasıl ne zaman nerede kim mı mi istiyorum istiyor isterim lazım lütfen hakkında var "
    "ve veya de da ben biz siz sen mu mü ki çok kadar hangi miyim mıyım merhaba",
    "ru": "это эта этот как что когда где кто для про или мне нам вам они хочу хотят нужно нужна можно пожалуйста есть "
    "и в во на с со у к ко о об от до по за из не ни ли я мы вы он она бы же а но если мой моя мои у вас здравствуйте",
    "ar": "من في على الى إلى عن مع هذا هذه كيف متى اين ماذا هل اريد أريد يريدون ممكن و أو ما لا لي لنا كم عندكم هي هو",
    "hi": "यह वह के का की को से में पर और क्या कब कहाँ कैसे मुझे मैं हम चाहिए चाहता चाहते है हैं कृपया ने तो भी या आप "
    "मेरा मेरी मेरे सकता सकते सकती हूँ कितना कितने",
}
"""The words that say nothing of what a text is about."""
_COMMON: Mapping[str, str] = {
    "en": "come comes came coming go going goes take takes use using used make makes give gives given put see look find work "
    "works time times day days today tomorrow yesterday week month year long good bad new old nice big little bit lot "
    "people person place sure happen happens happened start stop keep bring try talk call next last first before after "
    "while during until every same other another back out off over again own whole each both only without really think "
    "believe hope working possible maybe anyway else away around down",
    "id": "datang pergi ambil pakai buat kasih lihat cari waktu hari besok minggu bulan tahun lama baru baik orang tempat",
    "es": "venir ir tomar usar hacer dar ver buscar tiempo dia hoy manana semana mes ano largo bueno nuevo persona lugar",
    "pt": "vir ir pegar usar fazer dar ver procurar tempo dia hoje amanha semana mes ano bom novo pessoa lugar",
    "fr": "venir aller prendre utiliser faire donner voir temps jour demain semaine mois an bon nouveau personne",
    "de": "kommen kommt gehen geht nehmen machen geben sehen finden zeit tag heute morgen woche monat jahr lange gut neu leute",
    "it": "venire andare prendere usare fare dare vedere tempo giorno oggi domani settimana mese anno buono nuovo persona",
    "nl": "komen gaan nemen gebruiken maken geven zien vinden tijd dag vandaag morgen week maand jaar lang goed nieuw mensen",
    "tr": "gelmek gitmek almak kullanmak yapmak vermek zaman gun bugun yarin hafta ay yil uzun iyi yeni kisi yer",
    "ru": "прийти идти взять делать дать время день сегодня завтра неделя месяц год долго хорошо новый человек",
    "ar": "يأتي يذهب يأخذ يستخدم وقت يوم اليوم غدا اسبوع شهر سنة جديد جيد شخص مكان",
    "hi": "आना जाना लेना करना देना समय दिन आज कल हफ्ता महीना साल अच्छा नया लोग जगह",
}
"""The words that say little of what a text is about, although they may be rare in a document."""
_STEMMERS = {
    "en": "english", "id": "indonesian", "es": "spanish", "pt": "portuguese", "fr": "french", "de": "german",
    "it": "italian", "nl": "dutch", "tr": "turkish", "ru": "russian", "ar": "arabic", "hi": "hindi",
}  # fmt: skip
_LOOKED_AT = 4000  # characters of a text, for its language
_WORD = unicode_pattern(r"[\p{L}\p{M}\p{N}]+(?:['’ʼ-][\p{L}\p{M}\p{N}]+)*")
_JOINT = unicode_pattern(r"['’ʼ]")
_UNSPACED = unicode_pattern(r"[\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}\p{Hiragana}\p{Katakana}\p{Han}]+")


def words(text: str) -> list[str]:
    """The words of a text in small letters, in their order; behind them those with a hyphen once more, as one word.

    In scripts without spaces each letter is a word, and each pair of letters. ``Wi-Fi? Don't!  -> wi fi dont wifi``
    """
    found: list[str] = []
    joined: list[str] = []
    for word in _WORD.findall(_UNSPACED.sub(lambda run: f" {' '.join(_letters(run[0]))} ", text.lower())):
        parts = _JOINT.sub("", word).split("-")
        found += parts
        if len(parts) > 1:
            joined.append("".join(parts))
    return found + joined


def _letters(run: str) -> list[str]:
    return [*run, *(run[place : place + 2] for place in range(len(run) - 1))]


def language_of(text: str) -> str:
    """The language of a text, by its most usual words; English if it has none that are known."""
    said = [folded(word) for word in words(text[:_LOOKED_AT])]
    return max(_FILLING, key=lambda language: (sum(word in filling(language) for word in said), language == ENGLISH))


@cache
def filling(language: str) -> frozenset[str]:
    """The words of a language that say nothing of what a text is about, as `folded` has them."""
    return frozenset(map(folded, _FILLING.get(language, "").split()))


@cache
def common(language: str) -> frozenset[str]:
    """The words of a language that say little of what a text is about, as `folded` has them."""
    return frozenset(map(folded, _COMMON.get(language, "").split()))


@lru_cache(maxsize=1 << 15)
def stems(word: str, language: str) -> tuple[str, ...]:
    """The stems of a word: with and without its accents, because people leave them out."""
    stem = _stemmer(language)
    if stem is None:
        return (folded(word),)
    written = unicodedata.normalize("NFC", word)
    return tuple(dict.fromkeys((folded(stem.stemWord(written)), stem.stemWord(folded(written)))))


def stems_in(word: str, languages: Iterable[str]) -> tuple[str, ...]:
    """The stems of a word in any of these languages."""
    return tuple(dict.fromkeys(stem for language in languages for stem in stems(word, language)))


@cache
def _stemmer(language: str) -> Stemmer | None:
    return Stemmer(_STEMMERS[language], 0) if language in _STEMMERS else None
