"""What coupled generation saves."""
