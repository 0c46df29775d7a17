"""A mistake of the user's, told in one line that says what is wrong and what to do."""


class NaitError(ValueError):
    """Wrong input. The command line prints the message alone and exits with 2."""
