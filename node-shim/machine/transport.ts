// Parses --transport, the flag that chooses how this machine sends its reports.

/** The values of --transport. auto: over a socket if available. socket: as auto, but a missing socket is a fault. */
export const TRANSPORTS = ["auto", "http", "socket"] as const;
export type TransportChoice = (typeof TRANSPORTS)[number];

/** Parses the flag's value. Throws, with the values that are allowed, for any other value. */
export function transportOf({ transport = "auto" }: { transport?: string }): TransportChoice {
  const choice = TRANSPORTS.find((name) => name === transport);
  if (choice === undefined) throw new Error(`--transport ${transport}: must be auto, http or socket`);
  return choice;
}
