"""Everyday words that people use for each other when they ask a business something: a parcel is a package.

Each line of a language is a meaning. A step's own `synonyms` come on top (docs/language/ai.md).
"""

from collections.abc import Mapping, Sequence
from functools import cache

_NEAR: Mapping[str, str] = {
    "en": """
parcel|package|shipment|delivery|shipping|postage|courier
deliver|ship|send|dispatch
order|purchase|buy
track|where is|follow
refund|money back|reimburse|reimbursement
return|send back|give back|bring back|exchange
cancel|cancellation|call off|annul|withdraw
change|move|reschedule|postpone|rebook|modify|amend
book|booking|reserve|reservation|appointment
price|cost|fee|charge|rate|how much|expensive|cheap|tariff
discount|reduction|cheaper|coupon|voucher|promo|promotion|deal|percent off|offer
pay|payment|settle|credit card|visa|mastercard|amex|paypal|cash
bill|invoice|receipt
deposit|advance|prepay|down payment|upfront|in advance
free|without charge|complimentary|included|gratis|no cost
open|opening hours|hours|business hours|close|closed|closing|shut|holiday hours
early|earlier|earliest|before
late|later|latest|after
arrive|arrival|check in|come
leave|departure|depart|check out|check-out
lost|forgot|forgotten|left behind|lost property|lost and found|misplaced
broken|break|damage|damaged|defective|faulty|not working|does not work|cracked|smashed|shattered|crushed|torn|ripped|scratched|dented
repair|fix|mend|service
warranty|guarantee
complaint|complain|unhappy|manager|feedback|problem
job|jobs|hiring|vacancy|career|work for|working with us|position|apply|staff
newsletter|unsubscribe|subscribe|mailing list|mails
account|login|log in|sign in|profile|sign up|register
password|pin|passcode|locked out
privacy|data|personal data|gdpr|data protection
contact|reach|phone|telephone|call|email|e-mail|hotline|support
address|where are you|location|find us|directions|located|get there|how to get
car|vehicle|automobile|park|parking|garage
bike|bicycle|cycle|cycling
train|railway|station|bus|public transport|metro|subway|tram
taxi|cab|uber|transfer|shuttle|pick up|pick us up|pickup
airport|flight|plane|terminal
elevator|lift|stairs
wheelchair|accessible|accessibility|disabled|disability|barrier-free|step-free|climb stairs|crutches|mobility
dog|cat|pet|animal|puppy
kid|child|children|son|daughter|toddler|family
baby|infant|newborn|cot|crib|stroller|pram|buggy
wedding|marry|married|celebration|celebrate|party|event|anniversary|birthday
group|groups|team|party of
company|firm|employer|business|corporate
breakfast|brunch|morning meal
lunch|dinner|supper|eat|meal|food|restaurant|dining
vegetarian|vegan|meatless|plant-based|without meat
allergy|allergic|intolerance|intolerant|gluten|lactose|nuts
drink|drinks|bar|beer|wine|alcohol|cocktail
wifi|wi-fi|wlan|internet|network|online|wireless
tv|television|netflix|streaming
air conditioning|aircon|ac|cooling|heating|heater
laundry|wash|washing machine|clothes|dryer
towel|towels|linen|sheets|bedding
shower|bath|bathroom|bathtub|toilet|restroom|wc
smoke|smoking|cigarette|vape|vaping
noise|noisy|loud|quiet|silence
luggage|suitcase|suitcases|bag|bags|baggage
key|keys|key card|door code
safe|valuables|strongbox|jewellery|jewelry
swim|swimming|pool
grill|barbecue|bbq
adapter|plug|socket|outlet|charger
charge|charging|electric|ev|tesla
size|sizes|fit|measure|measurement
sweater|jumper|pullover|cardigan
trousers|pants|jeans
present|gift|gift card|wrapping
doctor|hospital|ill|sick|medical|pharmacy|chemist|emergency
insurance|insured|cover
student|students|school|pupil|pupils
guest|visitor|visitors|friend|visit
rain|rainy|bad weather
flat|apartment
film|movie|cinema
christmas|xmas|new year|easter|bank holiday|public holiday
coeliac|celiac|gluten|gluten-free
alone|solo|single|one person|on my own
couple|double|twin|two people
turn up|show up|arrive|arrival|check-in
cheapest|cheap|lowest|price|cost
pushchair|pram|stroller|buggy
near|nearby|nearest|closest|close by|around here
learn|lesson|course|class|teach|teacher|beginner
rent|rental|hire|borrow|lend|loan
tour|trip|excursion|cruise|sightseeing|ticket
walk|hike|hiking|trail|path
music|concert|band|live
ticket|entry|entrance|admission
allowed|permitted|forbidden|permission|rules
old|history|built|founded|since
language|speak|spoken
review|rating|opinion|feedback
website|web|online|page|app
minimum|at least|smallest|shortest
clean|cleaning|housekeeping|dirty
warm|hot|cold|temperature|freezing|chilly|heating|radiator
bed|mattress|pillow|sleep
view|sea|ocean|seaside|balcony
spa|sauna|steam room|massage|wellness
gym|fitness|sports|exercise
meeting|conference|seminar|desk|workspace
picture|photo|photograph|image
heavy|weight|kg|kilo
age|old enough|years|adult|minor
urgent|express|fast|quick
confirm|confirmation|proof
instead|replace|replacement|swap|exchange
material|wool|cotton|fabric
motorhome|motor home|camper|camper van|campervan|caravan|recreational vehicle
green|environment|environmental|eco|eco-friendly|ecological|sustainable|sustainability|climate|carbon|renewable|recycle|recycling|electricity
pain|hurt|ache|sore
technician|plumber|electrician|mechanic|repair
leak|leaking|drip|dripping
takeaway|take away|takeout|to go
wait|waiting|queue|delay|delayed
contract|agreement|terms
stolen|theft|thief|robbed|burglary
colour|color|shade
update|upgrade|version
taste|flavour|flavor
fresh|expiry|expire|expired|best before|shelf life
frozen|freeze|freezer
pregnant|pregnancy|expecting a baby
elderly|senior|seniors|pensioner|pensioners|retired|grandmother|grandfather
teenager|teenagers|teen|teens|youth
deaf|hearing|sign language
blind|visually impaired|guide dog
tourist|sightseeing|attraction|attractions
kitchen|cook|cooking|stove
rubbish|garbage|trash|waste
dry|dryer|tumble dry
subscription|membership|member|plan
""",
    "id": """
paket|kiriman|pengiriman|kirim|ongkir|kurir|resi
kembalikan|pengembalian|retur|tukar|refund|uang kembali
batal|batalkan|pembatalan|cancel
ubah|ganti|pindah|jadwal ulang
pesan|pesanan|order|booking|reservasi|beli
harga|biaya|tarif|berapa|ongkos|mahal|murah
diskon|promo|potongan|voucher|kupon
bayar|pembayaran|transfer|tunai|kartu|cash
tagihan|faktur|kwitansi|nota
gratis|termasuk|cuma-cuma
buka|tutup|jam buka|jam operasional
hilang|ketinggalan|tertinggal
rusak|cacat|pecah
garansi|jaminan
kerja|lowongan|loker|karier
akun|login|masuk|daftar
sandi|password|kata sandi|pin
alamat|lokasi|di mana|arah
mobil|kendaraan|parkir
anjing|kucing|hewan|peliharaan
anak|bayi|keluarga
makan|makanan|sarapan|makan malam
wifi|internet
merokok|rokok
koper|barang|tas|bagasi
""",
    "es": """
paquete|envío|entrega|pedido
devolver|devolución|cambiar|cambio
reembolso|devolver dinero|dinero
cancelar|cancelación|anular
reservar|reserva|cita
precio|coste|costo|cuesta|tarifa|cuánto
descuento|rebaja|oferta|cupón
pagar|pago|tarjeta|efectivo
factura|recibo|cuenta
gratis|incluido|sin cargo
abrir|abierto|horario|cerrado|cierran
perdido|olvidado|olvidé|perdí
roto|dañado|defectuoso
garantía
trabajo|empleo|vacante
contraseña|clave
dirección|dónde|ubicación|llegar
coche|carro|auto|aparcar|estacionar|aparcamiento|estacionamiento|parking
perro|gato|mascota|animal
niño|niños|hijo|bebé|cuna|familia
comer|comida|cena|almuerzo|desayuno
wifi|internet
fumar|tabaco
maleta|equipaje
ascensor|elevador
""",
    "pt": """
encomenda|pacote|envio|entrega|frete|correio
devolver|devolução|trocar|troca
reembolso|dinheiro de volta|estorno
cancelar|cancelamento|desmarcar
reservar|reserva|marcar|agendar
preço|custo|custa|tarifa|valor|quanto
desconto|promoção|cupom
pagar|pagamento|cartão|dinheiro|pix
fatura|recibo|nota
grátis|incluído|gratuito
abrir|aberto|horário|fechado|fecham
perdido|esqueci|perdi|esquecido
quebrado|danificado|defeito
garantia
trabalho|emprego|vaga
senha|palavra-passe
endereço|morada|onde|localização|chegar
carro|estacionar|estacionamento
cachorro|cão|gato|animal|estimação
criança|filho|bebé|bebê|berço|família
comer|comida|jantar|almoço|café da manhã
wifi|internet
fumar|cigarro
mala|bagagem
elevador
""",
    "fr": """
colis|paquet|livraison|envoi|expédition|port
retourner|retour|renvoyer|échanger|échange
remboursement|rembourser|argent
annuler|annulation
réserver|réservation|rendez-vous
prix|coût|coûte|tarif|combien
réduction|remise|promotion|bon
payer|paiement|carte|espèces
facture|reçu|addition
gratuit|inclus|compris
ouvert|ouverture|horaires|fermé|ferme
perdu|oublié
cassé|abîmé|défectueux|endommagé
garantie
emploi|travail|recrutement|poste
mot de passe|code
adresse|où|accès|venir
voiture|garer|parking|stationnement
chien|chat|animal|animaux
enfant|enfants|bébé|lit bébé|famille
manger|repas|dîner|déjeuner|petit-déjeuner
wifi|internet
fumer|cigarette
valise|bagage|bagages
ascenseur
""",
    "de": """
paket|päckchen|sendung|lieferung|versand|zustellung|porto
zurückgeben|zurückschicken|rückgabe|retoure|rücksendung|umtauschen|umtausch
erstattung|rückerstattung|geld zurück
stornieren|storno|stornierung|absagen|kündigen|kündigung
umbuchen|verschieben|ändern|änderung
buchen|buchung|reservieren|reservierung|termin
preis|kosten|kostet|gebühr|tarif|wie viel|wie teuer
rabatt|ermäßigung|nachlass|gutschein|günstiger
bezahlen|zahlen|zahlung|karte|bar|überweisung
rechnung|beleg|quittung
kostenlos|gratis|umsonst|inklusive|inbegriffen
öffnungszeiten|geöffnet|offen|geschlossen|auf|zu
verloren|vergessen|liegen gelassen|fundsachen
kaputt|defekt|beschädigt|mangel
garantie|gewährleistung
arbeit|stelle|job|bewerbung
passwort|kennwort
adresse|anfahrt|anreise|wo
auto|wagen|parken|parkplatz|parkplätze
hund|katze|haustier|tiere
kind|kinder|baby|kinderbett|familie
essen|abendessen|mittagessen|frühstück|speisen
wlan|wifi|internet
rauchen|zigarette|raucher
koffer|gepäck|taschen
aufzug|fahrstuhl|lift
""",
    "it": """
pacco|spedizione|consegna|invio
restituire|reso|cambiare|cambio
rimborso|soldi indietro
annullare|cancellare|cancellazione|disdire|disdetta
prenotare|prenotazione|appuntamento
prezzo|costo|costa|tariffa|quanto
sconto|offerta|buono
pagare|pagamento|carta|contanti
fattura|ricevuta|conto
gratis|incluso|gratuito
aperto|orari|apertura|chiuso|chiudete
perso|dimenticato
rotto|danneggiato|difettoso
garanzia
lavoro|posto
password|codice
indirizzo|dove|arrivare
macchina|auto|parcheggiare|parcheggio
cane|gatto|animale|animali
bambino|bambini|neonato|culla|famiglia
mangiare|cena|pranzo|colazione|cibo
wifi|internet
fumare|sigaretta
valigia|valigie|bagaglio
ascensore
""",
    "nl": """
pakket|pakje|zending|levering|bezorging|verzending
terugsturen|retour|retourneren|ruilen
terugbetaling|geld terug
annuleren|annulering|afzeggen
wijzigen|verzetten|verplaatsen
boeken|boeking|reserveren|reservering|afspraak
prijs|kosten|kost|tarief|hoeveel
korting|aanbieding|bon
betalen|betaling|pin|contant|kaart
factuur|rekening|bon
gratis|inbegrepen|inclusief
open|openingstijden|gesloten|dicht
verloren|vergeten|gevonden voorwerpen
kapot|beschadigd|defect
garantie
werk|baan|vacature
wachtwoord
adres|waar|route
auto|parkeren|parkeerplaats
hond|kat|huisdier|dieren
kind|kinderen|baby|kinderbed|gezin
eten|diner|lunch|ontbijt
wifi|internet
roken|sigaret
koffer|bagage|tassen
lift
""",
    "tr": """
paket|kargo|gönderi|teslimat
iade|geri göndermek|değişim
para iadesi|geri ödeme
iptal|vazgeçmek
rezervasyon|randevu|ayırtmak
fiyat|ücret|kaç para|ne kadar
indirim|kampanya|kupon
ödeme|ödemek|kart|nakit
fatura|fiş
ücretsiz|bedava|dahil
açık|kapalı|çalışma saatleri
kayıp|unuttum
kırık|bozuk|hasarlı
garanti
iş|eleman
şifre|parola
adres|nerede|konum
araba|araç|otopark|park
köpek|kedi|evcil hayvan
çocuk|bebek|aile
yemek|kahvaltı|akşam yemeği
wifi|internet
sigara
bavul|valiz|bagaj
asansör
""",
    "ru": """
посылка|доставка|отправка|заказ
вернуть|возврат|обмен|обменять
деньги назад|возврат денег
отменить|отмена
перенести|изменить
забронировать|бронь|бронирование|запись
цена|стоимость|стоит|тариф|сколько
скидка|акция|купон
оплата|оплатить|платить|карта|наличные
счет|чек
бесплатно|включено
открыто|часы работы|закрыто
потерял|забыл|забыла|потеряла
сломан|поврежден|брак
гарантия
работа|вакансия
пароль
адрес|где|добраться|проезд
машина|автомобиль|парковка|припарковаться
собака|кошка|животное|питомец
ребенок|дети|малыш|кроватка
завтрак|обед|ужин|еда|поесть
wifi|интернет|вайфай
курить|курение
чемодан|багаж|вещи
лифт
""",
    "ar": """
طرد|شحنة|توصيل|شحن|طلب
ارجاع|إرجاع|استرجاع|استبدال
استرداد|فلوسي
الغاء|إلغاء
حجز|موعد
سعر|تكلفة|كم|رسوم
خصم|عرض|كوبون
دفع|بطاقة|نقد|كاش
فاتورة|ايصال
مجاني|مجانا|مشمول
مفتوح|ساعات العمل|مغلق
مفقود|نسيت
مكسور|تالف
ضمان
وظيفة|عمل
كلمة السر|كلمة المرور
عنوان|اين|موقع
سيارة|موقف
كلب|قطة|حيوان
طفل|اطفال|رضيع
فطور|غداء|عشاء|طعام|اكل
انترنت|واي فاي
تدخين
حقيبة|امتعة
مصعد
""",
    "hi": """
पार्सल|पैकेज|डिलीवरी|शिपिंग
वापस|वापसी|रिटर्न|बदलना
रिफंड|पैसे वापस
रद्द|कैंसिल
बुकिंग|आरक्षण|अपॉइंटमेंट
कीमत|दाम|शुल्क|कितना|कितने
छूट|ऑफर|कूपन|डिस्काउंट
भुगतान|पेमेंट|कार्ड|नकद
बिल|रसीद
मुफ्त|फ्री|शामिल
खुला|समय|बंद
खो|भूल
टूटा|खराब
वारंटी|गारंटी
नौकरी|काम
पासवर्ड
पता|कहाँ|रास्ता
कार|गाड़ी|पार्किंग
कुत्ता|बिल्ली|पालतू|जानवर
बच्चा|बच्चे|शिशु
खाना|नाश्ता|भोजन
वाईफाई|इंटरनेट
धूम्रपान|सिगरेट
सामान|बैग|सूटकेस
लिफ्ट
""",
}


@cache
def near_words(language: str) -> Sequence[tuple[str, ...]]:
    """The groups of a language's words that stand for each other."""
    return tuple(tuple(line.split("|")) for line in _NEAR.get(language, "").split("\n") if "|" in line)
