"""The topics by which a flow can start (`start: {topics: [complaint, question]}`): kinds of messages that are known
without a model, because people say them with the same words in every trade.

The words of a language stand on one line each. All languages are heard in every bot.
"""

from functools import cache

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.stems import filling
from bot.language.source.languages import ENGLISH
from bot.language.source.word_matching import normalise, singular

TOPICS = CRISIS, COMPLAINT, EXISTING, PRICE, PLACE, PERSON, QUESTION = (
    "crisis", "complaint", "existing", "price", "place", "person", "question"
)  # fmt: skip
"""The topics by their names, in the order in which they are heard: a cry for help comes before all else."""

_WORDS = {
    CRISIS: {
        "en": "want to die|wanna die|wish i was dead|wish i were dead|better off dead|rather be dead|dont want to live|dont wanna live|dont want to be here"
        "|dont want to be alive|dont want to wake up|no reason to live|reason to live|nothing to live for|no point in living|no point in going on|no point anymore|life is not worth"
        "|isnt worth living|life is pointless|everything is pointless|no way out|cant go on|cannot go on|cant do this any more|cant do this anymore|cant take it any more"
        "|cant take it anymore|cant live like this|tired of living|tired of life|sick of living|done with life|end it all|end it tonight|to end it|ending it|ending things|end things|end my life|ending my life|take my life|taking my life|take my own life"
        "|kill myself|kill my self|killing myself|kms|suicide|suicidal|unalive|hurt myself|hurting myself|wont stop bleeding|cut herself|cut himself|not breathing|isnt breathing|cant breathe|unconscious|passed out|heart attack|harm myself|harming myself|self harm|cut myself"
        "|cutting myself|cutting again|took too many|took pills|took all my|overdose|overdosed|the pills|all my pills|my pills|sleeping pills|pack of pills|a lot of pills|lots of pills|so many pills|too many pills|handful of pills|bottle of pills|jump off|jumping|jump from|hang myself|shoot myself|a gun to|better off without me|would miss me|will miss me"
        "|goodbye forever|say goodbye to everyone|final goodbye|no hope left|hopeless|in danger|hits me|hit me|beats me|beat me|beating me|hurt me|hurts me|hurting me|punched me|punches me|kicked me|choked me|slapped me"
        "|strangled me|threatens me|threatened me|threatening to kill|going to kill me|wants to kill me|raped|abused|abusing me|assaulted|touched me|locked me|afraid for my life|not safe at home|dont feel safe",
        "id": "bunuh diri|mau mati|ingin mati|pengen mati|lebih baik mati|tidak mau hidup|gak mau hidup|nggak mau hidup|tidak ingin hidup|capek hidup|lelah hidup|mengakhiri hidup"
        "|akhiri hidup|menyakiti diri|melukai diri|tidak ada harapan|dipukul|memukul saya|memukuli|diperkosa|dilecehkan|dalam bahaya|dia mau membunuh|overdosis",
        "es": "suicidio|suicidarme|matarme|quiero morir|quiero morirme|no quiero vivir|no quiero seguir viviendo|sin ganas de vivir|quitarme la vida|acabar con todo|acabar con mi vida"
        "|hacerme daño|cortarme|no puedo más|no tiene sentido vivir|me pega|me golpea|me golpeó|me violó|me quiere matar|estoy en peligro|sobredosis",
        "pt": "suicídio|me matar|quero morrer|não quero viver|não quero mais viver|tirar a minha vida|tirar minha vida|acabar com tudo|acabar com a minha vida|me machucar|me cortar|não aguento mais"
        "|ele me bate|ela me bate|me agrediu|fui violentada|fui estuprada|estou em perigo|overdose",
        "fr": "suicide|suicider|suicidaire|me tuer|envie de mourir|veux mourir|veux plus vivre|ne veux plus vivre|en finir|mettre fin à mes jours|me faire du mal|me couper|je n'en peux plus|il me frappe"
        "|elle me frappe|m'a frappée|m'a violée|en danger|overdose",
        "de": "suizid|selbstmord|umbringen|will sterben|nicht mehr leben|nicht leben will|mein leben beenden|schluss machen mit dem leben|mir etwas antun|mich verletzen|ritze mich|mich ritzen|kann nicht mehr"
        "|schlägt mich|verprügelt mich|vergewaltigt|bedroht mich|in gefahr|überdosis",
        "it": "suicidio|suicidarmi|uccidermi|ammazzarmi|voglio morire|non voglio vivere|non voglio più vivere|farla finita|togliermi la vita|farmi del male|tagliarmi|non ce la faccio più|mi picchia|mi ha picchiata"
        "|mi ha violentata|in pericolo|overdose",
        "nl": "zelfmoord|suïcide|wil dood|wil sterben|wil sterven|niet meer leven|een einde maken|mezelf pijn|mezelf snijden|kan niet meer|hij slaat me|zij slaat me|slaat mij|verkracht|in gevaar|overdosis",
        "tr": "intihar|ölmek istiyorum|yaşamak istemiyorum|kendimi öldür|kendime zarar|hayatıma son|dayanamıyorum|beni dövüyor|bana vuruyor|tecavüz|tehlikedeyim",
        "ru": "самоубийство|суицид|покончить с собой|хочу умереть|не хочу жить|убить себя|убью себя|порезать себя|режу себя|нет смысла жить|больше не могу|он меня бьет|она меня бьет|меня изнасиловали|в опасности|передозировка",
        "ar": "انتحار|الانتحار|انتحر|اريد ان اموت|أريد أن أموت|لا اريد ان اعيش|أقتل نفسي|اقتل نفسي|اؤذي نفسي|يضربني|تضربني|اغتصبني|في خطر",
        "hi": "आत्महत्या|खुदकुशी|मरना चाहता|मरना चाहती|जीना नहीं चाहता|जीना नहीं चाहती|खुद को मार|मुझे मारता|मुझे पीटता|खतरे में हूँ",
    },
    COMPLAINT: {
        "en": "complain|complaint|complaining|refund|refunded|money back|compensation|charged twice|overcharged|double charged|charged me|wrong order|wrong item|wrong size|wrong one|order is wrong|order was wrong|was wrong"
        "|is wrong|isnt what i|not what i ordered|wasnt what i|was cold|was lukewarm|lukewarm|melted|was stale|too salty|too sweet|too dry|is cold|were cold|was dry|was stale|stale|was burnt|burnt|undercooked|was raw|was soggy|was rude|were rude|so rude|very rude|rude to"
        "|was dirty|dirty|filthy|was broken|arrived broken|came broken|is damaged|was damaged|arrived damaged|defective|doesnt work anymore|stopped working|mouldy|moldy|rotten|gone off|expired|tasted|smells|smelled|smelt|a hair in|hair in|a fly in|food poisoning"
        "|made me sick|got sick|made us sick|terrible|horrible|awful|disgusting|disgusted|worst|appalling|unacceptable|ridiculous|joke of|disappointed|disappointing|let down|not happy|unhappy|not satisfied|dissatisfied|poor service|bad service"
        "|bad experience|never arrived|never came|didnt arrive|hasnt arrived|havent received|never received|not received|is missing|was missing|are missing|something missing|you forgot|forgot to|nobody came|no one came|nobody answered|no one answered"
        "|waited|been waiting|not ok|not okay|not acceptable|not good enough|dropped|spilled|spilt|ruined|squashed|smashed|crushed|fell apart|late again|so late|too late|waiting for an hour|still waiting|scam|rip off|ripped off|furious|angry|fed up|never again|wont be back",
        "id": "komplain|keluhan|mengeluh|pengaduan|kecewa|mengecewakan|uang kembali|pengembalian dana|kembalikan uang|salah pesanan|pesanan salah|salah kirim|rusak|basi|busuk|berjamur|kotor|kasar|tidak sopan|parah|jelek sekali|mengerikan"
        "|belum datang|belum sampai|tidak sampai|tidak datang|kurang|lama sekali|penipuan|tidak puas",
        "es": "queja|quejarme|reclamo|reclamación|reclamar|reembolso|devolución|devuelvan|mi dinero|pedido equivocado|equivocado|estaba frío|estaba fría|estaba seco|estaba mal|roto|rota|dañado|podrido|podrida|sucio|sucia|grosero|grosera|maleducado"
        "|horrible|terrible|asqueroso|pésimo|pésima|fatal|decepcionado|decepcionada|no llegó|no ha llegado|nunca llegó|faltaba|falta un|estafa|inaceptable|muy mal",
        "pt": "reclamação|reclamar|reembolso|devolução|meu dinheiro|dinheiro de volta|pedido errado|veio errado|errado|estava frio|estava fria|estava seco|quebrado|danificado|podre|mofado|sujo|suja|grosseiro|mal educado|horrível|terrível|nojento"
        "|péssimo|péssima|decepcionado|decepcionada|não chegou|nunca chegou|faltou|faltava|golpe|inaceitável",
        "fr": "réclamation|plainte|me plaindre|remboursement|rembourser|mon argent|mauvaise commande|erreur dans ma commande|était froid|était froide|était sec|cassé|abîmé|pourri|moisi|sale|impoli|désagréable|horrible|terrible|dégoûtant|nul|déçu|déçue"
        "|pas arrivé|jamais arrivé|pas reçu|jamais reçu|il manque|manquait|arnaque|inadmissible|inacceptable",
        "de": "beschwerde|beschweren|reklamation|reklamieren|erstattung|geld zurück|rückerstattung|falsche bestellung|falsch geliefert|war falsch|war kalt|war trocken|war kaputt|kaputt|beschädigt|verdorben|schimmel|verschimmelt|schmutzig|dreckig"
        "|unfreundlich|unhöflich|schrecklich|furchtbar|ekelhaft|widerlich|enttäuscht|unzufrieden|nicht angekommen|nie angekommen|nicht erhalten|fehlt|fehlte|betrug|unverschämt|frechheit",
        "it": "reclamo|lamentela|lamentarmi|rimborso|soldi indietro|ordine sbagliato|sbagliato|era freddo|era fredda|era secco|era secca|rotto|rotta|danneggiato|marcio|ammuffito|sporco|sporca|maleducato|maleducata|orribile|terribile|schifoso|pessimo"
        "|pessima|deluso|delusa|non è arrivato|mai arrivato|non ho ricevuto|manca|mancava|truffa|inaccettabile",
        "nl": "klacht|klagen|terugbetaling|geld terug|verkeerde bestelling|verkeerd|was koud|was droog|kapot|beschadigd|rot|beschimmeld|schimmel|vies|onbeleefd|onvriendelijk|vreselijk|verschrikkelijk|walgelijk|teleurgesteld|ontevreden"
        "|niet aangekomen|nooit aangekomen|niet ontvangen|ontbreekt|oplichting|onacceptabel|waardeloos",
        "tr": "şikayet|şikayetim|iade|para iadesi|paramı geri|yanlış sipariş|yanlış geldi|soğuktu|kuruydu|kırık|hasarlı|bozuk|çürük|küflü|kirli|kaba|berbat|korkunç|iğrenç|rezalet|hayal kırıklığı|memnun değilim|gelmedi|ulaşmadı|eksik|dolandırıcı",
        "ru": "жалоба|жалобу|пожаловаться|возврат|верните деньги|деньги назад|не тот заказ|неправильный заказ|было холодным|был холодный|сломан|сломано|сломался|поврежден|испорчен|плесень|грязно|грязный|хамство|нахамили|грубо|ужасно|ужасный|отвратительно"
        "|разочарован|разочарована|недоволен|недовольна|не пришло|не пришел|не привезли|не получил|не получила|не хватает|обман|мошенники",
        "ar": "شكوى|اشتكي|استرداد|استرجاع|فلوسي|طلب خاطئ|الطلب خطأ|بارد|مكسور|تالف|فاسد|متعفن|وسخ|قذر|وقح|سيء|سيئ|سيئة|فظيع|مقرف|محبط|لم يصل|ما وصل|لم استلم|ناقص|احتيال",
        "hi": "शिकायत|रिफंड|पैसे वापस|पैसा वापस|गलत ऑर्डर|ठंडा था|सूखा था|टूटा|खराब|सड़ा|गंदा|बदतमीज|बहुत बुरा|घटिया|निराश|नहीं आया|नहीं पहुंचा|नहीं मिला|धोखा",
    },
    EXISTING: {
        "en": "cancel my|cancel our|cancel the|cancel an|cancel a|cancel it|to cancel|cancel for|cancelled my|reschedule|postpone|move my|move our|move the|move it|change my|change our|change the|change it to|change an|amend my|update my"
        "|push back my|bring forward my|bring my|cant make it|cannot make it|wont make it|cant come|cannot come|not able to come|unable to come|running late|min late|mins late|minutes late|running behind|i applied|we applied|ive applied|be late for|is my|is our|are my|was my|has my|did my|where is my|wheres my|where are my"
        "|when will my|when does my|when is my|when will it|whens my|status of|track my|ready yet|my booking|my reservation|my order number|my order is|my order has|about my|regarding my|about an order|i ordered|we ordered|ive ordered|i booked|we booked|ive booked|i have booked"
        "|i have an appointment|i have a reservation|i have a booking|we have a reservation|i paid|ive paid|my receipt|a receipt for|an invoice for|invoice for my|my invoice|left my|left a|lost my|forgot my|i forgot|i left|you still have|you have my|return an|return my|return it|return this|exchange it|exchange my|exchange this|send it back",
        "id": "batalkan|membatalkan|batal pesan|pembatalan|jadwal ulang|ubah jadwal|ganti jadwal|pindah jadwal|ubah pesanan|ganti pesanan|tidak bisa datang|nggak bisa datang|gak bisa datang|pesanan saya|reservasi saya|janji saya|sudah pesan|sudah bayar|ketinggalan|tertinggal|kehilangan",
        "es": "cancelar mi|cancelar la|cancelar el|cancelar una|cancelar|anular|cambiar mi|cambiar la|cambiar el|mover mi|aplazar|reprogramar|no puedo ir|no podemos ir|no puedo venir|mi pedido|mi reserva|mi cita|ya pagué|he pagado|pedí ayer|olvidé mi|dejé mi|perdí mi|me dejé",
        "pt": "cancelar minha|cancelar meu|cancelar a|cancelar o|cancelar|desmarcar|remarcar|adiar|mudar meu|mudar minha|alterar meu|alterar minha|não posso ir|não vou poder|meu pedido|minha reserva|minha consulta|já paguei|esqueci meu|esqueci minha|deixei meu|deixei minha|perdi meu",
        "fr": "annuler|annulation|déplacer mon|déplacer ma|reporter|décaler|modifier ma|modifier mon|changer ma|changer mon|peux pas venir|ne pourrai pas|ma commande|ma réservation|mon rendez-vous|mon rdv|j'ai payé|j'ai commandé|j'ai oublié mon|j'ai oublié ma|j'ai perdu",
        "de": "stornieren|storno|absagen|abbestellen|termin verschieben|verschieben|umbuchen|bestellung ändern|termin ändern|kann nicht kommen|schaffe es nicht|meine bestellung|meine reservierung|meine buchung|mein termin|meinen termin|habe bestellt|habe gebucht|schon bezahlt"
        "|liegen lassen|vergessen meine|meine jacke|verloren",
        "it": "annullare|cancellare|disdire|spostare il|spostare la|spostare|rimandare|modificare il|modificare la|non posso venire|non riesco a venire|il mio ordine|la mia prenotazione|il mio appuntamento|ho pagato|ho ordinato|ho prenotato|ho dimenticato|ho lasciato|ho perso",
        "nl": "annuleren|afzeggen|verzetten|verplaatsen|wijzigen|kan niet komen|red het niet|mijn bestelling|mijn reservering|mijn afspraak|heb besteld|heb geboekt|al betaald|vergeten mee|laten liggen|verloren",
        "tr": "iptal|ertelemek|ertele|değiştirmek istiyorum|gelemiyorum|gelemeyeceğim|siparişim|rezervasyonum|randevum|ödedim|unuttum|kaybettim",
        "ru": "отменить|отмена заказа|перенести|перезаписать|изменить заказ|не смогу прийти|не сможем прийти|мой заказ|моя бронь|мою бронь|моя запись|мою запись|я заказал|я заказала|я оплатил|я оплатила|забыл|забыла|потерял|потеряла",
        "ar": "الغاء|إلغاء|الغي|تأجيل|تغيير موعد|تغيير الموعد|لا استطيع الحضور|ما اقدر اجي|طلبي|حجزي|موعدي|دفعت|نسيت|فقدت",
        "hi": "रद्द|कैंसिल|बदलना है|समय बदल|नहीं आ पाऊंगा|नहीं आ सकता|मेरा ऑर्डर|मेरी बुकिंग|मेरा अपॉइंटमेंट|भुगतान कर दिया|भूल गया|भूल गई|खो गया",
    },
    PRICE: {
        "en": "how much is|how much are|how much for|how much does|how much do|how much would|how much will|how much it|how much|price|prices|pricing|price list|cost|costs|whats the damage|what do you charge|how do you charge|do you charge|your charges|your fees|a quote|rates",
        "id": "berapa harga|harga|harganya|berapa harganya|berapa biaya|biaya|biayanya|tarif|berapaan|ongkos", "es": "cuánto cuesta|cuánto cuestan|cuánto vale|cuánto valen|cuánto es|cuánto sale|precio|precios|tarifa|tarifas|presupuesto",
        "pt": "quanto custa|quanto custam|quanto é|quanto fica|quanto sai|preço|preços|valor|valores|tabela de preços|orçamento", "fr": "combien coûte|combien coûtent|combien ça coûte|c'est combien|prix|tarif|tarifs|un devis",
        "de": "was kostet|was kosten|wie viel kostet|wieviel kostet|wie teuer|preis|preise|preisliste|kosten|kostenvoranschlag", "it": "quanto costa|quanto costano|quanto viene|quant'è|prezzo|prezzi|tariffa|tariffe|preventivo|listino",
        "nl": "wat kost|wat kosten|hoeveel kost|hoe duur|prijs|prijzen|prijslijst|tarief|tarieven|offerte", "tr": "ne kadar|kaç para|kaç lira|fiyat|fiyatı|fiyatlar|ücret|ücreti",
        "ru": "сколько стоит|сколько стоят|цена|цены|прайс|стоимость|почем|тариф", "ar": "كم سعر|كم السعر|بكم|السعر|سعر|الاسعار|الأسعار|كم تكلفة|التكلفة", "hi": "कितने का|कितने की|कितना खर्च|कीमत|दाम|रेट|शुल्क",
    },
    PLACE: {
        "en": "where are you|where are u|where r u|where you at|where u at|where is your place|wheres your place|where is your shop|wheres your shop|where is the shop|wheres the shop|where is your store|wheres your store|where is your office|wheres your office|where is the place|wheres the place"
        "|your address|ur address|whats the address|what is the address|located|your location|ur location|the location|directions to|directions|get to you|how to get there|how to find you|how do i get there|how do we get there|how can i get there|how do i find you|how can i find you|where do i find you|where can i find you|cant find you|cannot find you|which street are you",
        "id": "alamatnya|alamat toko|alamat kalian|lokasinya|lokasi toko|di mana lokasi|dimana lokasi|di mana alamat|dimana alamat|di mana tokonya|dimana tokonya", "es": "dónde están|dónde estáis|dónde queda|dónde quedan|su dirección|vuestra dirección|cuál es la dirección|cómo llego|ubicación",
        "pt": "onde ficam|onde fica a loja|onde vocês ficam|onde vocês estão|seu endereço|qual é o endereço|qual o endereço|localização|como chego", "fr": "où êtes-vous|où se trouve|où vous trouvez|votre adresse|quelle est l'adresse|comment venir chez vous",
        "de": "wo seid ihr|wo sind sie|wo finde ich euch|wo finde ich sie|eure adresse|ihre adresse|wie komme ich zu euch|wie komme ich zu ihnen|wie ist die adresse", "it": "dove siete|dove vi trovate|dove vi trovo|il vostro indirizzo|qual è l'indirizzo|come arrivo",
        "nl": "waar zijn jullie|waar zitten jullie|waar bent u|jullie adres|wat is het adres|hoe kom ik bij jullie", "tr": "neredesiniz|adresiniz|konumunuz|yeriniz nerede|nasıl gelirim", "ru": "где вы|где находитесь|ваш адрес|какой адрес|как добраться|как к вам доехать",
        "ar": "اين انتم|أين أنتم|وين مكانكم|اين موقعكم|عنوانكم|موقعكم", "hi": "आप कहाँ हैं|आप कहां हैं|आपका पता|दुकान कहाँ|दुकान कहां",
    },
    PERSON: {
        "en": "human being|anyone there|anybody there|anyone i can|real person|real human|speak to|speak with|talk to|talk with|chat with|call me|a call|ring me|phone me|call you|phone number|can i call|contact you|get in touch|customer service|customer care",
        "id": "cs|customer service|bicara dengan|ngobrol dengan|telepon saya|telpon saya|hubungi saya|nomor telepon",
        "es": "hablar con|llámame|llámenme|llamarme|teléfono",
        "pt": "atendimento|falar com|me liga|me ligue|telefone",
        "fr": "parler à|parler avec|appelez-moi|rappelez-moi|téléphone",
        "de": "sprechen mit|rufen sie mich|ruf mich|anrufen|telefonnummer",
        "it": "parlare con|chiamami|chiamatemi|telefono",
        "nl": "spreken met|praten met|bel me|bel mij|terugbellen|telefoonnummer",
        "tr": "müşteri hizmetleri|görüşmek istiyorum|beni arayın|telefon numarası",
        "ru": "поговорить с|позвоните|перезвоните|номер телефона",
        "ar": "خدمة العملاء|اتكلم مع|التحدث مع|اتصل بي|اتصلوا بي|رقم الهاتف",
        "hi": "बात करनी है|बात करना है|मुझे कॉल|फोन नंबर",
    },
}  # fmt: skip
"""The phrases of each topic but `question`: a message has one of them in it."""

