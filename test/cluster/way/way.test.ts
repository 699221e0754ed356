// Tests machines and a Worker with a real apiserver that is reachable only through a Tunnel behind Access: all
// requests get through. test/worker/kube/not-the-apiserver.test.ts tests the reasons of broken paths; test/faults/
// tests their effects.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../e2e/local-cluster.ts";
import type { RunningShim } from "../../e2e/sockets/running-shim.ts";
import { type SocketPlace, startSocketPlace } from "../../e2e/sockets/socket-place.ts";
import { assets, type ServerInTurn, sharedServerInTurn, TURN_MS } from "../servers.ts";
import { type PrivateApiserver, startPrivateApiserver } from "./private-apiserver.ts";

const NAMES = ["sim-1", "sim-2", "sim-3"];

describe.skipIf(assets === "")("an apiserver behind a Tunnel and Access", () => {
  let kube: PrivateApiserver;
  let place: SocketPlace;
  let shims: RunningShim[];
  let server: ServerInTurn;

  beforeAll(async () => {
    server = await sharedServerInTurn();
    place = await startSocketPlace(
      [],
      async (folder) => (kube = await startPrivateApiserver(folder, server)),
    );
    shims = await Promise.all(NAMES.map((_, at) => place.shim({ index: at + 1 })));
  }, TURN_MS);
  afterAll(async () => {
    await place?.stop();
    server?.release();
  });

  const status = async () => {
    const { stdout, stderr } = await place.worker.rollcall(["ready"]);
    return stdout + stderr;
  };

  it("Nodes, leases, events, the token's renewal and the watch go through, each with the service token", async () => {
    await eventually(() => Promise.resolve(shims.every((shim) => shim.transport().via === "socket")));
    await eventually(async () => (await place.quietHeartbeats()) >= 2 * NAMES.length);
    expect(Object.fromEntries(await place.ready())).toMatchObject(
      Object.fromEntries(NAMES.map((name) => [name, "True"])),
    );
    await eventually(() => {
      const lines = kube.tunnel.taken.join("\n");
      return Promise.resolve(
        [
          /^POST \/api\/v1\/nodes$/m,
          /^PUT \/apis\/coordination.k8s.io\/v1\/namespaces\/kube-node-lease\/leases\/sim-1$/m,
          /^POST \/api\/v1\/namespaces\/default\/events$/m,
          /^POST \/api\/v1\/namespaces\/rollcall-system\/serviceaccounts\/rollcall\/token$/m,
          /^GET \/api\/v1\/nodes$/m,
        ].every((line) => line.test(lines)),
      );
    });
    expect(kube.tunnel.refused).toEqual([]);
    await eventually(async () => /^ok +token +the renewed token/m.test(await status()));
    await eventually(async () => /^ok +watch +live/m.test(await status()));
  });
});
