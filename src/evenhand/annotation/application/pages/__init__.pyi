from .routes import router as router