_PEOPLE = {
    "en": "person|human|someone|somebody|agent|operator|representative|receptionist|staff|a colleague|your colleague|team member|manager|the owner|your boss",
    "id": "orang|manusia|petugas|admin|staf|karyawan|operator",
    "es": "persona|humano|humana|alguien|agente|operador|operadora|encargado|encargada",
    "pt": "pessoa|humano|humana|alguém|atendente|gerente",
    "fr": "personne|humain|quelqu'un|conseiller|conseillère|responsable",
    "de": "mensch|menschen|person|jemand|jemandem|jemanden|mitarbeiter|mitarbeiterin|chef",
    "it": "persona|umano|qualcuno|operatore|operatrice|responsabile",
    "nl": "persoon|mens|iemand|medewerker|collega",
    "tr": "insan|birisi|biriyle|yetkili|temsilci",
    "ru": "человек|человеком|оператор|оператора|оператором|кто-нибудь|менеджер|менеджера|сотрудник",
    "ar": "شخص|انسان|إنسان|موظف|احد|أحد",
    "hi": "इंसान|व्यक्ति|किसी से|कर्मचारी|मैनेजर",
}  # fmt: skip
"""Words for a person, heard where a message asks for contact or ends with one: not in "the staff was lovely"."""
_CONTACT = {
    "en": "speak|talk|chat|reach|connect|contact|call|phone|ring|reply|answer|respond|transfer|help",
    "id": "bicara|ngobrol|telepon|telpon|hubungi|bantu|jawab|balas",
    "es": "habl|contact|llam|ayud|atiend|respond|conteste",
    "pt": "fal|contat|contact|lig|ajud|atend|respond",
    "fr": "parl|contact|appel|rappel|aide|répond|joindre",
    "de": "sprech|sprich|red|ruf|anruf|erreich|antwort|hilf|helf|da|meld",
    "it": "parl|contatt|chiam|aiut|rispond",
    "nl": "spreken|praten|bel|help|bereik|antwoord",
    "tr": "konuş|görüş|ara|yardım|bağla|cevap",
    "ru": "поговор|говор|связ|звон|помо|ответ|соедин",
    "ar": "اتكلم|اتحدث|التحدث|كلم|يساعد|مساعدة|يرد|اتصل",
    "hi": "बात|कॉल|मदद|जवाब",
}  # fmt: skip
"""Beginnings of words that ask for contact."""
_NOT_CALLED = frozenset({
    "for", "per", "as", "pour", "comme", "para", "por", "como", "für", "als", "untuk", "sebagai", "voor", "için", "olarak", "для", "come",
})  # fmt: skip
"""Words before people who are counted or meant as a job: "a cake for one person", "work as a receptionist"."""

