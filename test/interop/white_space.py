"""Defines white space as docs/formats.md lists it, which differs from Python's."""

import re

WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def trim(text: str) -> str:
    return text.strip(WHITE_SPACE)


def single_spaces(text: str) -> str:
    return re.sub(f"[{WHITE_SPACE}]+", " ", trim(text))
