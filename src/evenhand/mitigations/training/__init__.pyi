from .checkpoints import (
    OF_BASE as OF_BASE,
    drop_checkpoints as drop_checkpoints,
    kept_values as kept_values,
)
from .curves import (
    CURVES as CURVES,
    CurveWriter as CurveWriter,
    read_curves as read_curves,
)
from .data.cda import (
    CounterfactualAugmentation as CounterfactualAugmentation,
)
from .data.own_sentences import (
    own_axes as own_axes,
    own_material as own_material,
)
from .data.preferences import (
    By as By,
    holds_preferences as holds_preferences,
    own_preferences as own_preferences,
)
from .data.texts import (
    make_material as make_material,
    own_texts as own_texts,
    published_texts as published_texts,
)
from .examples import (
    IGNORED as IGNORED,
    Batch as Batch,
    Examples as Examples,
    encode_texts as encode_texts,
    pad_token as pad_token,
    reply_examples as reply_examples,
)
from .finetuned import (
    ADAPTER as ADAPTER,
    LINEAGE as LINEAGE,
    describe_label as describe_label,
    model_card as model_card,
    next_steps as next_steps,
    prepare_to_save as prepare_to_save,
    read_lineage as read_lineage,
    write_model as write_model,
)
from .material import (
    Encoding as Encoding,
    Material as Material,
    Preference as Preference,
    material_facts as material_facts,
    material_hash as material_hash,
)
from .methods import (
    METHOD_MAKERS as METHOD_MAKERS,
    DialogueMethod as DialogueMethod,
    Edit as Edit,
    EditingMethod as EditingMethod,
    Lesson as Lesson,
    TrainingMethod as TrainingMethod,
    load_method as load_method,
    method_options as method_options,
    supported_architectures as supported_architectures,
)
from .objective import (
    Diverged as Diverged,
    LanguageModelling as LanguageModelling,
    Logits as Logits,
    Objective as Objective,
    check_objective as check_objective,
    hidden_and_logits as hidden_and_logits,
    logits_behind as logits_behind,
    token_losses as token_losses,
)
from .options import (
    TrainingOptions as TrainingOptions,
)
from .preparing import (
    check_installed as check_installed,
    merge_adapters as merge_adapters,
    prepared_model as prepared_model,
)
from .replacement import (
    TrainableModel as TrainableModel,
)
from .trainer import (
    TrainingResult as TrainingResult,
    train as train,
)
from .validation import (
    BIAS as BIAS,
    KEPT as KEPT,
    PERPLEXITY as PERPLEXITY,
    WHOLE as WHOLE,
    HalvedValidation as HalvedValidation,
    Validation as Validation,
    evaluator as evaluator,
)
