"""Word lists that distinguish uses of a word: function words, words for people, verbs with two objects, ..."""


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


PREPOSITIONS = split_words(
    """about above across after against along alongside amid amidst among amongst around as aside at atop before behind
    below beneath beside besides between beyond by concerning despite down during except following for from in
    inside into like near of off on onto opposite out outside over past per regarding round since than through
    throughout till to toward towards under underneath unlike until unto up upon via with within without"""
)
CONJUNCTIONS = split_words(
    """although and because but if lest nor once or so that though unless until when whenever where whereas wherever
    whether which while whilst who whom whose why how what yet"""
)
DETERMINERS = split_words(
    """a an the this these those my your our their its his another any some no each every either neither both such"""
)
PRONOUNS = split_words(
    """i you he she it we they me him us them myself yourself himself herself itself themselves anyone anything
    everyone everything someone something nobody nothing mine yours ours theirs hers her"""
)
AUXILIARIES = split_words(
    """is was are were be been being am has had have having does did do will would can could shall should may might
    must"""
)
ADVERBS = split_words(
    """again ago ahead alone already also altogether always anymore anyway apart away back else elsewhere enough even
    ever everywhere forever forward further here hereafter however indeed instead later longer much never
    nevertheless nor not now nowadays often perhaps quite rather sometimes soon still straight then there
    therefore thereafter thus today together tomorrow tonight too twice upstairs downstairs well yesterday yet
    aboard abroad afterwards afterward anywhere beforehand meanwhile overnight somehow somewhere anytime first"""
)
FUNCTION = PREPOSITIONS | CONJUNCTIONS | DETERMINERS | PRONOUNS | AUXILIARIES
"""Words that cannot be part of a noun phrase with "her" as its possessive."""

NOT_POSSESSED = (
    FUNCTION
    | split_words(
        """again ago ahead alone already also altogether always anymore anyway apart away back else elsewhere enough
        even ever everywhere forever forward further here however home indeed instead later longer never nevertheless
        not now nowadays often perhaps quite rather sometimes soon still straight then there therefore thus
        today together tomorrow tonight too twice upstairs downstairs well yesterday yet aboard abroad
        afterwards afterward anywhere meanwhile overnight somehow somewhere more less much arrived came went
        died began became seemed appeared happened occurred remained just downtown backstage personally
        accordingly somewhat relating regarding including concerning pertaining"""
    )
) - split_words("being like past following down inside outside opposite such")
"""Words before which "her" is an object: "told her that", "saw her again"."""

POSSESSED_ALTHOUGH = split_words(
    """later then once now still never ever also even well so much more less too in on up off out over"""
)
"""Words before which "her" may be a possessive, before a hyphen or an adjective: "her then husband"."""

CAUSATIVE = split_words(
    """let lets letting make makes made making see sees saw seen seeing watch watches watched watching hear hears heard
    hearing help helps helped helping feel felt have has had having bid bade notice noticed"""
)
"""Verbs that take "her" and an infinitive: "made her laugh"."""
BARE_VERBS = split_words(
    """direct reach raise handle prepare continue create destroy discover enjoy establish express maintain manage
    obtain produce protect prove receive reveal secure seem sell settle solve spend suffer survive wear faint
    blush shiver vomit swear promise confess go come leave be become do make take get give have know think say
    tell speak begin try write read learn find feel see hear live win lose stop start sit stand wait keep fly
    swim climb jump realize realise understand believe remember forget choose decide perform appear enter pass
    join marry kill eat drink drown succeed overcome cope adjust recover regain achieve gain grow develop"""
)
AMBIGUOUS_VERBS = split_words(
    """play walk run fall look help work fight stay dance act move drive smile laugh cry return sleep die sing escape
    talk"""
)
"""Words that are verbs and nouns: "watched her dance." but "liked her dance with the fan"."""

