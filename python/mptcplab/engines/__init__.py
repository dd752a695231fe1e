"""The engines: what each can do (`catalogue`), running a scenario on one (`runner`), and a folder for each of them."""
