"""The runtime of XCQL: the session, and the engines that run compiled queries over a store."""
