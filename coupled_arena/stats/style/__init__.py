"""Bradley-Terry scores with the style of replies held fixed."""
