// Tests that Events live for an hour after their last write, also across a restart.
import { afterEach, beforeEach, expect, test } from "vitest";
import { type EmbeddedServer, embeddedServer, send } from "../test-server.ts";
import { eventTtlMs, startEventExpiry } from "../../../../../infra/local/apiserver/controllers/start.ts";
import { createWorld } from "../../../../../infra/local/apiserver/controllers/world.ts";

const events = "/api/v1/namespaces/default/events";

let server: EmbeddedServer;
beforeEach(() => {
  server = embeddedServer();
});
afterEach(() => server.close());

/** Starts the expiry of Events. `left` runs the expiry once, and returns the names of the remaining Events. */
function watchOver(failures: unknown[] = []) {
  const { store, fetch, token, clock } = server;
  let sweep = () => {};
  const every = (_periodMs: number, run: () => void) => {
    sweep = run;
    return () => {};
  };
  const options = { store, fetch, token, rootCa: "", now: () => new Date(clock.ms), every };
  const world = createWorld(options, (error) => failures.push(error));
  const stop = startEventExpiry(world);
  const left = async () => {
    sweep();
    await world.tasks.idle();
    expect(failures).toEqual([]);
    const { body } = await send(server, { path: events });
    return Array.isArray(body["items"]) ? body["items"].map(({ metadata }) => metadata.name) : [];
  };
  return { left, stop };
}

async function record(name: string): Promise<void> {
  const body = { metadata: { name }, involvedObject: { kind: "Node", name: "a" } };
  expect(await send(server, { method: "POST", path: events, body })).toMatchObject({ code: 201 });
}

test("an event is there until its hour is over", async () => {
  const { left } = watchOver();
  await record("a");
  server.clock.ms += eventTtlMs - 1;
  expect(await left()).toEqual(["a"]);
  server.clock.ms += 1;
  expect(await left()).toEqual([]);
});

test("a write begins its hour anew", async () => {
  const { left } = watchOver();
  await record("a");
  await record("b");
  server.clock.ms += eventTtlMs / 2;
  await send(server, { method: "PATCH", path: `${events}/a`, type: "merge", body: { count: 2 } });
  server.clock.ms += eventTtlMs / 2;
  expect(await left()).toEqual(["a"]);
});

test("an event from before a restart keeps its hour", async () => {
  watchOver().stop();
  await record("a");
  server.clock.ms += eventTtlMs / 2;
  await record("b");
  const { left } = watchOver();
  server.clock.ms += eventTtlMs / 2;
  expect(await left()).toEqual(["b"]);
});
