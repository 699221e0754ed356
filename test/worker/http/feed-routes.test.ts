// Tests over the whole Worker who may open a feed and with which credential. Tests that the feed's socket outlives an
// eviction of the fleet index.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { FeedView } from "../../../shared/fleet/feed-view.ts";
import { FEED_CLOSED, FEED_PROTOCOL, TICKET_PROTOCOL } from "../../../shared/protocol/feed-names.ts";
import { type FeedMessage, type FeedTicket } from "../../../shared/protocol/feed.ts";
import { FEED_LIMITS } from "../../../shared/protocol/limits.ts";
import { fleetIndex } from "../../../worker/env.ts";
import { FEED_OPENING, type FeedOpening } from "../../../worker/fleet/feed.ts";
import { digestOf } from "../../../worker/identity/jwt.ts";
import { ADMIN_SECRET, VIEW_SECRET } from "../support/constants.ts";
import { enrolled, enrolling, mintToken, operator, send } from "../support/machine.ts";
import { machineName, updateOf } from "../support/made-up-fleet.ts";
import { currentMs, eventually, pass, shift, timers } from "../support/clock.ts";

/** Repeats `look` while time passes, since a feed sends in batches. */
const soon = <T>(look: () => T | Promise<T>) => eventually(look, () => pass(100));

const VIEWER = { authorization: `Bearer ${VIEW_SECRET}` };
const UPGRADE = { upgrade: "websocket" };
const index = fleetIndex(env);
let version = 0;

const tell = (machine: number, change = {}) => index.tell(updateOf(machine, ++version, change));

class Client {
  readonly view: FeedView;
  readonly messages: FeedMessage[] = [];
  pongs = 0;
  closed: number | null = null;
  readonly socket: WebSocket;

  constructor(socket: WebSocket, view: FeedView) {
    this.socket = socket;
    this.view = view;
    socket.addEventListener("message", ({ data }) => {
      if (data === "pong") this.pongs += 1;
      else this.#take(JSON.parse(String(data)) as FeedMessage);
    });
    socket.addEventListener("close", ({ code }) => {
      this.closed = code;
    });
    socket.accept();
  }

  #take(message: FeedMessage): void {
    this.view.take(message);
    if (message.type !== "hello" && this.socket.readyState === WebSocket.OPEN)
      this.socket.send(JSON.stringify({ ack: message.cursor }));
    this.messages.push(message);
  }

  stateOf(machine: number): string | undefined {
    return this.view.machines.get(machineName(machine))?.state;
  }
}

async function opened(
  headers: Record<string, string> = VIEWER,
  query = "",
  view = new FeedView(),
): Promise<Client> {
  const response = await send(`/v1/feed${query}`, { headers: { ...UPGRADE, ...headers } });
  expect(response.status).toBe(101);
  return new Client(response.webSocket!, view);
}

async function ticket(): Promise<string> {
  const response = await send("/v1/feed/tickets", { method: "POST", headers: VIEWER });
  expect(response.status).toBe(201);
  return (await response.json<FeedTicket>()).ticket;
}
const byTicket = (text: string) => ({
  "sec-websocket-protocol": `${FEED_PROTOCOL}, ${TICKET_PROTOCOL}${text}`,
});

