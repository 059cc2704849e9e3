"""Studies made with tracker: the paper's examples, the claims of the shipped scenarios, the gallery, the film of the README."""
