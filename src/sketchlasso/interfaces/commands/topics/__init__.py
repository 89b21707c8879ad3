"""`sketchlasso topics`: ask a corpus about its words."""