describe("a feed", () => {
  it("sends a viewer all machines, then each change, also after an eviction of its object", async () => {
    await tell(900_001);
    const client = await opened();
    await soon(() => expect(client.stateOf(900_001)).toBe("ready"));
    // The fleet index stays in memory until the client has acknowledged the message.
    await eventually(() => expect(timers()).toBe(0));
    await evictDurableObject(index);
    await tell(900_001, { state: "silent" });
    await soon(() => expect(client.stateOf(900_001)).toBe("silent"));
    expect(client.closed).toBeNull();
    client.socket.close();
  });

  it("is resumed by its cursor", async () => {
    await tell(900_002);
    const client = await opened();
    await soon(() => expect(client.view.cursor).not.toBeNull());
    client.socket.close();
    await tell(900_002, { state: "blocked" });
    const again = await opened(VIEWER, `?cursor=${client.view.cursor}`, client.view);
    await soon(() =>
      expect(again.messages).toMatchObject([{ resumed: true }, { type: "changes", moved: { rows: 1 } }]),
    );
    again.socket.close();
  });

  it("has a pending machine from its first request until an operator decides", async () => {
    const client = await opened();
    const waiting = () => client.view.pending.filter(({ name }) => name === "feed-pending");
    await enrolled("feed-pending");
    const key = await makeMachineKey();
    const joinToken = await mintToken({ names: "feed-pending" });
    expect(await enrolling("feed-pending", { joinToken, key })).toMatchObject({ reason: "name-pinned" });
    await soon(() => expect(waiting()).toMatchObject([{ name: "feed-pending" }]));
    const [{ thumbprint } = { thumbprint: "" }] = waiting();
    await operator("POST", "/v1/nodes/feed-pending/reject", { thumbprint });
    await soon(() => expect(waiting()).toEqual([]));
    client.socket.close();
  });

  it("a pending machine gets the freed name → it is no longer pending", async () => {
    const client = await opened();
    const waiting = () => client.view.pending.filter(({ name }) => name === "feed-freed");
    await enrolled("feed-freed");
    const key = await makeMachineKey();
    const joinToken = await mintToken({ names: "feed-freed" });
    expect(await enrolling("feed-freed", { joinToken, key })).toMatchObject({ reason: "name-pinned" });
    await soon(() => expect(waiting()).toHaveLength(1));
    expect((await operator("DELETE", "/v1/nodes/feed-freed")).status).toBe(204);
    expect(await enrolling("feed-freed", { joinToken, key })).toMatchObject({
      kid: expect.any(String) as string,
    });
    await soon(() => expect(waiting()).toEqual([]));
    client.socket.close();
  });

  it("answers pings without waking its object", async () => {
    const client = await opened();
    client.socket.send("ping");
    await soon(() => expect(client.pongs).toBe(1));
    client.socket.close();
  });

  it("ends with its session → the index's alarm closes it, even if nothing changes", async () => {
    const credential = { sha256: await digestOf(VIEW_SECRET) };
    const opening: FeedOpening = {
      by: { who: "dave", credential, endsMs: currentMs() + 5000 },
      cursor: null,
    };
    const headers = { ...UPGRADE, [FEED_OPENING]: JSON.stringify(opening) };
    const client = new Client((await index.fetch("https://index/", { headers })).webSocket!, new FeedView());
    await soon(() => expect(client.view.cursor).not.toBeNull());
    expect(client.closed).toBeNull();
    shift(5000);
    await runDurableObjectAlarm(index);
    await eventually(() => expect(client.closed).toBe(FEED_CLOSED.notAllowed));
  });

  it("is closed after an unknown frame", async () => {
    const client = await opened();
    client.socket.send("hello?");
    await soon(() => expect(client.closed).toBe(FEED_CLOSED.badFrame));
  });
});

