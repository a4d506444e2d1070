"""The version, where the package and its reports find it."""

VERSION = "0.3.0"
