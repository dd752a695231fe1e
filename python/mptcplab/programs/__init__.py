"""Small programs for hosts of the engine `linux`, run as `{python} -m mptcplab.programs.NAME`."""
