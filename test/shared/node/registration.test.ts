import { describe, expect, it } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import {
  FIRST_REGISTRATION_DELAY_MS,
  nextRegistrationDelayMs,
  tryRegister,
} from "../../../shared/node/registration.ts";
import { createFakeApiserver } from "../../vectors/fake-apiserver.ts";
import { failure, success } from "../../../shared/result.ts";

const labels = { "kubernetes.io/os": "linux" };
const initial: Node = { metadata: { name: "node-1", labels } };

const verbs = (server: ReturnType<typeof createFakeApiserver>): string[] =>
  server.takeCalls().map(({ request }) => request.verb);

describe("tryRegister", () => {
  it("a Node that is not ours → refused, and nothing is written", async () => {
    const server = createFakeApiserver(true);
    server.store("nodes", { metadata: { name: "node-1", uid: "theirs" } });
    const attempt = await tryRegister(
      server.client,
      initial,
      () => Promise.resolve(failure({ reason: "not ours", message: "name taken" })),
      () => false,
    );
    expect(attempt).toEqual(failure({ reason: "not ours", message: "name taken" }));
    expect(verbs(server)).toEqual(["create", "get"]);
  });

  it("a Node that is ours → reconciled, and the outcome is the Node as stored", async () => {
    const server = createFakeApiserver(true);
    server.store("nodes", { metadata: { name: "node-1", uid: "ours" } });
    const attempt = await tryRegister(
      server.client,
      initial,
      (existing) => Promise.resolve(success(existing)),
      () => false,
    );
    expect(attempt).toMatchObject(success({ outcome: "found", node: { metadata: { uid: "ours", labels } } }));
    expect(verbs(server)).toEqual(["create", "get", "patch"]);
  });

  it("a failure names its step and keeps the apiserver's words", async () => {
    const server = createFakeApiserver(true);
    server.store("nodes", { metadata: { name: "node-1" } });
    server.force(["ok", { network: "connection reset" }]);
    const lost = await tryRegister(
      server.client,
      initial,
      (existing) => Promise.resolve(success(existing)),
      () => false,
    );
    expect(lost).toEqual(
      failure({
        reason: "request failed",
        step: "get",
        error: { kind: "unanswered", message: "connection reset" },
      }),
    );
    server.force([{ code: 422, reason: "Invalid", message: "metadata.name: Invalid value" }]);
    const invalid = await tryRegister(
      server.client,
      initial,
      (existing) => Promise.resolve(success(existing)),
      () => false,
    );
    expect(invalid).toMatchObject(
      failure({ reason: "request failed", step: "create", error: { status: { code: 422 } } }),
    );
  });
});

describe("nextRegistrationDelayMs", () => {
  it("doubles from 200 ms and stays at 7 s", () => {
    const delays = [FIRST_REGISTRATION_DELAY_MS];
    for (let attempt = 0; attempt < 8; attempt++) delays.push(nextRegistrationDelayMs(delays.at(-1)!));
    expect(delays.slice(1)).toEqual([200, 400, 800, 1600, 3200, 6400, 7000, 7000]);
  });
});
