// Starts a TCP proxy on loopback between a browser and the Worker; a test can cut the proxy.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Wire {
  /** The origin at which the browser reaches the Worker. */
  url: string;
  /** Ends all connections, and each new one at once, until `restore`. */
  cut: () => void;
  restore: () => void;
  stop: () => Promise<void>;
}

/** Starts the proxy. `target` is the Worker's origin. */
export async function startWire(target: string): Promise<Wire> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((browser) => {
    if (isCut) return void browser.destroy();
    const worker = connect(Number(port), hostname);
    open.add(browser);
    browser.once("close", () => open.delete(browser));
    for (const [one, other] of [
      [browser, worker],
      [worker, browser],
    ] as const) {
      one.pipe(other);
      // Errors are ignored because a client that was cut off resets its connection.
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
    return undefined;
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const end = () => {
    for (const connection of open) connection.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      end();
    },
    restore: () => void (isCut = false),
    stop: () =>
      new Promise<void>((stopped) => {
        server.close(() => stopped());
        end();
      }),
  };
}
