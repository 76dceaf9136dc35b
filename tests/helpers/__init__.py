"""What tests of several rooms share: models, classifiers and servers whose answers are known, and read pages."""
