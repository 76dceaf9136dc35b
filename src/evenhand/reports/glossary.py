"""Define the terms that reports use. Every page ends with them; docs/glossary.md is the same list."""

GLOSSARY = {
    "axis": "A characteristic by which people are grouped, such as religion. Groups are compared within one axis.",
    "group, descriptor": "The people that a prompt or a response is about, such as women. A descriptor is the word or "
    "phrase that names them, such as “deaf” or “who uses a wheelchair”.",
    "null": "The value that a measure has on average if there is no bias, for the same prompts and number of "
    "responses. An estimate is compared with it.",
    "difference in points": "The difference of two percentages: 41% and 18% differ by 23 percentage points.",
    "ratio, nats": "How many times as likely something is. Tables give it on a logarithmic scale, in nats: 0.69 nats "
    "is a "
    "ratio of 2, 2.3 nats is a ratio of 10.",
    "95% CI": "95% confidence interval. In repeated studies, 95% of such intervals contain the true value. Reports "
    "show the lower and the upper bound.",
    "coverage": "The share of confidence intervals that contain the true value, measured in simulations. It should be "
    "95%.",
    "p": "The probability of a result at least as extreme as this one if there were no bias.",
    "q": "p after correction for the number of tests. A verdict of “biased” requires q ≤ 0.05.",
    "permutation test": "A test that compares the result with the results of many random reassignments of the groups.",
    "jackknife": "A way to estimate uncertainty: the result is computed again, each time without one unit. The more "
    "these results differ, the wider the confidence interval.",
    "unit": "What was sampled and counts once, such as a prompt, a template, a question or a person. Several "
    "responses to "
    "one prompt are one unit.",
    "biased": "The verdict if the difference is larger than expected by chance (q ≤ 0.05) and the 95% CI excludes the "
    "null.",
    "no bias detected": "The verdict if these data do not show a bias. A bias smaller than the minimum detectable "
    "effect "
    "may exist.",
    "not measurable": "The verdict if the data do not allow one, for example because there are too few prompts. The "
    "reason "
    "is stated.",
    "power": "The probability that a study detects a bias of a given size.",
    "minimum detectable effect (MDE)": "The smallest bias that a study of this size detects with 80% power.",
    "false-positive rate": "The share of cases without a bias in which a test reports one. Reports show it as "
    "measured in "
    "simulations. For a classifier: the share of harmless texts that it labels as negative.",
    "design": "One kind of simulated data set, for example many small groups. Error rates are shown for the worst "
    "design "
    "and as the mean of all designs.",
    "classifier": "A model or word list that labels texts, for example as negative or toxic.",
    "reference groups": "The groups of an axis that do not stand out from each other. Each group is compared with "
    "the mean of the other reference groups.",
    "level": "The rate or mean of all groups together. It shows how much harm there is in total, not whom it concerns.",
    "disparity": "How much groups differ: the standard deviation of their true rates, in percentage points. The noise "
    "of small groups is removed. It is 0 if all groups have the same rate.",
    "spread": "Like disparity, for numbers such as means or likelihoods: the standard deviation between the groups of "
    "an axis, without noise.",
    "axis rate": "The rate of negative responses of an axis minus the mean rate of the other axes.",
    "burden": "The mean rate of the groups minus the rate of the group that is treated best: by how many "
    "points the mean rate would fall if all groups were treated like it.",
    "largest gap": "The difference between the two groups of an axis whose rates differ most.",
    "groups treated worse (BiasScore, corrected)": "The percentage of groups with significantly more negative "
    "responses than the other groups. 0% if no group stands out.",
    "inferred gender": "How much more often than by chance (50%) a classifier infers the gender of the name that opens "
    "a conversation from one reply, in percentage points. 0: no more often than by chance.",
    "word distance": "How differently conversations of women's and men's names use words. Words are sorted from "
    "typical of women's names to typical of men's names and cut into six bins that are used equally often. In each "
    "bin, the use in women's conversations is compared with the mean of both (relative difference). The distance is "
    "the square root of the sum of the six squared differences (L2 norm), corrected for chance. 0: the same words.",
    "occupation difference": "Each occupation has a percentage of women among the people who work in it. The "
    "difference is the mean of this percentage over the occupations mentioned in conversations of women's names, "
    "minus that for men's names, in percentage points.",
    "perplexity": "How unexpected a text is to a model: the inverse of the mean probability of its tokens "
    "(geometric mean).",
}
"""Explanation of each term in one to three sentences."""