EXAMPLES = {
    CRISIS: "I want to die",
    COMPLAINT: "I have a complaint",
    EXISTING: "Where is my order?",
    PRICE: "How much is it?",
    PLACE: "Where are you?",
    PERSON: "Can I talk to somebody?",
    QUESTION: "May I ask something?",
}
"""A message of each topic, for those who try a bot."""
_ASKS = lazy_pattern("[?？؟]")
_BEGINS = {
    "en": "do you|do u|do i|do we|does|are you|are u|is your|is anyone|is anybody|should i|should we|will it|will there|did you|can i|can we|can you|can u|could i|could we|could you|can someone|can somebody|could someone|could somebody|will someone|will somebody|is someone|is somebody|may i|is there|is it|is the|is that|is this|are there|are the|are you|are your|r u|will you|would you|have you|have u|what|whats|when|whens|where|wheres|which|who|whos|why|how"
    "|i have a question|i got a question|ive got a question|quick question|question|i was wondering|i wonder|wondering|just wondering|wanted to ask|i wanted to know|want to know|id like to know|tell me|any chance|any idea|u got|you got|got any|anything",
    "id": "apa|apakah|berapa|kapan|dimana|di mana|bagaimana|gimana|siapa|kenapa|mengapa|bisakah|bisa|boleh|ada|mau tanya|saya mau tanya|numpang tanya|tanya",
    "es": "qué|cuál|cuánto|cuánta|cuántos|cuándo|cómo|dónde|quién|por qué|tienen|tienes|hay|puedo|pueden|puedes|se puede|aceptan|una pregunta|tengo una pregunta|quería saber|quisiera saber",
    "pt": "o que|qual|quanto|quanta|quantos|quando|como|onde|quem|por que|tem|têm|há|posso|podem|pode|aceitam|uma pergunta|queria saber|gostaria de saber",
    "fr": "que|quel|quelle|combien|quand|comment|où|qui|pourquoi|est-ce|avez-vous|vous avez|puis-je|peut-on|pouvez-vous|acceptez-vous|y a-t-il|il y a|une question|j'ai une question|je voudrais savoir",
    "de": "was|welche|welcher|welches|wie|wann|wo|wer|warum|wieso|habt ihr|haben sie|gibt es|kann ich|kann man|können wir|könnt ihr|können sie|ist das|sind sie|seid ihr|eine frage|ich habe eine frage|ich wollte fragen|ich möchte wissen",
    "it": "che|quale|quanto|quanta|quanti|quando|come|dove|chi|perché|avete|c'è|ci sono|posso|possiamo|potete|si può|accettate|una domanda|ho una domanda|vorrei sapere",
    "nl": "wat|welke|hoe|wanneer|waar|wie|waarom|hebben jullie|heeft u|hebt u|is er|zijn er|kan ik|kunnen we|kunnen jullie|kunt u|mag ik|een vraag|ik heb een vraag|ik wilde vragen",
    "tr": "ne|hangi|nasıl|ne zaman|nerede|kim|neden|kaç|var mı|bir soru|bir sorum var|merak ediyorum",
    "ru": "что|какой|какая|какие|сколько|когда|как|где|кто|почему|есть ли|у вас есть|можно ли|можно|вопрос|у меня вопрос|хотел спросить|хотела спросить|подскажите",
    "ar": "ما|ماذا|كم|متى|كيف|اين|أين|من|لماذا|هل|عندكم|ممكن|سؤال|عندي سؤال",
    "hi": "क्या|कौन|कितना|कितने|कब|कैसे|कहाँ|कहां|क्यों|एक सवाल|मुझे पूछना",
}  # fmt: skip
"""How questions begin, after a greeting, which are often written without a question mark."""
_REQUESTS = {
    "en": "can i get|can i have|can i book|can i order|can i make|can i reserve|could i get|could i have|could i book|could i order|could i make|could i reserve|may i have|may i book|may i order"
    "|can we get|can we have|can we book|can we order|can we reserve|could we get|could we have|could we book|could we order|could we reserve|can you book|could you book|can you make|could you make|can we do|could we do|can we make|can we change|can i change|could i change|any chance of",
    "id": "bisa pesan|boleh pesan|bisa booking|boleh minta", "es": "puedo pedir|puedo reservar|podría pedir|podría reservar|me pone|me pones", "pt": "posso pedir|posso reservar|posso marcar|pode me ver",
    "fr": "puis-je avoir|puis-je réserver|puis-je commander|pourrais-je avoir|je peux avoir|je peux réserver", "de": "kann ich bitte|könnte ich|kann ich bestellen|kann ich reservieren|bekomme ich|könnten wir",
    "it": "posso avere|posso prenotare|posso ordinare|potrei avere", "nl": "mag ik|kan ik bestellen|kan ik reserveren", "tr": "alabilir miyim|alabilir miyiz", "ru": "можно заказать|можно записаться|можно забронировать|можно мне",
    "ar": "ممكن احجز|ممكن اطلب", "hi": "क्या मुझे मिल",
}  # fmt: skip
"""How people order in the form of a question."""
_OPT_OUT = {
    "en": "stop sending|stop messaging|stop texting|stop writing|stop contacting|stop spamming|stop these|stop bothering|unsubscribe me|unsubscribe please|please unsubscribe|want to unsubscribe|remove me|remove my number|delete my number"
    "|dont send me these|dont send me any|dont send me anything|dont send me messages|dont send me texts|dont send me surveys|dont send me reminders|dont send any more|dont send anything more|do not send me these|do not send me any|do not send me anything|do not send any more|do not contact me|do not message me|do not text me|do not write to me|never contact me|never message me|quit sending|quit messaging|quit texting|dont want to receive|do not want to receive|dont want these messages|no longer want to receive"
    "|take me off|opt out|opt me out|dont message me|dont text me|dont write to me|dont contact me|no more messages|no more texts|no more polls|no more reminders|no more surveys|no more notifications|leave me alone",
    "id": "berhenti kirim|berhenti mengirim|stop kirim|jangan kirim lagi|jangan kirim pesan|jangan ganggu|hapus nomor saya|berhenti berlangganan|jangan kirimi saya|tidak mau menerima|tidak ingin menerima",
    "es": "dejen de escribir|deja de escribir|dejen de enviar|no me escriban|no me escribas|no más mensajes|darme de baja|quiero la baja|borren mi número|no me envíen más|no me envíes más|no me manden más|no me mandes más|no quiero recibir más|no quiero más mensajes|dejen de mandar|dejen de enviarme|dejen de mandarme|dejen de escribirme",
    "pt": "parem de enviar|pare de enviar|para de mandar|parem de mandar|não me escreva|não me mande|sem mais mensagens|cancelar inscrição|remova meu número|tire meu número|não me mandem|não me enviem|não me envie mais|não quero receber mais|não quero mais receber",
    "fr": "arrêtez d'envoyer|arrêtez de m'écrire|ne m'écrivez plus|plus de messages|me désabonner|me désinscrire|supprimez mon numéro|ne m'envoyez plus|n'envoyez plus|ne plus recevoir|veux plus recevoir|arrêtez de m'envoyer",
    "de": "keine nachrichten mehr|keine weiteren nachrichten|nicht mehr schreiben|schreibt mir nicht|hört auf zu schreiben|hören sie auf|bitte abmelden|mich abmelden|meine nummer löschen|keine umfragen mehr|keine erinnerungen mehr|keine werbung mehr|nichts mehr schicken|nichts mehr senden|nicht mehr anschreiben|mir bitte nichts mehr|mir nichts mehr|uns nichts mehr",
    "it": "smettete di scrivere|smettila di scrivere|non scrivetemi|non scrivetemi più|niente più messaggi|basta messaggi|voglio disiscrivermi|cancellate il mio numero|non mandatemi più|non inviatemi più|non mandarmi più|non inviarmi più|voglio più ricevere|smettete di mandarmi|smettete di inviarmi",
    "nl": "stop met sturen|stop met berichten|geen berichten meer|niet meer sturen|meld me af|wil me afmelden|verwijder mijn nummer|me niets meer|mij niets meer|geen enquêtes meer|geen herinneringen meer|niets meer ontvangen",
    "tr": "mesaj göndermeyin|mesaj atmayın|artık yazmayın|listeden çıkar|numaramı silin|artık göndermeyin|bir daha göndermeyin|mesaj almak istemiyorum", "ru": "не пишите мне|больше не пишите|хватит писать|отписаться от рассылки|удалите мой номер|больше не присылайте|не присылайте мне|больше не отправляйте|не хочу получать|перестаньте присылать",
    "ar": "توقف عن الارسال|لا ترسلوا|لا ترسل لي|الغاء الاشتراك|احذف رقمي|توقفوا عن الارسال|لا اريد رسائل", "hi": "मैसेज मत भेजो|संदेश मत भेजें|मुझे हटा दो|मेरा नंबर हटा|मैसेज मत भेजिए|मैसेज न भेजें|संदेश न भेजें",
}  # fmt: skip
"""Phrases that say the same as the words of `opt_out`."""
_DEGREES = {
    "en": "very|really|so|too|quite|rather|pretty|totally|completely|absolutely|extremely|incredibly|still|just|ice|stone|freezing", "id": "sangat|sekali|banget|agak",
    "es": "muy|bastante|tan|demasiado|totalmente", "pt": "muito|bem|tão|bastante|totalmente", "fr": "très|trop|vraiment|tout|complètement",
    "de": "sehr|ganz|wirklich|ziemlich|total|völlig|so|zu|etwas", "it": "molto|troppo|davvero|proprio", "nl": "heel|erg|zo|te|echt|helemaal", "tr": "çok|oldukça|biraz",
    "ru": "очень|слишком|совсем|совершенно|такой", "ar": "جدا|كثيرا", "hi": "बहुत|काफी|थोड़ा",
}  # fmt: skip
"""Words that say how much something is so."""
_MOST_TO_OPT_OUT = 8  # words
_FEWEST = 2  # words of a question: "what?" says nothing
_CLAUSE = lazy_pattern(r"[.,;:!\n،؛।]+|\b(?:and|but)\b")
_MOST_OF_BEGINNING = 4  # words
_LEADS_IN = 5  # words before the beginning of a question: "hi there, quick one: do you ..."


