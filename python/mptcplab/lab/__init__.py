"""`mptcplab lab`: the laboratory as a page in the browser.

`server` listens, `gate` lets in who has the token, `app` answers, `jobs` queues the work and hands it to the processes
of `worker`, which do what is in `tasks`. The page itself is in `static/`: modules of JavaScript without a build step.
"""
