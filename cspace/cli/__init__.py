"""The command line: parse, call one core function, hand over the result. One module a noun."""