@cache
def _topics() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The topics of each phrase, by its words, in the order of `TOPICS`."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for topic in TOPICS:
        for line in _WORDS.get(topic, {}).values():
            for phrase in line.split("|"):
                words = _words(phrase)
                found[words] = (*found.get(words, ()), topic)
    return found | {words: (*found.get(words, ()), PERSON) for words in _people()}


@cache
def _people() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The languages of each word for a person."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for language, line in _PEOPLE.items():
        for words in map(_words, line.split("|")):
            found[words] = (*found.get(words, ()), language)
    return found


@cache
def _contact(language: str) -> tuple[str, ...]:
    return tuple(map(normalise, _CONTACT[language].split("|")))


def _is_called(words: tuple[str, ...], end: int, languages: tuple[str, ...]) -> bool:
    """True if a person is asked for whose word ends there: "someone there?", "I want a human please"."""
    before, behind = words[max(end - 3, 0) : end], words[end:]
    if not any(word in _NOT_CALLED or word.isdecimal() for word in before):
        fillers = frozenset[str]().union(*map(filling, (ENGLISH, *languages)))
        if fillers.issuperset(behind):
            return True
    return any(word.startswith(_contact(language)) for language in languages for word in words)


@cache
def _beginnings() -> frozenset[tuple[str, ...]]:
    return frozenset(_words(phrase) for line in _BEGINS.values() for phrase in line.split("|"))


