"""Which packages a wheel has; all else is in pyproject.toml.

`assets` and `data` lie beside the package in a checkout, and within it once it is installed.
"""

from setuptools import find_packages, setup

BESIDE = ("assets", "data")

setup(
    packages=[
        *find_packages(include=["coupled_arena*"]),
        *(f"coupled_arena.{folder}" for folder in BESIDE),
    ],
    package_dir={f"coupled_arena.{folder}": folder for folder in BESIDE},
)
