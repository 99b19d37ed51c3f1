"""The decoding engine: pairs of real models, drafters, length policies, verification, one record per target pass."""
