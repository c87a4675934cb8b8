"""Other people's indexes behind our contract."""