PERCEPTION = split_words(
    """see sees saw seen seeing watch watches watched watching hear hears heard hearing find finds found finding leave
    leaves left leaving catch catches caught catching keep keeps kept keeping show shows showed showing shown
    depict depicts depicted depicting feature features featuring film filmed photograph photographed spot
    spotted portray portrays portraying envision remember remembers remembered describe describes described
    describing picture pictures pictured imagine imagined picturing had have having got sent send sends set
    discover discovers discovered witness witnessed witnesses observe observed mind prevent stop stopped start
    started"""
)
"""Verbs that take "her" and a participle: "saw her standing there"."""

NAMING = split_words(
    """call calls called calling consider considers considered considering declare declares declared declaring deem
    deemed deems find finds found finding make makes made making leave leaves left leaving keep keeps kept
    keeping render renders rendered rendering pronounce pronounced elect elected elects appoint appointed
    appoints crown crowned name named names naming dub dubbed dubs label labelled labeled think thought believe
    believed prove proved get got getting drive drove set want wanted wants hold held turn turned turns brand
    branded nickname nicknamed"""
)
"""Verbs that take "her" and a name or property: "made her famous", "elected her president"."""
COMPLEMENTS = split_words(
    """famous guilty happy sad angry pregnant dead alive free unconscious ill sick unable able responsible available
    aware president captain queen chairwoman chairman chair mayor leader head director senator governor
    chancellor beautiful crazy mad nervous uncomfortable comfortable popular eligible ineligible weak strong
    jealous afraid safe busy warm open blind deaf lonely speechless homeless penniless successful rich wealthy
    beloved innocent attractive ready sleepy hungry thirsty vulnerable one important worthy distraught grounded
    wounded bankrupt unemployed stopped arrested killed fired banned removed released paralyzed blinded half
    stupid awkward very ugly lazy mean funny smart"""
)
BRING = split_words(
    """bring brings brought bringing take takes took taken taking send sends sent sending drive drives drove driven
    driving walk walks walked walking follow follows followed following carry carries carried carrying see saw
    invite invites invited inviting escort escorts escorted accompany accompanies accompanied welcome welcomes
    welcomed call calls called get gets got getting want wants wanted win wins won pull pulls pulled push pushes
    pushed drag drags dragged lure lures lured fly flew ask asked asks love loved loves like let led lead leads
    put holding hold held lock locked locks hit chase chased order ordered orders pay paid"""
)
"""Verbs that take "her" and a direction: "brought her back", "took her home"."""
WHERE = split_words("back home inside outside down off past")

TWO_OBJECTS = split_words(
    """give gives gave given giving send sends sent sending offer offers offered offering tell tells told telling teach
    teaches taught teaching pay pays paid paying show shows showed shown showing buy buys bought buying bring
    brings brought bringing award awards awarded awarding lend lends lent hand hands handed handing grant grants
    granted granting earn earns earned earning cost costs costing owe owes owed wish wishes wished allow allows
    allowed allowing deny denies denied denying cause causes caused causing promise promised get got ask asked
    asks win won wins gain gained provide cook serve served fetch afford afforded gaining guarantee guaranteed
    assign assigned"""
)
GIVEN = split_words(
    """money flowers permission advice access control credit time food water gifts hope strength lessons instructions
    information orders drugs directions work trouble pain courage confidence medicine tea coffee power support
    recognition praise attention authority asylum immunity citizenship custody shelter help comfort joy pleasure
    freedom clothes half rewards three two four five six seven eight nine ten many several few more enough
    questions stories lies letters nightmares cancer problems international national critical widespread acclaim
    fame custodial entry admission relief roles awards nominations shares lots plenty bread milk candy
    chocolates music cash tips clues"""
)
"""Nouns for what is given to a person: "offered her money"."""

HOLDING = split_words(
    "hold holds held holding hug hugs hugged hugging pull pulls pulled draw drew draws keep keeps kept"
)
HAVING_DONE = split_words("have has had having get gets got getting want wants wanted order orders ordered")
DONE = split_words(
    "put killed taken sent shot beaten thrown brought kept given shown told cut hung burnt drawn written"
)
"""Participles for what is done to a person: "had her executed"."""

