"""The types of variables: their declarations, the answers and the values that they take."""
