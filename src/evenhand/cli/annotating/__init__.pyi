from .verbs import app as app
