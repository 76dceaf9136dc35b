from .history import History as History, Speaker as Speaker
