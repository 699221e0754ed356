// Tests rollcall cost: the sum and the formula, at the size of a gateway and just over it.
import { describe, expect, it, test } from "vitest";
import { COST_PARTS } from "../../../infra/operator/cost-parts.ts";
import { play } from "./played.ts";

const { HTTP, sockets } = COST_PARTS.transports;

test.each([
  [1, "1 gateway"],
  [500, "1 gateway"],
  [501, "2 gateways"],
])("%i machines → %s", async (machines, gateways) => {
  const { code, stdout } = await play(["cost", "--machines", String(machines)]);
  const dollars = sockets.once + machines * sockets.eachMachine + Number(gateways[0]) * sockets.eachGateway;
  expect(code).toBe(0);
  expect(stdout).toContain(
    `sockets  $${dollars.toFixed(2)} = $${sockets.once} once + ${machines} machines × $${sockets.eachMachine} + ${gateways} × $${sockets.eachGateway}\n`,
  );
  expect(stdout).toContain(`HTTP     $${(HTTP.once + machines * HTTP.eachMachine).toFixed(2)} = `);
});

describe("more machines than one cluster's Nodes", () => {
  it.each([
    [5000, false],
    [5001, true],
  ])("%i → a line about further clusters: %s", async (machines, isThere) => {
    const { stdout } = await play(["cost", "--machines", String(machines)]);
    expect(stdout.includes("each further cluster needs its own Worker")).toBe(isThere);
  });
});

it("-o json → the same for programs", async () => {
  const { stdout } = await play(["cost", "--machines", "300", "-o", "json"]);
  expect(JSON.parse(stdout)).toMatchObject({
    machines: 300,
    leasePutsASecond: 31.1,
    bills: [{ transport: "HTTP" }, { transport: "sockets", dollars: 15.72 }],
  });
});

it.each([[["--machines", "0"]], [["--machines", "1.5"]], [[]]])("%j → 2", async (args) => {
  expect(await play(["cost", ...args])).toMatchObject({ code: 2, stdout: "" });
});
