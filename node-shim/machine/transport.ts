// --transport: how this machine sends its reports.

/** auto: over a socket if one is available. socket: the same, but a missing socket is a fault. */
export const TRANSPORTS = ["auto", "http", "socket"] as const;
export type TransportChoice = (typeof TRANSPORTS)[number];

/** Throws with what to change. */
export function transportOf({ transport = "auto" }: { transport?: string }): TransportChoice {
  const choice = TRANSPORTS.find((name) => name === transport);
  if (choice === undefined) throw new Error(`--transport ${transport}: must be auto, http or socket`);
  return choice;
}
