"""What a run returns: the data frames, their columns, the JSON document and the directory they are saved in."""
