// Tests the limits that the local Worker adds to workerd: connections, subrequests of an invocation, bytes of a row.
import { describe, expect, it } from "vitest";
import { MOST_CONNECTIONS } from "../../../infra/local/outgoing-connections.ts";
import { limited, limitFetch, PLATFORM_LIMITS } from "../../../infra/local/platform-limits.ts";

interface Surroundings {
  KUBE: { fetch: (url: string, init: RequestInit) => Promise<Response> };
  NODES: { getByName: (name: string) => { look: () => Promise<string> } };
}

const asked: string[] = [];
const scope = { fetch: (url: string) => never(url) } as unknown as Pick<typeof globalThis, "fetch">;
const log: { message?: string }[] = [];
limitFetch(scope, (line) => log.push(line));

function never(url: string): Promise<Response> {
  asked.push(url);
  return new Promise(() => undefined);
}

class Asking {
  readonly env: Surroundings;
  constructor(_: unknown, env: Surroundings) {
    this.env = env;
  }

  kube(times: number): void {
    for (let n = 1; n <= times; n++) void this.env.KUBE.fetch("kube", {});
  }

  webhook(times: number): void {
    for (let n = 1; n <= times; n++) void scope.fetch("webhook", {});
  }

  /** Returns after calls of another object, of which `inner` are made by a method of this object. */
  async calls(times: number, inner = 0): Promise<void> {
    for (let n = 1; n <= times; n++) await this.env.NODES.getByName("node").look();
    if (inner > 0) await this.calls(inner);
  }
}

const Limited = limited(Asking, (line) => log.push(line));
const made = () => {
  asked.length = 0;
  log.length = 0;
  const NODES = { getByName: () => ({ look: () => Promise.resolve("seen") }) };
  return new Limited(null, { KUBE: { fetch: never }, NODES });
};
const turn = async () => {
  for (let turns = 0; turns < 20; turns++) await Promise.resolve();
};

describe("connections", () => {
  it("each object has connections of its own; a longer queue is logged once it has doubled", async () => {
    made().kube(MOST_CONNECTIONS + 3);
    const other = new Limited(null, { KUBE: { fetch: () => never("other") }, NODES: made().env.NODES });
    other.kube(1);
    await turn();
    expect(asked).toEqual(["other"]);
    made().kube(MOST_CONNECTIONS + 3);
    await turn();
    expect(asked).toEqual(Array<string>(MOST_CONNECTIONS).fill("kube"));
    expect(log).toMatchObject([{ object: "Asking", longestQueue: 1 }, { longestQueue: 2 }]);
  });

  it("webhooks and the apiserver share an object's connections", async () => {
    const object = made();
    object.webhook(2);
    object.kube(5);
    await turn();
    expect(asked.toSorted()).toEqual(["kube", "kube", "kube", "kube", "webhook", "webhook"]);
  });

  it("a fetch outside of an object has no limit", async () => {
    asked.length = 0;
    for (let n = 1; n <= MOST_CONNECTIONS + 1; n++) void scope.fetch("worker");
    await turn();
    expect(asked).toHaveLength(MOST_CONNECTIONS + 1);
  });
});

describe("subrequests of an invocation", () => {
  const { subrequests, freeSubrequests } = PLATFORM_LIMITS;
  const refused = /Too many subrequests/;

  it.each([
    ["at the Free plan's limit → no line", freeSubrequests, 0, 0],
    ["above the Free plan's limit → one line", freeSubrequests + 9, 0, 1],
    ["above it with those of the object's own method → one line", freeSubrequests, 1, 1],
  ])("%s", async (_, times, inner, lines) => {
    await made().calls(times, inner);
    expect(log).toHaveLength(lines);
  });

  it("at the limit → sent; just above it → refused; the next invocation counts from 0", async () => {
    const object = made();
    await object.calls(subrequests);
    await expect(object.calls(subrequests + 1)).rejects.toThrow(refused);
    await object.calls(1);
  });
});

describe("bytes of a row", () => {
  const { rowBytes } = PLATFORM_LIMITS;
  class Storing {
    readonly exec: (statement: string, ...bindings: unknown[]) => unknown;
    readonly env: object;
    constructor(ctx: { storage: { sql: { exec: Storing["exec"] } } }, env: object) {
      this.exec = ctx.storage.sql.exec;
      this.env = env;
    }
  }

  it.each<[situation: string, bindings: unknown[], isRefused: boolean]>([
    ["a text at the limit", ["x".repeat(rowBytes), 7, null], false],
    ["a text just above", ["x".repeat(rowBytes + 1)], true],
    ["a text of few characters and many bytes", ["€".repeat(rowBytes / 3 + 1)], true],
    ["a blob and a text that are too large together", [new ArrayBuffer(rowBytes), "x"], true],
  ])("%s", (_, bindings, isRefused) => {
    const ctx = { storage: { sql: { exec: () => "written" } } };
    const { exec } = new (limited(Storing, () => undefined))(ctx, { KUBE: { fetch: never } });
    const run = () => exec("INSERT", ...bindings);
    if (isRefused) expect(run).toThrow("string or blob too big");
    else expect(run()).toBe("written");
  });
});