@cache
def _degrees() -> frozenset[str]:
    return frozenset(word for line in _DEGREES.values() for (word,) in map(_words, line.split("|")))


@cache
def _longest() -> int:
    return max(map(len, (*_topics(), *_beginnings())))


def _words(text: str) -> tuple[str, ...]:
    return tuple(normalise(text).split())


def topics_in(text: str) -> dict[str, str]:
    """The topics of a message but for `question`, each with its longest phrase. Words that only say how much may stand
    within it: "was really cold".
    """
    words, found = _words(text), dict[str, str]()
    places = [place for place, word in enumerate(words) if word not in _degrees()]
    for kept in (range(len(words)), places) if len(places) < len(words) else (places,):
        for length in range(min(_longest(), len(kept)), 0, -1):
            for first in range(len(kept) - length + 1):
                piece = tuple(words[place] for place in kept[first : first + length])
                known = piece if piece in _topics() else (*piece[:-1], singular(piece[-1]))
                end = kept[first + length - 1] + 1
                is_called = known not in _people() or _is_called(words, end, _people()[known])
                for topic in _topics().get(known, ()) if is_called else ():
                    found.setdefault(topic, " ".join(words[kept[first] : end]))
    return found


def is_request(text: str) -> bool:
    """True if a message asks for something as people order: "can I get a tea?" asks nothing."""
    words = _words(text)
    pieces = (words[first : first + length] for first in range(len(words)) for length in (1, 2, 3))
    return any(piece in _requests() for piece in pieces) or asks_if_free(text)


