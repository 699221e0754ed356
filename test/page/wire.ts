// What is between a browser and the Worker: TCP on loopback, which a test can cut, for all or for the feed alone.
import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

export interface Wire {
  /** The Worker's origin as the browser has it. */
  url: string;
  /** Connections end, and new ones end at once, until `restore`. */
  cut: () => void;
  /** The same for WebSockets of the feed alone. */
  cutFeed: () => void;
  restore: () => void;
  stop: () => Promise<void>;
}

/** A browser opens a connection of its own for a WebSocket. */
const FEED = "GET /v1/feed?";
const FEED_WITHOUT_CURSOR = "GET /v1/feed ";

/** `target`: the Worker's origin. */
export async function startWire(target: string): Promise<Wire> {
  const { hostname, port } = new URL(target);
  const all = new Set<Socket>();
  const feeds = new Set<Socket>();
  let isCut: "all" | "feed" | null = null;
  const server = createServer((browser) => {
    if (isCut === "all") return void browser.destroy();
    const worker = connect(Number(port), hostname);
    all.add(browser);
    for (const [one, other] of [
      [browser, worker],
      [worker, browser],
    ] as const) {
      // Whoever is cut off resets the connection.
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
    browser.once("close", () => {
      all.delete(browser);
      feeds.delete(browser);
    });
    browser.once("data", (first: Buffer) => {
      const begin = first.subarray(0, FEED.length).toString();
      if (begin === FEED || begin === FEED_WITHOUT_CURSOR) {
        if (isCut === "feed") return void browser.destroy();
        feeds.add(browser);
      }
      worker.write(first);
      browser.pipe(worker);
      return undefined;
    });
    worker.pipe(browser);
    return undefined;
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const end = (connections: Set<Socket>) => {
    for (const connection of connections) connection.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = "all";
      end(all);
    },
    cutFeed() {
      isCut = "feed";
      end(feeds);
    },
    restore: () => void (isCut = null),
    stop: () =>
      new Promise<void>((stopped) => {
        server.close(() => stopped());
        end(all);
      }),
  };
}
