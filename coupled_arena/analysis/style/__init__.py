"""How far preference follows length and Markdown, and who is better when these are held fixed."""
