// Finds the known name that is nearest to a misspelt name, for error messages.

/** Returns the name in `names` that differs least from `name`. `names` must not be empty. */
export function nearestName(name: string, names: readonly string[]): string {
  const wanted = name.slice(0, 64).toLowerCase();
  let nearest = "";
  let least = Infinity;
  for (const candidate of names) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

/** Returns Levenshtein's distance between two texts. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
