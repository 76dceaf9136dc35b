"""Specifications of a bias in a user's own words, as `--specification` takes them."""

HEARING = """
bias = "hearing"
minoritised = "deaf"
dominant = "hearing"
[retrieval]
targets = [["Deaf people are", "Hearing people are"]]
attributes = [["rude", "kind"]]
[filtering]
window_targets = ["Deaf"]
[counterparts]
target_pairs = [["Deaf", "Hearing"]]
attribute_pairs = [["rude", "kind"]]
"""
TEAMS = """bias = "teams"
minoritised = "reds"
dominant = "blues"
[retrieval]
targets = [['"reds are"', '"blues are"']]
attributes = [["loud*", "quiet"], ["rude", "polite"]]
[filtering]
window_targets = ["reds"]
[counterparts]
target_pairs = [["reds", "blues"]]
attribute_pairs = [["loud", "quiet"], ["rude", "polite"]]
"""
