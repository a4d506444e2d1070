"""Blind battles: pairing, answering, voting, revealing."""
