// Finds free ports on loopback.
import { createServer } from "node:net";

function listens(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : null));
    });
  });
}

/** Returns the port `asked`, or `last` if free, or any free port. Throws, naming `flag`, if `asked` is taken. */
export async function freePort(flag = "", asked?: number, last?: number): Promise<number> {
  if (asked !== undefined) {
    if ((await listens(asked)) === null)
      throw new Error(`port ${asked} is taken: free it, or pass another ${flag} (or none)`);
    return asked;
  }
  const port = (last === undefined ? null : await listens(last)) ?? (await listens(0));
  if (port === null) throw new Error("there is no free port on 127.0.0.1");
  return port;
}
