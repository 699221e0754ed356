// Where the page shows a thing: all of its state is in the query. Asks nobody. `origin`: the Worker's, as operators reach it.

const linkOf = (origin: string, [name, value]: readonly [name: string, value: string]): string =>
  `${origin}/?${name}=${encodeURIComponent(value)}`;

export const machineLink = (origin: string, name: string): string => linkOf(origin, ["machine", name]);

export const outageLink = (origin: string, id: string): string => linkOf(origin, ["outage", id]);
