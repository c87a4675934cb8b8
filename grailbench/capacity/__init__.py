"""How large a graph a machine takes, how long its index takes to build and how many queries a second it answers, from
counters and the machine's measured ceilings; and how far such predictions were from recorded runs."""
