// Tests that the TLS proxy in front of a server on loopback counts bytes and segments.
import { createServer } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { SEGMENT, segmentsOf, startWire } from "./wire.ts";

test.each([
  [0, 0],
  [1, 2],
  [SEGMENT.payloadBytes, 2],
  [SEGMENT.payloadBytes + 1, 3],
  [3 * SEGMENT.payloadBytes, 5],
])("%i bytes → %i segments, acknowledgements included", (bytes, segments) => {
  expect(segmentsOf(bytes)).toBe(segments);
});

test("requests on one connection → their bytes, and only one handshake; a long idle one is cut → another connection", async () => {
  const server = createServer((incoming, outgoing) => void incoming.pipe(outgoing));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  let nowMs = 0;
  const wire = await startWire(() => nowMs);
  wire.leadTo((server.address() as AddressInfo).port);
  const agent = new Agent({ keepAlive: true, ca: wire.authority });
  onTestFinished(() => {
    agent.destroy();
    wire.stop();
    server.closeAllConnections();
    server.close();
  });
  const echo = (body: string) =>
    new Promise<void>((resolve, reject) => {
      const outgoing = request(wire.origin, { method: "POST", agent }, (response) => {
        response.resume();
        response.once("end", resolve);
      });
      outgoing.once("error", reject);
      outgoing.end(body);
    });

  await echo("x");
  expect(wire.take().connections).toBe(1);
  await echo("");
  const least = wire.take();
  await echo("x".repeat(1000));
  const more = wire.take();
  expect([least.connections, more.connections]).toEqual([0, 0]);
  // The longer request and answer add bytes in both directions, with a content-length. Each exchange has the
  // headers of four segments, two of which are acknowledgements.
  expect(more.bytes - least.bytes).toBeGreaterThanOrEqual(2000);
  expect(more.bytes - least.bytes).toBeLessThan(2100);
  expect([least.headerBytes, more.headerBytes]).toEqual([4 * SEGMENT.headerBytes, 4 * SEGMENT.headerBytes]);

  nowMs += 1000;
  wire.cutIdle(1000);
  await echo("x");
  expect(wire.take().connections).toBe(0);

  const isClosed = new Promise((resolve) => Object.values(agent.freeSockets)[0]?.[0]?.once("close", resolve));
  nowMs += 1001;
  wire.cutIdle(1000);
  await isClosed;
  await echo("x");
  expect(wire.take().connections).toBe(1);
});
