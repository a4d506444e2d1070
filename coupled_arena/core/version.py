"""The version, where the package and its reports find it."""

VERSION = "0.2.0"