describe("a ticket", () => {
  it("opens one feed, with the rights of its owner", async () => {
    const text = await ticket();
    const response = await send("/v1/feed", { headers: { ...UPGRADE, ...byTicket(text) } });
    expect([response.status, response.headers.get("sec-websocket-protocol")]).toEqual([101, FEED_PROTOCOL]);
    response.webSocket!.accept();
    response.webSocket!.close();
    expect((await send("/v1/feed", { headers: { ...UPGRADE, ...byTicket(text) } })).status).toBe(403);
  });

  it.each([
    ["just before its end → opens a feed", 1000 * FEED_LIMITS.ticketSeconds - 1, 101],
    ["at its end → 403", 1000 * FEED_LIMITS.ticketSeconds, 403],
  ])("%s", async (_, ms, status) => {
    const text = await ticket();
    shift(ms);
    const response = await send("/v1/feed", { headers: { ...UPGRADE, ...byTicket(text) } });
    expect(response.status).toBe(status);
    response.webSocket?.accept();
    response.webSocket?.close();
  });

  it("forged or expired → 403", async () => {
    const text = await ticket();
    await runInDurableObject(index, (_, { storage }) => {
      storage.sql.exec("UPDATE feed_tickets SET ends_ms = 0");
    });
    for (const each of [text, "A".repeat(43), "x", ""]) {
      expect((await send("/v1/feed", { headers: { ...UPGRADE, ...byTicket(each) } })).status).toBe(403);
    }
  });

  it.each([
    ["of its form → the index is asked", "A".repeat(43), 1],
    ["too short → not", "A".repeat(42), 0],
    ["too long → not", "A".repeat(44), 0],
    ["of other characters → not", "!".repeat(43), 0],
    ["none → not", "", 0],
  ])("that is made up: %s", async (_, text, times) => {
    const ask = vi.spyOn(env.INDEX, "getByName");
    try {
      expect((await send("/v1/feed", { headers: { ...UPGRADE, ...byTicket(text) } })).status).toBe(403);
      expect(ask).toHaveBeenCalledTimes(times);
    } finally {
      ask.mockRestore();
    }
  });

  const { tickets, ticketsOfOperator } = FEED_LIMITS;
  it.each<[string, who: (each: number) => string, count: number, endsMs: number, status: number]>([
    ["as many as may be out, less one", (each) => `operator ${each}`, tickets - 1, Infinity, 201],
    ["as many as may be out", (each) => `operator ${each}`, tickets, Infinity, 429],
    ["as many as may be out, which have ended", (each) => `operator ${each}`, tickets, 0, 201],
    ["as many as one may have, less one", () => "view secret", ticketsOfOperator - 1, Infinity, 201],
    ["as many as one may have", () => "view secret", ticketsOfOperator, Infinity, 429],
    ["as many as one may have, of another", () => "admin secret", ticketsOfOperator, Infinity, 201],
  ])("beside %s", async (_, who, count, endsMs, status) => {
    await runInDurableObject(index, (_, { storage }) => {
      storage.sql.exec("DELETE FROM feed_tickets");
      const insert = "INSERT INTO feed_tickets VALUES (?, ?, ?)";
      const until = Math.min(endsMs, Date.now() + 3600_000);
      for (let each = 0; each < count; each++)
        storage.sql.exec(insert, String(each), JSON.stringify({ who: who(each) }), until);
    });
    const response = await send("/v1/feed/tickets", { method: "POST", headers: VIEWER });
    expect(response.status).toBe(status);
    await runInDurableObject(index, (_, { storage }) => {
      storage.sql.exec("DELETE FROM feed_tickets");
    });
  });
});

describe("a refused request", () => {
  const cases: [situation: string, path: string, headers: Record<string, string>, expected: object][] = [
    ["nobody", "/v1/feed", UPGRADE, { status: 403, reason: "forbidden" }],
    ["no upgrade", "/v1/feed", VIEWER, { status: 426, reason: "upgrade-required" }],
    [
      "a cursor that is none",
      "/v1/feed?cursor=7",
      { ...VIEWER, ...UPGRADE },
      { status: 400, parameter: "cursor" },
    ],
    [
      "an unknown parameter",
      "/v1/feed?state=silent",
      { ...VIEWER, ...UPGRADE },
      { status: 400, parameter: "state" },
    ],
  ];
  it.each(cases)("%s", async (_, path, headers, expected) => {
    expect(await (await send(path, { headers })).json()).toMatchObject(expected);
  });

  it("one feed more than an operator may have → 429; another operator's is accepted", async () => {
    const clients: Client[] = [];
    for (let each = 0; each < FEED_LIMITS.feedsOfOperator; each++) clients.push(await opened());
    const headers = { ...VIEWER, ...UPGRADE };
    const refused = await send("/v1/feed", { headers });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await refused.json()).toMatchObject({
      detail: expect.stringContaining(`${FEED_LIMITS.feedsOfOperator} of one operator`) as string,
    });
    clients.push(await opened({ authorization: `Bearer ${ADMIN_SECRET}` }));
    for (const { socket } of clients) socket.close();
    await soon(async () => (await opened()).socket.close());
  });
});
