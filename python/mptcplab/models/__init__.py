"""What theory says of a connection or a network: closed forms, equilibria, optima, fluid and round models.

Pure Python on numpy and scipy; nothing here needs the compiled core. Symbols are those of the papers: ``p`` loss rates,
``rtt_s`` round-trip times in seconds, ``w`` windows in segments, ``x`` rates in segments per second, ``b`` segments
acknowledged by one ACK. Each module names its paper and, at the code, every misprint that it corrects.

======================  ===========================================================================================
``single_path``         square-root laws; Padhye 1998 with timeouts and receiver window
``short_flow``          Cardwell 2000: handshake, slow start, first loss, delayed ACK
``steady_state``        windows of each multipath control from the loss rates and RTTs of its paths
``predict``             the same by name, with rates, shares and bit/s
``network``             links, routes and users; ``red`` and ``link_laws`` say how links lose
``equilibrium``         rates and link prices of a whole network; ``control_laws`` holds each control's law
``queues``              the same with the queues and RTTs that drop-tail and RED make
``pert``                PERT's answer to queueing delay, and the queue where its flows settle
``khalili_2013``        scenarios A, B, C in closed form
``optimum``, ``pareto`` the fair optimum with probing cost; can someone gain without anyone losing?
``max_min``             max-min fair rates of any network
``fluid``               dx/dt, trajectories, time to converge
``rounds``              Dong 2018: data sent round by round, and the paths worth using
======================  ===========================================================================================
"""
