// --transport: which ways this machine's reports may go.

/** auto: over a socket where one can be had. socket: the same, and it is a fault where none can. */
export const TRANSPORTS = ["auto", "http", "socket"] as const;
export type TransportChoice = (typeof TRANSPORTS)[number];

/** Throws with what to change. */
export function transportOf({ transport = "auto" }: { transport?: string }): TransportChoice {
  const choice = TRANSPORTS.find((name) => name === transport);
  if (choice === undefined) throw new Error(`--transport ${transport}: must be auto, http or socket`);
  return choice;
}
