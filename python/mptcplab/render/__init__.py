"""How results are shown: tables as text, HTML pages, pictures."""
