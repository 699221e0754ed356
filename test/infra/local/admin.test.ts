import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it, test } from "vitest";
import { countSockets, socketsIn } from "../../../infra/local/admin.ts";

const METRICS = `# TYPE rollcall_gateway_machines gauge
rollcall_gateway_machines{gateway="1"} 500
rollcall_gateway_machines{gateway="2"} 12
rollcall_gateway_suspended{gateway="1"} 1
`;

test.each([
  ["two gateways → both of them", METRICS, 512],
  ["no gateway → none", "rollcall_machines 4\n", 0],
])("%s", (_, metrics, count) => {
  expect(socketsIn(metrics)).toBe(count);
});

const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

/** Starts a Worker that answers with METRICS and this status. Returns its `http://…` address. */
async function worker(status: number): Promise<string> {
  const server = createServer(({ url, headers }, response) => {
    const isKnown = url === "/metrics" && headers.authorization === "Bearer secret";
    response.writeHead(isKnown ? status : 401).end(METRICS);
  });
  stops.push(() => server.close());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("asks with the administrator's secret", async () => {
  const url = await worker(200);
  expect(await countSockets(url, "secret")).toBe(512);
  expect(await countSockets(url, "another")).toBeUndefined();
});

it("metrics that fail, or nobody who answers → not known", async () => {
  expect(await countSockets(await worker(503), "secret")).toBeUndefined();
  expect(await countSockets("http://127.0.0.1:1", "secret")).toBeUndefined();
});
