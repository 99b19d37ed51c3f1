"""The decoding engine. decode.py is the algorithm; a round of it drafts (drafters/), verifies (verification/) and judges.

models/ holds weights and forwards, pair.py two of them over one vocabulary, open_pair.py both at work on one sequence.
"""
