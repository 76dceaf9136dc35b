from .cells import crossed_prompts as crossed_prompts
