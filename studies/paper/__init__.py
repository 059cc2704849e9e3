"""The paper's two examples at full size, against exact truth and the controls that the paper lacks."""
