from .judging import people_designs as people_designs
