// Makes links to the page. `origin` is the Worker's URL for operators.

const linkOf = (origin: string, [name, value]: readonly [name: string, value: string]): string =>
  `${origin}/?${name}=${encodeURIComponent(value)}`;

export const machineLink = (origin: string, name: string): string => linkOf(origin, ["machine", name]);

export const outageLink = (origin: string, id: string): string => linkOf(origin, ["outage", id]);

/** Returns the link to the view of receivers and mutes; "" if the origin is not configured. */
export const notificationsLink = (origin: string): string =>
  origin === "" ? "" : linkOf(origin, ["view", "notifications"]);
