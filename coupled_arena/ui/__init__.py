"""The web app, a file a tab. Handlers translate only: check, call, show."""