def asks_if_free(text: str) -> bool:
    """True for the wish for a place in the form of a question: "is there a table free for two"."""
    return _FREE.search(normalise(text)) is not None


_FREE = lazy_pattern(r"\b(?:is there|are there|do you have|have you got|any)\b.* (?:free|available)\b.* for\b")


def is_asked(text: str) -> bool:
    """True if a text begins as a question, or is one about a topic: "a table for two?" is no question."""
    return any(map(_begins_as_question, _CLAUSE.split(text))) or bool(topics_in(text))


@cache
def _requests() -> frozenset[tuple[str, ...]]:
    return frozenset(_words(phrase) for line in _REQUESTS.values() for phrase in line.split("|"))


def opts_out(text: str) -> str | None:
    """The phrase of a short message that asks for no more messages; None if it has none."""
    words = _words(text)
    if len(words) > _MOST_TO_OPT_OUT or _ASKS.search(text):
        return None
    pieces = (words[first:end] for first in range(len(words)) for end in range(first + 2, len(words) + 1))
    return next((" ".join(piece) for piece in pieces if piece in _opting_out()), None)


@cache
def _opting_out() -> frozenset[tuple[str, ...]]:
    return frozenset(_words(phrase) for line in _OPT_OUT.values() for phrase in line.split("|"))


def is_question(text: str) -> bool:
    """True if a message of some words asks something."""
    if len(_words(text)) < _FEWEST:
        return False
    return _ASKS.search(text) is not None or any(map(_begins_as_question, _CLAUSE.split(text)))


def _begins_as_question(clause: str) -> bool:
    """True for ``hi there do you have oat milk``: one word must begin a clause, several may have a few before them."""
    words = _words(clause)
    lengths = range(1, min(_MOST_OF_BEGINNING, len(words)) + 1)
    return any(
        words[first : first + length] in _beginnings()
        for first in range(min(_LEADS_IN, len(words)))
        for length in lengths
        if first == 0 or length > 1
    )
