"""Data in and out: imports, exports, snapshots."""
