"""Chinese chess, one joint decision a turn: needs the extra `xiangqi` (cchess, which has the rules)."""