SPANS_OF_TIME = split_words(
    """hours days weeks months years minutes seconds times decades hour day week month year"""
)
NUMBERS = split_words(
    """two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred several many"""
)

PERSONAL = split_words("i you he she who whom whoever someone somebody everyone anyone nobody him her")
COPULAS = split_words("is was are were be been being am s re m became become becomes")
PEOPLE = split_words(
    """person people individual individuals adult adults child children kid kids teenager teenagers teen teens parent
    parents sibling siblings spouse spouses grandparent grandparents neighbor neighbors neighbour neighbours
    colleague colleagues friend friends guy guys gal gals folk folks baby babies infant infants toddler toddlers
    youth youths youngster youngsters student students pupil pupils teacher teachers professor professors doctor
    doctors nurse nurses lawyer lawyers judge judges engineer engineers scientist scientists writer writers
    author authors poet poets artist artists painter painters singer singers musician musicians rapper rappers
    actor actors actress actresses dancer dancers player players athlete athletes footballer footballers boxer
    boxers coach coaches soldier soldiers officer officers sailor sailors pilot pilots worker workers farmer
    farmers laborer laborers labourer labourers driver drivers politician politicians senator senators president
    leader leaders activist activists voter voters citizen citizens resident residents immigrant immigrants
    refugee refugees slave slaves settler settlers employee employees employer employers manager managers boss
    bosses customer customers patient patients victim victims suspect suspects prisoner prisoners criminal
    criminals couple couples family families community communities tourist tourists traveler travelers traveller
    travellers reader readers viewer viewers audience audiences candidate candidates member members minority
    minorities congregation crowd mob servant servants maid maids clerk clerks journalist journalists reporter
    reporters director directors filmmaker filmmakers priest priests nun nuns monk monks rabbi rabbis imam imams
    comedian comedians chef chefs cook cooks baker bakers waiter waiters waitress waitresses vet veterans
    veteran survivor survivors population populations man men woman women boy boys girl girls lady ladies
    gentleman gentlemen lad lads lass lasses father fathers mother mothers dad mom daughter daughters son sons
    sister sisters brother brothers aunt aunts uncle uncles niece nieces nephew nephews wife wives husband
    husbands girlfriend girlfriends boyfriend boyfriends grandmother grandmothers grandfather grandfathers
    cousin cousins orphan orphans male males female females peasant peasants king queen prince princess heir
    hero heroine policeman policemen businessman businessmen businesswoman widow widows bride groom human humans
    recruit recruits apprentice apprentices fan fans lover lovers dealer dealers developer developers programmer
    programmers secretary consultant accountant surgeon surgeons dentist therapist counselor librarian cashier
    electrician plumber carpenter mechanic guard guards electricians plumbers carpenters mechanics surgeons
    applicant applicants tenant tenants pensioner pensioners landlord landlords landlady client clients graduate
    graduates trainee trainees intern interns hairdresser hairdressers receptionist receptionists pharmacist
    pharmacists accountants consultants secretaries librarians cashiers dentists therapists counselors counsellor
    counsellors programmers carer carers caregiver caregivers caretaker cleaner cleaners gardener gardeners builder
    builders bricklayer roofer welder tailor butcher butchers barber paramedic firefighter firefighters midwife
    midwives tutor tutors lecturer lecturers researcher researchers analyst analysts economist banker bankers broker
    entrepreneur entrepreneurs founder founders owner owners shopkeeper shopkeepers salesman saleswoman salesperson
    supervisor supervisors technician technicians architect architects designer designers photographer photographers
    plaintiff defendant defendants witness witnesses juror inmate inmates detainee migrant migrants newcomer newcomers
    expat expats passenger passengers guest guests visitor visitors stranger strangers pedestrian cyclist motorist
    user users bystander buyer buyers seller sellers borrower borrowers candidate candidates colleague coworker
    coworkers roommate roommates flatmate partner partners parent bachelor beginner learner learners gamer gamers
    astronaut astronomer biologist chemist chemists physicist physicists mathematician statistician historian
    historians psychologist psychologists psychiatrist physician physicians veterinarian optician translator
    interpreter barista bartender waitperson courier couriers chauffeur firefighter lifeguard retiree retirees"""
)
NOT_BY_AGE = split_words(
    """child children boy boys girl girls kid kids baby babies infant infants toddler toddlers lad lads son sons
    daughter daughters"""
)
RELATIVES = split_words(
    """brother brothers sister sisters sibling siblings son sons daughter daughters child children half cousin cousins
    friend friends boyfriend boyfriends girlfriend girlfriends"""
)
"""Relatives and friends, for whom an adjective is not a group: an older brother is not old."""
OF_PEOPLE = split_words(
    """police school college university medical law female male middle class working poor rich unemployed single
    married armed fellow professional former famous local little upper lower urban rural cis trans high other
    disabled able bodied deaf blind gay straight lesbian bisexual queer young old older younger elderly teenage
    white black brown asian latino hispanic christian muslim jewish hindu american british german french italian"""
)
"""Words that may stand between a descriptor and a person: "a white police officer"."""

