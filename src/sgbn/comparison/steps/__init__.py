"""The steps of a comparison, one file per step: what it computes, says, and shows in the page."""
