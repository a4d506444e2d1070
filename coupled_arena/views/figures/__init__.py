"""The leaderboard's pictures: plotly figures for pages of any width, light or dark.

The figures have no width and no background of their own: the page gives both. Each carries the
numbers behind it and how to print it in ``layout.meta``, for the buttons under it.
"""
