// Machines, the Worker, and a real apiserver that nobody reaches but through a Tunnel behind Access: what is written, what is
// said while the way is broken, and that nothing of it is lost.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../e2e/local-cluster.ts";
import type { RunningShim } from "../../e2e/sockets/running-shim.ts";
import { type PlacedMachine, type SocketPlace, startSocketPlace } from "../../e2e/sockets/socket-place.ts";
import { newServiceToken, type PrivateApiserver, startPrivateApiserver } from "./private-apiserver.ts";
import type { Way } from "./tunnel.ts";

const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
const NAMES = ["sim-1", "sim-2", "sim-3"];

describe.skipIf(assets === "")("an apiserver behind a Tunnel and Access", () => {
  let kube: PrivateApiserver;
  let place: SocketPlace;
  let machines: PlacedMachine[];
  let shims: RunningShim[];
  const said = new Map<string, string>();

  beforeAll(async () => {
    place = await startSocketPlace(
      [],
      async (folder) => (kube = await startPrivateApiserver(folder, assets)),
    );
    machines = await Promise.all(
      NAMES.map((name, at) =>
        place.machine({
          index: at + 1,
          reported({ outcome }) {
            if (outcome.ok) said.set(name, `${outcome.value.phase}: ${outcome.value.message ?? ""}`);
          },
        }),
      ),
    );
    shims = machines.map((machine) => machine.run());
  });
  afterAll(async () => place?.stop());

  const uids = async () => {
    const { items } = (await kube.admin({ method: "GET", path: "/api/v1/nodes" })) as {
      items: { metadata: { name: string; uid: string } }[];
    };
    return items.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort();
  };
  /** So many of this machine's shims have said that they start. */
  const starts = async (name: string) => {
    const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${name},reason=Starting`;
    const { items } = (await kube.admin({ method: "GET", path })) as { items: { count?: number }[] };
    return items.reduce((sum, { count = 1 }) => sum + count, 0);
  };
  const status = async () => {
    const { stdout, stderr } = await place.worker.rollcall(["ready"]);
    return stdout + stderr;
  };

  it("Nodes, leases, events, the token's renewal and the watch go through, each with the service token", async () => {
    await eventually(() => Promise.resolve(shims.every((shim) => shim.transport().via === "socket")));
    await eventually(async () => (await place.quietHeartbeats()) >= 2 * NAMES.length);
    expect(Object.fromEntries(await place.ready())).toEqual(
      Object.fromEntries(NAMES.map((name) => [name, "True"])),
    );
    await eventually(async () => (await Promise.all(NAMES.map(starts))).every((count) => count >= 1));
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

  it.each<[way: Way, says: RegExp]>([
    ["no cloudflared", /HTTP 530 .*error 1033: no cloudflared/],
    ["no apiserver", /HTTP 502 .*does not reach/],
    ["too late", /HTTP 524 .*in time/],
    ["a page", /HTTP 200 .*a page/],
    ["cut", /does not answer/],
  ])(
    "%s → it is said what that is; then leases, statuses and events follow, and no Node is another",
    async (way, says) => {
      const before = await uids();
      const begun = await starts("sim-1");
      await eventually(async () => /^ok +apiserver/m.test(await status()));
      kube.tunnel.way = way;
      kube.tunnel.cut();
      await eventually(async () => says.test(await status()));
      // A shim that starts meanwhile has an event to tell.
      await shims[0]?.stop();
      shims[0] = machines[0]!.run();
      await eventually(() => Promise.resolve(said.get("sim-1")?.startsWith("apiserver unreachable")));
      if (way !== "cut") expect(said.get("sim-1")).toMatch(/something else answers in the apiserver's place/);
      const passed: string[] = [];
      kube.tunnel.passed = ({ line }) => void passed.push(line);
      kube.tunnel.way = "open";
      await place.renewed(NAMES, Date.now());
      await eventually(async () => (await starts("sim-1")) > begun);
      await eventually(() => Promise.resolve(passed.includes("PATCH /api/v1/nodes/sim-1/status")));
      expect(await uids()).toEqual(before);
      await eventually(() => Promise.resolve(said.get("sim-1")?.startsWith("registered")));
      await eventually(() => Promise.resolve(shims.every((shim) => shim.transport().via === "socket")));
    },
  );

  it("the service token is rotated → Access's refusal is named, and the cluster token is not given up for it", async () => {
    const own = kube.tunnel.letsIn;
    await eventually(async () => /^ok +apiserver/m.test(await status()));
    kube.tunnel.letsIn = newServiceToken();
    kube.tunnel.cut();
    await eventually(async () => /HTTP 401 .*does not know who asks/.test(await status()));
    expect(await status()).toMatch(/set KUBE_ACCESS_CLIENT_ID and KUBE_ACCESS_CLIENT_SECRET/);
    expect(await status()).toMatch(/^ok +token +the renewed token/m);
    kube.tunnel.letsIn = own;
    await place.renewed(NAMES, Date.now());
  });
});
