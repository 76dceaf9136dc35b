from .parroting import refused as refused
