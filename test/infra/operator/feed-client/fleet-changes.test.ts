// Tests when a client reads the fleet again: after its connection opens, is silent, breaks, or is refused. The clock is
// made up.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fedChanges, type FeedLine, type FleetChanges } from "../../../../infra/operator/feed-client.ts";

class MadeUpLine implements FeedLine {
  #onText: (text: string) => void = () => undefined;
  #onClose: (code: number, reason: string) => void = () => undefined;
  listen(onText: (text: string) => void, onClose: (code: number, reason: string) => void): void {
    [this.#onText, this.#onClose] = [onText, onClose];
  }
  send(text: string): void {
    if (text === "ping") this.#onText("pong");
  }
  close(): void {}
  says(message: object): void {
    this.#onText(JSON.stringify(message));
  }
  breaks(): void {
    this.#onClose(1006, "");
  }
}

let sockets: MadeUpLine[];
/**
 * The status that answers a request by HTTP after a connection has ended. 426 means that a connection would open.
 */
let status: number;
let changes: FleetChanges;
beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(null, { status })));
  [sockets, status] = [[], 426];
  changes = fedChanges({ url: "https://worker.test", headers: {} }, () => {
    const line = new MadeUpLine();
    sockets.push(line);
    return line;
  });
});
afterEach(() => {
  changes.end();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const hello = { type: "hello", resumed: true, why: "" };
const snapshot = { type: "snapshot", cursor: "a_1", rows: 0, machines: {}, isLast: true };

/** Returns the milliseconds until the client reads the fleet again. */
async function nextLook(): Promise<number> {
  const began = Date.now();
  const ended = { afterMs: NaN };
  void changes.next(Infinity).then(() => (ended.afterMs = Date.now() - began));
  await vi.advanceTimersByTimeAsync(0);
  while (Number.isNaN(ended.afterMs)) await vi.advanceTimersByTimeAsync(500);
  return ended.afterMs;
}

const opens = () => {
  sockets.at(-1)?.says(hello);
  sockets.at(-1)?.says(snapshot);
};
const breaks = () => sockets.at(-1)?.breaks();
const opensAgain = async () => {
  await vi.advanceTimersByTimeAsync(1000);
  sockets.at(-1)?.says(hello);
};

test.each<[situation: string, ms: number, steps: (() => unknown)[]]>([
  ["a line that is not open yet", 2000, []],
  ["a line that is open, and says nothing", 60_000, [opens]],
  ["a line that is gone", 2000, [opens, breaks]],
  ["one that opens again, and goes on where it was", 60_000, [opens, breaks, opensAgain]],
  ["one that is refused", 2000, [opens, () => (status = 403), breaks]],
])("%s → looks again after %i ms", async (_, ms, steps) => {
  for (const step of steps) await step();
  await vi.advanceTimersByTimeAsync(0);
  // A change that has arrived makes the client read the fleet at once.
  if (steps.length > 0) expect(await nextLook()).toBe(0);
  expect(await nextLook()).toBe(ms);
});
