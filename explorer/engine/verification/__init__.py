"""One target pass over a proposal, what is read off it, and the judge head that some rules ask."""
