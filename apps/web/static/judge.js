// The exact judgement of a player that always makes the same move in a position: every game that
// can be played against it is followed.

/**
 * A judgement of a player as one side: a function from a position to {loss, line}. loss: the share of
 * games that it loses from there against random moves. line: the cells of the shortest game that it
 * loses, null where nobody can beat it. moveIn(position): the cell that it marks.
 */
export function judgeOf(moveIn, side) {
  const known = new Map();
  const judge = (position) => {
    if (!known.has(position)) known.set(position, position.turn ? ahead(position) : ended(position));
    return known.get(position);
  };
  const ended = ({ result }) => {
    const isLost = result !== "draw" && result !== side;
    return { loss: Number(isLost), line: isLost ? [] : null };
  };
  const ahead = (position) => {
    const { turn, free, after } = position;
    const cells = turn === side ? [moveIn(position)] : free;
    const found = cells.map((cell) => judge(after[cell]));
    const lines = found.flatMap(({ line }, n) => (line ? [[cells[n], ...line]] : []));
    const shortest = lines.reduce((best, line) => (line.length < best.length ? line : best), lines[0]);
    const loss = found.reduce((sum, next) => sum + next.loss, 0) / cells.length;
    return { loss, line: shortest ?? null };
  };
  return judge;
}
