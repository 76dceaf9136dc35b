"""The declaration of debiasing by training or projection."""

from evenhand.studies import debias
from evenhand.study import Output, Study

DEBIAS = Study(
    verb="debias",
    argument="model",
    argument_help="Causal Hugging Face model, or an encoder-decoder for dialogue methods: a name, a local folder, or "
    "evenhand/reference.",
    help="""Train bias out of a model, or remove it by projection. Saves weights, tokenizer, model card and lineage.

Press Ctrl-C to stop; the same command resumes from the last checkpoint and ends with the same weights. At
the end, evenhand prints the command that measures the effect and the cost, with the benchmarks for this
bias: `evenhand before-after MODEL DIR -b ...`, or for dialogue methods `evenhand study names MODEL --row
METHOD=DIR`.

Requires pip install 'evenhand\\[training]'. For several devices: accelerate launch -m evenhand debias
.... With --search, the trials are in DIR/search, and the chosen trial becomes DIR. The exit code is 3 if
no trial meets the guard.

\b
Examples:
  evenhand debias gpt2 --method cda --bias evenhand/religion -o runs/debiased
  evenhand debias gpt2 --method lmd?weight=10 --bias race -o runs/debiased
""",
    options=lambda: debias.DebiasConfig,
    perform=lambda: debias.perform_debiasing,
    output=Output(
        "Folder for the model. If it contains an unfinished training, that training is resumed.", needed=True
    ),
    shown=lambda made: {"model": made.path, "report": made.paths["report"]},
    page_hint="The model is complete in {path}; the same command writes its page.",
    settings_help="Set any option by name, for example clip=0.5. Repeatable.",
)
