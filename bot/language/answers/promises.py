"""Words by which a text promises something, in twelve languages: "You get a refund", "The delivery is free"."""

from collections.abc import Iterator

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.credentials import AGAINST, BREAKS, phrase_pattern
from bot.language.source.word_matching import normalise

_WORDS = {
    "refund": "refund*|reimburse*|money back|cash back|pay you back|repay you|rückerstatt*|erstatt*|zurückerstatt*|geld zurück|rückzahl*|zurückzahl*|gutschrift"
    "|reembols*|devolución del dinero|devolvemos el dinero|devolveremos el dinero|rembours*|dinheiro de volta|devolvemos o dinheiro|estorn*|rimbors*"
    "|terugbetal*|geld terug|restitutie|pengembalian dana|pengembalian uang|uang kembali|dana dikembalikan|uang dikembalikan|mengembalikan uang|возврат денег|возврат средств|вернем деньги|вернём деньги|вернем вам деньги|вернём вам деньги|возмест*|возмещ*"
    "|para iade*|ücret iade*|geri ödeme*|geri ödeyec*|paranızı iade|paranız iade|استرداد*|استرجاع المبلغ|إرجاع المبلغ|نعيد المبلغ|سنعيد المبلغ|रिफंड*|रिफ़ंड*|धनवापसी|पैसे वापस|पैसा वापस",
    "guarantee": "guarantee*|warrant|warranty|warranties|i promise|we promise|promised|garantie*|garantier*|gewährleist*|versprech*|verspricht|versprochen|garantí*|garantiz*|prometo|prometemos|promesa|je promets|nous promettons|garantia*"
    "|garanto|garantimos|garantido*|garantida*|garanzia|garanzie|garantisc*|garantiam*|garantito|garantita|prometto|promettiamo|garandeer*|garanderen|gegarandeerd*|beloof|beloven|beloofd"
    "|garansi*|jaminan|menjamin|dijamin|kami janji|saya janji|гарант*|обещ*|garanti*|söz veriyor*|ضمان*|الضمان|نضمن|أضمن|مضمون*|نعدك|أعدك|गारंटी*|वारंटी*|वादा करत*|वादा है",
    "free": "free|free of charge|complimentary|no extra cost|no cost|no charge|on the house|gratis|kostenlos*|kostenfrei*|versandkostenfrei*|portofrei*|gebührenfrei*|umsonst|gratuit*|offert|offerte|offerts|offertes|sin costo|sin coste|sin cargo|gratuita*|gratuito*|sans frais|grátis|de graça|sem custo*|senza costi|senza spese"
    "|kosteloos|kosteloze|cuma cuma|tanpa biaya|bebas biaya|бесплатн*|ücretsiz*|bedava|مجان*|المجاني*|بالمجان|मुफ्त|मुफ़्त|निशुल्क|निःशुल्क|फ्री",
    "discount": "discount*|rebate*|voucher*|coupon*|price cut|reduced price|half price|off your next order|off the price|rabatt*|preisnachlass*|nachlass|gutschein*|ermäßig*|descuento*|rebaj*|cupón|cupones|remise*|réduction*|rabais|bon d'achat|desconto*|cupom|cupons"
    "|sconto|sconti|scontat*|korting*|diskon*|potongan harga|kupon*|скидк*|купон*|промокод*|indirim*|خصم*|الخصم|تخفيض*|قسيمة*|छूट|डिस्काउंट|कूपन*",
    "compensation": "compensat*|goodwill|entschädig*|kulanz*|compensaci*|compensar*|indemniz*|indemnis*|dédommag*|indeniz*|compensaç*|risarc*|indennizz*|schadevergoeding*|vergoed*|kompensasi|ganti rugi|компенс*|tazminat*|telafi*|تعويض*|मुआवज*|क्षतिपूर्ति",
}  # fmt: skip
_NO_PROMISE = (
    "feel free|free to|sugar free|gluten free|lactose free|alcohol free|smoke free|toll free|hands free|hassle free|free time|free slot|free slots|free table|free tables|free place|free places|free seat|free seats|free room|free rooms"
    "|free appointment|free appointments|free space|are you free|you are free|you re free|is free on|is free at|are free on|are free at|still free|free up|free on|free at|free from|set free|free day|free days|free hands"
    "|without warranty"
)
"""Phrases with such a word that promise nothing."""
_CALMING = (
    "no problem|no worries|no doubt|not to worry|dont worry|do not worry|dont hesitate|do not hesitate|not only|why not|kein problem|keine sorge|nicht nur|no te preocupes|no se preocupe|no hay problema|ne vous inquiétez pas|ne t inquiète pas|pas de problème|pas de souci|sans problème"
    "|não se preocupe|sem problema|sem problemas|non si preoccupi|non ti preoccupare|nessun problema|senza problemi|geen probleem|geen zorgen|maak je geen zorgen|tidak masalah|jangan khawatir|не волнуйтесь|без проблем|не беспокойтесь|merak etmeyin|sorun değil|لا تقلق|لا مشكلة|चिंता न करें|कोई बात नहीं"
)
"""Phrases whose "no" denies nothing."""
_CONDITIONS = "if|when|in case|wenn|falls|si|cuando|quand|se|quando|als|wanneer|jika|kalau|если|когда|eğer|إذا|अगर|यदि"
_SENTENCE = lazy_pattern(r"(?<=[.!?;؟؛।…])\s+|\n+|[,،:()–—]|\s-\s")


def promises_in(text: str) -> dict[str, str]:
    """The kinds of promises in a text, each with its words: ``"You get a refund."  -> {"refund": "refund"}``.

    "There is no refund" promises nothing.
    """
    found: dict[str, str] = {}
    for clause in _clauses(text):
        plain = phrase_pattern(_NO_PROMISE).sub(" ", clause)
        said = {kind: match[0] for kind, words in _WORDS.items() if (match := phrase_pattern(words).search(plain))}
        if said and not _is_denied(plain):
            found = {**said, **found}
    return found


def _clauses(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        yield from phrase_pattern(f"{BREAKS}|{_CONDITIONS}").split(normalise(sentence))


def _is_denied(clause: str) -> bool:
    """True if a clause has a word against it, apart from those of the promise itself: "at no cost"."""
    for words in (*_WORDS.values(), _CALMING):
        clause = phrase_pattern(words).sub(" ", clause)
    return any(phrase_pattern(against).search(clause) for against in AGAINST.values())