ROLES_BEFORE_NAMES = split_words(
    """mr mrs ms miss mx dr sir dame lady lord king queen prince princess emperor empress tsar duke duchess president
    senator governor captain major colonel general lieutenant sergeant corporal private admiral commander
    inspector detective officer constable judge justice professor doctor nurse coach director actor actress
    singer author pope bishop archbishop cardinal father mother brother sister aunt uncle grandma grandpa
    chancellor chairman mayor congressman congresswoman secretary minister ambassador count countess baron
    baroness earl cousin reverend rev producer writer editor journalist composer critic historian manager
    goalkeeper striker quarterback rapper"""
)
NOT_PEOPLE_BEFORE = split_words(
    """st saint saints santa san são mount mt port fort cape lake point hurricane cyclone typhoon storm hms uss ss rms
    operation camp gospel psalm book lady ship steamer frigate yacht"""
)
NOT_PEOPLE_AFTER = split_words(
    """river rivers bay island islands county street avenue road lane square park lake creek mountain mountains
    university college school academy hospital church cathedral abbey chapel palace castle house hotel hall
    tower bridge airport station stadium museum library theatre theater award awards prize cup trophy act bible
    city town village beach valley hill hills point cape harbour harbor district township province parish
    railway line company inc ltd corporation foundation institute center centre records press group brothers
    sons sea ocean dam canal forest national memorial class locomotive dynasty war wars battle kong crimson tut
    stakes handicap parkway highway freeway expressway turnpike trail terrace drive boulevard way regiment
    brigade battalion squadron papers club society springs birthplace presents teaches everyday pages live sings
    plays story diaries tapes sessions songbook collection trio quartet quintet orchestra experience report
    tonight productions pictures films music books home project day classic open invitational field arena family
    farm gallery & fellowship scholarship medal lecture lectures winery prison jail cemetery mine glacier
    formation zoo garden gardens tournament championship collins murders case trial affair riots rebellion order
    chronicles tribute special movie album poems poetry letters biography reader essays estate ranch building
    buildings now mystery mysteries stories series elementary co companies associates trust show fund ministries
    band"""
)
LANGUAGE_BEFORE = split_words(
    """in into speak speaks spoke spoken speaking learn learns learned learnt learning study studies studied studying
    teach teaches taught teaching understand understood fluent write wrote written read translate translated
    translates old middle medieval modern incomprehensible broken fluent perfect"""
)
LANGUAGE_AFTER = split_words(
    """language languages dialect dialects word words translation translations translated alphabet grammar script
    version versions title subtitles speaking speaker speakers lyrics text texts literature pronunciation
    spelling name phrase verb verbs noun nouns term usage sounds characters syllables"""
)
FIXED_AFTER = split_words(
    """fries toast shepherd shepherds horn measles roulette dressing bulldog bulldogs terrier mastiff lobster alligator
    bison robin eel chestnut coast continent mainland elephant elephants lion lions windows doors kiss muffin
    muffins bath breakfast wood cockroach elm beech holly oak stitch stitches knot plants plant species flora fauna
    trees tree animals animal wildlife birds vegetation forest forests grasses shrubs dust region regions area areas
    lowlands highlands peninsula sitting vault vaulter vaulting"""
)
"""Words after a people's name for things that are named after it: dishes, plants, ..."""
OF_AMERICAN_INDIANS = split_words(
    "agent agents reservation reservations chief chiefs tribe tribes removal wars summer"
)
SMALL = split_words("from of for with and to by in on the among against")
"""Words that have a capital within a sentence only in titles."""
AMERICAN_INDIANS = split_words(
    "tribe tribes tribal Cherokee Sioux Lakota Apache Navajo Cheyenne Choctaw reservation reservations"
)
"""Words that show that "Indian" refers to American Indians."""
OCEANS = split_words("pacific atlantic arctic southern")
REALMS = split_words("empire kingdom encyclopedia dictionary bible")
DENOMINATIONS = split_words(
    """reform orthodox conservative progressive liberal reconstructionist humanistic hasidic haredi rabbinic karaite
    messianic sephardi ashkenazi hellenistic sunni shia shi'a sufi ahmadi ismaili salafi wahhabi twelver zen chan seon
    won nichiren tendai shingon theravada mahayana mahāyāna vajrayana tibetan tantric newar nirankari balinese roman
    coptic eastern oriental evangelical pentecostal esoteric nondenominational reformed"""
)
"""Words before a religion that name a branch of it, which other religions do not have."""
SETTLED = split_words("american canadian australian")
"""Words after a hyphen or a space that name where a family settled: "Polish-American"."""
BEFORE_CUT = split_words("a an first is was were are")
"""Words before an adjective at which a text is cut off: "was an American "."""
_THINGS = split_words(
    """buckle buckles connector connectors plug plugs socket sockets thread threads end part parts fitting fittings
    jack pin flower flowers plant plants cone cones line"""
)
FIXED_PHRASES = {
    "sister": split_words(
        """ship ships vessel vessels city cities station stations company companies magazine channel label club series
        site paper newspaper publication program programme species group taxon school show shows network project brand
        chromatids act"""
    ),
    "sisters": split_words("ship"),
    "mother": split_words("ship tongue lode country church house board nature earth"),
    "king": split_words("size sized penguin penguins crab crabs salmon cobra post charles"),
    "queen": split_words("bee bees size sized ant ants consort anne mother dowager"),
    "prince": split_words("consort"),
    "lady": split_words("luck justice chapel"),
    "male": _THINGS,
    "female": _THINGS,
    "man": split_words("made power hours hour"),
    "bride": split_words("price"),
    "brother": split_words("industries"),
}
"""Fixed phrases with a word of gender that do not refer to a person."""
SHIPS = split_words(
    """battleship battleships battlecruiser cruiser cruisers destroyer destroyers frigate frigates ironclad ironclads
    dreadnought dreadnoughts turret turrets hull keel boilers knots torpedo torpedoes refit scuttled flagship
    convoy convoys commissioned decommissioned displacement broadside stern bow rigging schooner steamship ship
    ships vessel vessels HMS USS SMS fleet submarine submarines gunboat drydock salvaged sank moored anchor
    waterline armament propeller sailed yacht sloop brig steamer Navy naval boats gunboats minesweeper
    minesweepers trawler ferry liner capsized warship warships"""
)
WOMEN = split_words(
    """woman women girl girls wife mother actress husband daughter Mrs Miss Ms queen Queen princess Princess singer
    aunt niece lady Lady boyfriend widow"""
)
"""Words for women. In a text with two words of ships and none of these, "she" is a ship."""
NATURE = split_words(
    """species genus subspecies eggs egg larvae larva flowers flower inflorescence inflorescences pollen plumage
    breeding specimen specimens bird birds fish frog spider spiders insects beetle moth whale shark lizard snake
    nest nests mating offspring juvenile juveniles carapace fruiting shrub habitat wingspan antlers chicks pups
    cub cubs mammal mammals lobster lobsters feathers bill clade taxon taxa"""
)
"""Words of nature. Next to two of them, "male" and "female" refer to plants and animals."""
BEFORE_HYPHEN = split_words(
    """all ex step great half god grand mid non pre post pro anti multi co single then former now two three four five
    many soon sub inter neo"""
)
VERBS = split_words(
    """attacked lost won began took came went wanted made refused fought fled surrendered invaded retreated captured
    landed built called used say says said believe believes believed think thinks thought like likes love loves
    hate hates know knows knew held left advanced withdrew marched gave got saw sent share shares live lives
    lived write writes wrote speak speaks spoke wants want need needs moved became becomes become helped told
    asked found opened closed bought sold died killed arrived returned stayed decided tried struck drove rode ran
    met fell rose broke threw dug swept withdrew overran chose brought"""
)
"""Verbs that show that no noun follows "a Muslim" or "the French"."""
OF_SEVERAL = split_words(
    """are were have do say believe think like love hate know share live write speak want need"""
) | (
    split_words("had did could would will can may might must should")
    | (VERBS - split_words("says believes thinks likes loves"))
)
"""Verb forms that show that "the French" are several people."""
NOT_DONE = split_words(
    """armed combined allied occupied based controlled owned trained installed backed united mixed estimated increased
    proposed failed advanced named unemployed limited"""
)
"""Words in -ed that describe a noun: "the British armed forces"."""
COUNTED = split_words(
    """any all no these those fellow ethnic many some most few several more two three four five six seven eight nine
    ten other"""
)
BEFORE_PEOPLES = split_words(
    """north south east west northern southern eastern western central latin ancient royal northwest northeast"""
)
"""Words before the name of a people that make it another people, or a region."""
DEGREES = split_words("better best most less least worse")
STILL_POSSESSED = split_words("being having like past following inside outside opposite no another")
NO_ADVERBS = split_words("early family only elderly daily lovely july fly ally ugly holy")
NO_PARTICIPLES = split_words("wedding evening king ring wing")
NO_NOUN = FUNCTION | ADVERBS | VERBS
"""Words that show that no noun follows."""
OF_THE = split_words(
    "ancient modern old early first other remaining defeated surviving same poor rich young many"
)
"""Words between "the" and the name of a people: "the ancient Maya"."""
ARTICLES = split_words("a an the")
SINGULAR = split_words("a an the another each every this that one any no some either neither")
ACTS = VERBS & split_words(
    "says believes thinks knows wants needs asks writes speaks became becomes asked wanted needed said died told"
) | split_words(
    """asks asked seeks sought applies applied goes went comes came gets got makes gives tells told says said wants
    wanted hired fired accused arrested explains explained complains complained feels felt tries tried lives lived
    moves moved prays prayed walks walked works worked means"""
)
"""Verbs that are not nouns after a person: "a Muslim asks"."""
NOUNS_TOO = split_words("needs works means walks moves feels")
"""Verbs that may be nouns if the person has no determiner: "Muslim needs in schools"."""
PARTICIPLES = split_words(
    """living working running being having looking trying going wanting seeking asking studying applying wearing
    praying fasting coming moving standing sitting visiting travelling traveling teaching serving needing"""
)
"""Participles for what a person does: "a Muslim living in Leeds"."""
NEXT = split_words("next last down across upstairs")
TIMES_AND_DOORS = split_words(
    "week month year night weekend summer winter spring autumn door time monday friday sunday the"
)
"""Words after "next" and "last": "I hired a Muslim last week", "the Muslim next door"."""
AGES = split_words("young old older elderly teenage")
BEFORE_PERSONS = (
    AGES | OF_PEOPLE | split_words("retired devout proud practising practicing quiet kind honest")
)
"""Adjectives before a person: "a retired, elderly Christian"."""
JOINTS = split_words("and but that when as where while")
BEFORE_PREDICATES = split_words("also not already very openly still now both born legally")
